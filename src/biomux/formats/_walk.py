"""Which files of a folder, a glob or an archive are read, and in which order.

Skipped: hidden files and macOS leftovers; the `.txt` of brat's pairs, which are read from their `.ann`; and files about the data: those
called README, LICENSE, LICENCE or COPYING, without suffix or with `.md`, `.rst` or `.txt`, and brat's settings and leftovers (`annotation.conf`,
`visual.conf` and other `.conf` files, `annotation.log`, `.ann~`). Such a `.txt` is read like any other if all other files are `.txt` too: then it
may be a document of that name. Files about the data are reported to `on_left_out`.

Of files that are named one by one, only brat's pairs and settings are skipped.

What should be read but cannot be goes to `on_unread`: a folder without permission, a link whose target is missing or a folder (which is not followed), and
anything that is not a regular file.
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
    """Sorted names, which can be iterated over repeatedly."""

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, name: object, /) -> bool: ...


def stop_unread(error: UnreadableError) -> None:
    """The default for `on_unread`: stop at the first file or folder that cannot be read."""
    raise error


def ignore_unread(error: UnreadableError) -> None:
    """An `on_unread` for all but one of several walks."""


def unreadable(
    where: object, reason: OSError | str, *, hint: str = "check the path and the permissions"
) -> UnreadableError:
    """The error for a file or folder that exists but cannot be read."""
    if isinstance(reason, OSError):
        reason = reason.strerror or str(reason)
    return UnreadableError("BX002", f"cannot read: {reason}", where=str(where), hint=hint)


def why_not_a_file(path: Path) -> UnreadableError | None:
    """What is wrong with a path that should be a file; None if it is one."""
    try:
        if path.is_file():
            return None
        if path.is_dir():
            return unreadable(path, "links to folders are not followed", hint="name the folder itself")
        if path.is_symlink() and not path.exists():
            return unreadable(path, "the target of the link does not exist", hint="repair or remove it")
    except OSError as error:
        return unreadable(path, error)
    return unreadable(path, "it is not a regular file", hint="remove it, or give its own path")


def folder_files(root: Path, *, on_left_out: LeftOut | None = None, on_unread: Unread = stop_unread) -> Iterator[Path]:
    """A folder's files at any depth, sorted."""
    text_kinds: set[bool] | None = None
    for path in _walk(root, on_unread):
        if _is_about(path.name):
            text_kinds = _others(file.name for file in _walk(root, ignore_unread)) if text_kinds is None else text_kinds
            if _describes(path.name, text_kinds):
                _tell(on_left_out, str(path))
                continue
        yield path


def listed_files(names: Names, *, on_left_out: LeftOut | None = None) -> Iterator[str]:
    """The same for names that are known beforehand: a glob's matches, an archive's members."""
    text_kinds: set[bool] | None = None
    for name in _without_texts(names):
        if _is_about(_last(name)):
            text_kinds = _others(map(_last, _without_texts(names))) if text_kinds is None else text_kinds
            if _describes(_last(name), text_kinds):
                _tell(on_left_out, name)
                continue
        yield name


def named_files(names: Sequence[str], *, on_left_out: LeftOut | None = None) -> list[str]:
    """The files named on a command line, as a shell expands `corpus/*`: without a `.txt` whose `.ann` is given too, and without brat's settings.

    A readme that is named is read, and so are settings if nothing else is given.
    """
    all_names = frozenset(names)
    files = [name for name in names if not _is_text_of_another(name, all_names)]
    settings = {name for name in files if _SETTINGS.fullmatch(_last(name)) and os.path.isfile(name)}  # noqa: PTH113  # never raises
    if len(settings) == len(files):
        return files
    for name in files:
        if name in settings:
            _tell(on_left_out, name)
    return [name for name in files if name not in settings]


def wanted(name: str) -> bool:
    """Whether a name should be read: no part of it is hidden or a macOS leftover."""
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
    """Whether it is a `.txt` with an `.ann` beside it."""
    stem, dot, suffix = name.removesuffix(".gz").rpartition(".")
    return bool(dot) and suffix == "txt" and (f"{stem}.ann" in names or f"{stem}.ann.gz" in names)


def _others(names: Iterable[str]) -> set[bool]:
    """For the files that are not about the data: True if a name is that of plain text, False if a name is not; possibly both."""
    kinds: set[bool] = set()
    for name in names:
        if not _is_about(name):
            kinds.add(name.removesuffix(".gz").endswith((".txt", ".text")))
            if False in kinds:
                break
    return kinds


def _describes(name: str, text_kinds: set[bool]) -> bool:
    return False in text_kinds if name.lower().endswith(".txt") else bool(text_kinds)


def _is_about(name: str) -> bool:
    return _ABOUT.fullmatch(name) is not None


def _last(name: str) -> str:
    return PurePosixPath(name).name


def _tell(on_left_out: LeftOut | None, name: str) -> None:
    if on_left_out is not None:
        on_left_out(name)
