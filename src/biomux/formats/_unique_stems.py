"""Ids of documents without one: the stem of their file, or its path if two files have the same stem.

In a folder with `a/1.txt`, `b/1.txt` and `b/2.txt`, the documents are `a/1`, `b/1` and `2`.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from biomux.formats._source import files, is_archive
from biomux.formats._walk import ignore_unread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from biomux.formats._source import Source


class UniqueStems:
    """Gives each source of a command a unique stem. `wheres` are the paths that the command was given."""

    def __init__(self, wheres: Sequence[str | Path]) -> None:
        self._wheres = [str(where) for where in wheres if str(where) not in ("-", "")]
        self._names: dict[str, str] | None = None

    def of(self, source: Source) -> Source:
        """The source with its unique stem."""
        if "!" in source.name or source.size is None:
            return source
        if self._names is None:
            self._names = unique_names(self._files())
        name = self._names.get(source.name)
        return source if name is None else replace(source, called=name)

    def _files(self) -> list[tuple[str, str]]:
        """Every file: its path relative to the given folder, and its whole path."""
        single = [where for where in self._wheres if Path(where).is_file()]
        parents = [os.path.dirname(where) for where in single]  # noqa: PTH120  # keeps the path as given
        absolute = {os.path.isabs(parent) for parent in parents}  # noqa: PTH117
        shared = os.path.commonpath(parents) if len(absolute) == 1 else ""
        pairs: list[tuple[str, str]] = []
        for where in self._wheres:
            root = shared if where in single else _root(where)
            paths = [path for path in files(where, on_unread=ignore_unread) if not is_archive(path)]
            pairs += [(Path(os.path.relpath(path, root or ".")).as_posix(), str(path)) for path in paths]
        return pairs


def unique_names(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A name for each whole path whose stem is not unique: its relative path without suffix, with suffix, or the whole path.

    >>> unique_names([("a/1.txt", "in/a/1.txt"), ("b/1.txt", "in/b/1.txt"), ("b/2.txt", "in/b/2.txt"), ("b/1.xml", "in/b/1.xml")])
    {'in/a/1.txt': 'a/1', 'in/b/1.txt': 'b/1.txt', 'in/b/1.xml': 'b/1.xml'}
    """
    names: dict[str, str] = {}
    paths = {whole: path for path, whole in files}  # a file that is read twice does not collide with itself
    waiting = [(_choices(path, whole), whole) for whole, path in paths.items()]
    for level in range(4):
        counts = Counter(choices[level] for choices, _ in waiting)
        for choices, whole in waiting:
            if level and (counts[choices[level]] == 1 or level == 3):
                names[whole] = choices[level]
        waiting = [(choices, whole) for choices, whole in waiting if counts[choices[level]] > 1]
    return names


def _choices(path: str, whole: str) -> tuple[str, str, str, str]:
    plain = PurePosixPath(path.removesuffix(".gz"))
    return plain.stem or "document", plain.with_suffix("").as_posix(), path, Path(whole).as_posix()


def _root(where: str) -> str:
    """The folder that names of files in a folder or glob are relative to."""
    path = Path(where)
    if path.is_dir():
        return where
    while path.parent != path and glob.has_magic(str(path)):
        path = path.parent
    return str(path)
