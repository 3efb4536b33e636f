"""Which files of a folder, a glob or an archive are read, and in which order.

Passed over: hidden files and macOS leftovers; the `.txt` of brat's pairs, which are read from their `.ann`; and files about the others: one
called README, LICENSE, LICENCE or COPYING, without suffix or with `.md`, `.rst` or `.txt`, and brat's settings and leftovers (`annotation.conf`,
`visual.conf` and other `.conf` files, `annotation.log`, `.ann~`). A `.txt` among them is read like any other
where all other files are `.txt` too: there it may be a document of that name. Files about the others are told to `on_left_out`.

Of files that are named one by one only brat's pairs and settings are passed over.

What should be read and cannot goes to `on_unread`: a folder without permission, a link that points at nothing or at a folder (which is not followed), and what
is no ordinary file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from biomux.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from pathlib import Path

LeftOut = Callable[[str], None]
Unread = Callable[[UnreadableError], None]

_OF_BRAT = r"[^/]+\.conf|annotation\.log|[^/]+\.ann~"
_SETTINGS = re.compile(_OF_BRAT, re.IGNORECASE)
_ABOUT = re.compile(rf"(?:readme|licen[cs]e|copying)(?:\.(?:md|rst|txt))?|{_OF_BRAT}", re.IGNORECASE)


class Names(Protocol):
    """Sorted names, gone through as often as needed."""

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, name: object, /) -> bool: ...


def stop_unread(error: UnreadableError) -> None:
    """The default for `on_unread`: the first that cannot be read ends the walk."""
    raise error


def ignore_unread(error: UnreadableError) -> None:
    """For one walk of several, when another tells it."""


def unreadable(
    where: object, reason: OSError | str, *, hint: str = "check the path and the permissions"
) -> UnreadableError:
    """The error for a file or folder that is there and cannot be read."""
    if isinstance(reason, OSError):
        reason = reason.strerror or str(reason)
    return UnreadableError("BX002", f"cannot read: {reason}", where=str(where), hint=hint)


def why_not_a_file(path: Path) -> UnreadableError | None:
    """What is wrong with something that should be a file: None if it is one."""
    try:
        if path.is_file():
            return None
        if path.is_dir():
            return unreadable(path, "links to folders are not followed", hint="name the folder itself")
        if path.is_symlink() and not path.exists():
            return unreadable(path, "the link points at nothing", hint="mend or remove it")
    except OSError as error:
        return unreadable(path, error)
    return unreadable(path, "it is no ordinary file", hint="remove it, or name it itself")


def folder_files(root: Path, *, on_left_out: LeftOut | None = None, on_unread: Unread = stop_unread) -> Iterator[Path]:
    """A folder's files at any depth, sorted."""
    others: set[bool] | None = None
    for path in _walk(root, on_unread):
        if _is_about(path.name):
            others = _others(other.name for other in _walk(root, ignore_unread)) if others is None else others
            if _describes(path.name, others):
                _tell(on_left_out, str(path))
                continue
        yield path


def listed_files(names: Names, *, on_left_out: LeftOut | None = None) -> Iterator[str]:
    """The same of names that are known beforehand: a glob's matches, an archive's members."""
    others: set[bool] | None = None
    for name in _without_texts(names):
        if _is_about(_last(name)):
            others = _others(map(_last, _without_texts(names))) if others is None else others
            if _describes(_last(name), others):
                _tell(on_left_out, name)
                continue
        yield name


def named_files(names: Sequence[str], *, on_left_out: LeftOut | None = None) -> list[str]:
    """The files that a command is given by name, as a shell makes them of `corpus/*`: without a `.txt` whose `.ann` is given too, and without brat's settings.

    A readme that is named is meant; settings that are given alone are too.
    """
    known = frozenset(names)
    given = [name for name in names if not _is_text_of_another(name, known)]
    settings = {name for name in given if _SETTINGS.fullmatch(_last(name)) and os.path.isfile(name)}  # noqa: PTH113  # never raises
    if len(settings) == len(given):
        return given
    for name in given:
        if name in settings:
            _tell(on_left_out, name)
    return [name for name in given if name not in settings]


def wanted(name: str) -> bool:
    """Whether no part of a name is hidden or a macOS leftover."""
    return not any(part.startswith((".", "__MACOSX")) and part != ".." for part in PurePosixPath(name).parts)


def _walk(folder: Path, on_unread: Unread) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            is_folder = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries if wanted(entry.name)}
    except OSError as error:
        on_unread(unreadable(folder, error))
        return
    for name in sorted(is_folder):
        if _is_text_of_another(name, is_folder):
            continue
        path = folder / name
        if is_folder[name]:
            yield from _walk(path, on_unread)
        elif problem := why_not_a_file(path):
            on_unread(problem)
        else:
            yield path


def _without_texts(names: Names) -> Iterator[str]:
    return (name for name in names if not _is_text_of_another(name, names))


def _is_text_of_another(name: str, names: Container[str]) -> bool:
    """Whether it is a `.txt` that has an `.ann` beside it."""
    stem, dot, suffix = name.removesuffix(".gz").rpartition(".")
    return bool(dot) and suffix == "txt" and (f"{stem}.ann" in names or f"{stem}.ann.gz" in names)


def _others(names: Iterable[str]) -> set[bool]:
    """Of the files that are not about others: whether one is plain text by its name (True), whether one is not (False)."""
    found: set[bool] = set()
    for name in names:
        if not _is_about(name):
            found.add(name.removesuffix(".gz").endswith((".txt", ".text")))
            if False in found:
                break
    return found


def _describes(name: str, others: set[bool]) -> bool:
    return False in others if name.lower().endswith(".txt") else bool(others)


def _is_about(name: str) -> bool:
    return _ABOUT.fullmatch(name) is not None


def _last(name: str) -> str:
    return PurePosixPath(name).name


def _tell(on_left_out: LeftOut | None, name: str) -> None:
    if on_left_out is not None:
        on_left_out(name)
