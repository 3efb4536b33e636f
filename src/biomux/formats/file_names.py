"""Names of files for documents: an id stays as it is where every file system takes it, and is escaped where not.

>>> file_name("PMC123"), file_name("a/b"), file_name("..")
('PMC123', 'a%2Fb', '%2E%2E')
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

MAX_NAME = 200
"""Bytes in a file's name without its suffix."""

_UNSAFE = re.compile(r'[/\\!:*?"<>|%\x00-\x1f\x7f\ud800-\udfff]|^\.+|^ | $|\.$')


def file_name(id: str) -> str:
    """The id, with what no file name should have as %XX; a name that would be too long ends in a digest of the id."""
    name = _UNSAFE.sub(lambda found: quote(found[0], safe="", errors="replace").replace(".", "%2E"), id) or "%"
    raw = name.encode("utf-8")
    if len(raw) <= MAX_NAME:
        return name
    digest = hashlib.sha256(id.encode("utf-8", "replace")).hexdigest()[:16]
    return raw[: MAX_NAME - 17].decode("utf-8", "ignore") + "~" + digest
