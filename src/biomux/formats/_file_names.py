"""File names for documents: an id is kept if every file system allows it, and changed if not.

>>> file_name("PMC123"), file_name("notes:4"), file_name("a/b"), file_name("..")
('PMC123', 'notes_4', 'a_b', '%2E%2E')
"""

from __future__ import annotations

import hashlib
import re
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import quote

from biomux.formats._format import Loss

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NAME = 200
"""Maximum bytes in a file's name without its suffix."""

_PLAIN = re.compile(r'[/\\!:*?"<>|]')
_UNSAFE = re.compile(r'[/\\!:*?"<>|%\x00-\x1f\x7f\ud800-\udfff]|^\.+|^ | $|\.$')


def file_name(id: str, *, escaped: bool = False) -> str:
    """The id, with `_` for characters that no file name should have, and %XX for those that are not printable or mean something to the system.

    With `escaped`, all of them become %XX, so that different ids have different names. A name that would be too long ends in a digest of the id.
    """
    readable = id if escaped else _PLAIN.sub("_", id)
    name = _UNSAFE.sub(lambda match: quote(match[0], safe="", errors="replace").replace(".", "%2E"), readable) or "%"
    raw = name.encode("utf-8")
    if len(raw) <= MAX_NAME:
        return name
    digest = hashlib.sha256(id.encode("utf-8", "replace")).hexdigest()[:16]
    return raw[: MAX_NAME - 17].decode("utf-8", "ignore") + "~" + digest


def name_for(id: str, *, taken: set[str], on_loss: Callable[[Loss], None]) -> str:
    """The name of a document's file in a folder, which is added to `taken`, the names already used.

    An id that had to be changed is reported. The second document of a name is called `name~2`, even if the names differ in case: some file systems
    ignore case.
    """
    name = file_name(id)
    if name != id and name.casefold() in taken:
        name = file_name(id, escaped=True)
    if name.casefold() in taken:
        name = next(candidate for number in count(2) if (candidate := f"{name}~{number}").casefold() not in taken)
    if name != id:
        on_loss(Loss(id, "id", detail=f"its file is called {name}"))
    taken.add(name.casefold())
    return name
