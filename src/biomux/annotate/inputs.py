"""What is to be annotated: texts on the command line, standard input, files, folders, globs, archives; any readable format."""

from __future__ import annotations

import glob
import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux import formats
from biomux.annotate.parts import failure
from biomux.document import Document
from biomux.errors import BiomuxError, FormatError, UnreadableError, UsageError
from biomux.formats import (
    ReadAs,
    UniqueStems,
    files,
    ignore_unread,
    is_archive,
    json_records,
    named_files,
    of_path,
    of_source,
    position,
    stored_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from biomux.annotate.parts import Failure
    from biomux.formats import Format, Source

STRETCH = 4_000_000
"""Stored bytes (of gzip: four times those) up to which files that follow each other make one stretch. It decides where parts end: a job keeps to it."""


def is_text(argument: str) -> bool:
    """Whether an argument is a text and not a place: it has white space in it and nothing of that name is there.

    >>> is_text("TP53 is a gene."), is_text("corpus.jsonl")
    (True, False)
    """
    if argument == "-" or not any(character.isspace() for character in argument):
        return False
    try:
        return not os.path.lexists(argument) and not (glob.has_magic(argument) and glob.glob(argument, recursive=True))
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return True


def _files(argument: str) -> list[Path]:
    try:
        return list(files(argument, on_unread=ignore_unread))
    except UsageError as error:
        raise UsageError(error.code, error.message, hint=f"{error.hint}, or add --as-text if it is a text") from None


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read. `called` is its stem if that is not the one of its name; `alone` says that it was named itself."""

    path: str
    called: str | None = None
    alone: bool = False


@dataclass(frozen=True, slots=True)
class InputStretch:
    """Input files that follow each other, and are read and cut into parts independently of all others: anywhere, at any time.

    `size`: their stored bytes. `failures`: what could not be listed on the way to them.
    """

    index: int
    places: tuple[InputFile, ...]
    size: int
    failures: tuple[Failure, ...] = ()


@dataclass(kw_only=True)
class InputReader:
    """Reads files, and keeps what there is to say about them.

    Records, files, members of archives and folders that cannot be read go to `on_error`, and the rest goes on. `formats` counts the files read by format; `done` says how
    many stored bytes have been read.
    """

    reads: ReadAs = field(default_factory=ReadAs)
    on_error: Callable[[BiomuxError], None] = formats.stop  # type: ignore[assignment]
    formats: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Files about the others, such as a readme beside data."""
    withdrawn: int = 0
    """Documents that a MEDLINE file says are withdrawn."""
    _behind: int = 0
    _open: BinaryIO | None = None

    @property
    def done(self) -> int:
        """Stored bytes that have been read."""
        within = position(self._open) if self._open is not None and not self._open.closed else 0
        return self._behind + within

    def stretch(self, stretch: InputStretch) -> Iterator[Document]:
        """Every document of a stretch, lazily."""
        for place in stretch.places:
            yield from self._of_place(place)

    def summary(self) -> dict[str, Any]:
        """What there is to say about what was read, as JSON values."""
        return {
            "formats": self.formats,
            "left_out": self.left_out,
            "withdrawn": self.withdrawn,
            "taken": self.reads.taken(),
        }

    def add(self, summary: dict[str, Any]) -> None:
        """Count what another reader has read."""
        for name, count in summary["formats"].items():
            self.formats[name] = self.formats.get(name, 0) + count
        self.left_out += summary["left_out"]
        self.withdrawn += summary["withdrawn"]
        self.reads.take(summary["taken"])

    def _of_place(self, place: InputFile) -> Iterator[Document]:
        """The documents of a file or of every member of an archive: one that fails takes no other with it."""
        where = place.path if place.path == "-" else Path(place.path)
        try:
            for source in formats.sources(where, on_left_out=self.left_out.append, unique_members=True):
                called = source if place.called is None or "!" in source.name else replace(source, called=place.called)
                try:
                    yield from self._documents(called, alone=place.alone and source.name in (place.path, "<stdin>"))
                except Exception as error:
                    self.on_error(of_source(error, source))
        except (FormatError, UnreadableError) as error:  # an archive that cannot be opened
            self.on_error(error)

    def _documents(self, source: Source, *, alone: bool) -> Iterator[Document]:
        def open_watched() -> BinaryIO:
            self._open = source.open()
            return self._open

        chosen = self._format(source)
        self.formats[chosen.name] = self.formats.get(chosen.name, 0) + 1
        options: dict[str, Any] = self.reads.options_of(chosen, alone=alone)
        if chosen.name == "medline":
            options["on_deleted"] = self._withdraw
        try:
            yield from chosen.read(replace(source, open=open_watched), on_error=self.on_error, **options)
        finally:
            self._open = None
        self._behind += source.size or 0

    def _withdraw(self, _: str) -> None:
        self.withdrawn += 1

    def _format(self, source: Source) -> Format:
        try:
            return self.reads.format_of(source)
        except FormatError:
            if source.name != "<stdin>" or json_records.keys(source.head()):
                raise
            return formats.get("text")


@dataclass
class Inputs(InputReader):
    """The documents behind the arguments, in order; with `texts` every argument is a text."""

    arguments: Sequence[str]
    texts: bool = False
    _stems: UniqueStems = field(init=False)

    def __post_init__(self) -> None:
        if not self.texts:
            named = [argument for argument in self.arguments if not is_text(argument)]
            left_out = set(named) - set(named_files(named, on_left_out=self.left_out.append))
            self.arguments = [argument for argument in self.arguments if argument not in left_out]
        self._stems = UniqueStems([argument for argument in self.arguments if not self._is_text(argument)])
        if list(self.arguments).count("-") > 1 and not self.texts:
            raise UsageError("BX001", "standard input can be read only once", hint="give - only once")

    def places(self) -> list[Path] | None:
        """Every file behind the arguments, each of which must be there; None if standard input is among them."""
        paths: list[Path] = []
        piped = False
        for argument in self.arguments:
            if argument == "-" and not self.texts:
                piped = True
            elif not self._is_text(argument):
                paths += _files(argument)
        if not paths and not piped and not any(map(self._is_text, self.arguments)):
            for argument in self.arguments:
                list(files(argument))  # says what is wrong with it, if it knows
            raise UsageError(
                "BX002", f"no files found in {', '.join(map(repr, self.arguments))}", hint="check the paths"
            )
        return None if piped or any(not path.is_file() for path in paths) else paths

    def size(self) -> int | None:
        """All stored bytes to be read, where that can be known beforehand."""
        files = self.places()
        if files is None or any(map(is_archive, files)):
            return None
        return sum(map(stored_size, files))

    def fingerprint(self) -> str:
        """What the inputs are: texts as they stand; files by name, size and time of change. Of a pipe only that it is one."""
        listing = hashlib.sha256()
        for argument in self.arguments:
            if argument == "-" or self._is_text(argument):
                listing.update(b"text\0" + argument.encode("utf-8", "surrogateescape") + b"\0")
                continue
            for path in files(argument, on_unread=ignore_unread):
                entry = f"{path}\0{stored_size(path)}\0{_changed(path)}\0" if path.is_file() else "pipe\0"
                listing.update(entry.encode("utf-8", "surrogateescape"))
        return listing.hexdigest()

    def documents(self) -> Iterator[Document]:
        """Every document, lazily."""
        texts = 0
        for argument in self.arguments:
            if self._is_text(argument):
                texts += 1
                yield Document("text" if texts == 1 else f"text-{texts}", argument)
            elif argument == "-":
                yield from self._of_place(InputFile("-", alone=True))
            else:
                for path in files(argument, on_left_out=self.left_out.append, on_unread=self.on_error):
                    yield from self._of_place(self._place(path))

    def stretches(self) -> list[InputStretch]:
        """The input files in groups that can be read apart; none where all is to be read as one: texts, pipes, one file, or little."""
        if any(map(self._is_text, self.arguments)) or self.places() is None:
            return []
        cut: list[InputStretch] = []
        places: list[InputFile] = []
        left_out: list[str] = []
        unread: list[BiomuxError] = []
        reported = size = weight = 0

        def close() -> None:
            cut.append(InputStretch(len(cut), tuple(places), size, tuple(map(failure, unread[:reported]))))
            places.clear()
            del unread[:reported]

        for argument in self.arguments:
            for path in files(argument, on_left_out=left_out.append, on_unread=unread.append):
                stored = stored_size(path)
                more = stored * (4 if path.name.endswith(".gz") else 1)
                if places and weight + more > STRETCH:
                    close()
                    size = weight = 0
                places.append(self._place(path))
                size, weight, reported = size + stored, weight + more, len(unread)
        reported = len(unread)
        close()
        if len(cut) < 2:
            return []
        self.left_out += left_out
        return cut

    def _is_text(self, argument: str) -> bool:
        return self.texts or is_text(argument)

    def _place(self, path: Path) -> InputFile:
        called = None if is_archive(path) or not path.is_file() else self._stems.of(of_path(path)).called
        return InputFile(str(path), called, alone=str(path) in self.arguments)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
