"""Sources as commands read them: formats recognised or given, skipped files reported, documents counted."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux import formats
from biomux.cli.ui.display import note
from biomux.cli.ui.loss_tally import Skipped
from biomux.errors import FormatError, UnreadableError, UsageError
from biomux.formats import UniqueStems, files, named_files, of_source, position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from biomux.cli.ui.display import Progress
    from biomux.document import Document
    from biomux.formats import Format, ReadAs, Source

SHOWN = 5
"""How many skipped files are named at the end."""


@dataclass
class CountingReader:
    """Reads sources one after the other and keeps count.

    With `skipping`, errors go to `on_error`, including documents that `goal`, the target format, cannot hold at all. A file
    of a folder or an archive that is of no format by its name nor its content (a licence, a drawing) is skipped and reported, unless
    there is no other; one that looks like data is an error. There an option need not be one of every format, but of one.
    """

    reads: ReadAs
    goal: Format
    on_error: Callable[[Skipped], None]
    shown: Progress
    skipping: bool = False
    formats: dict[str, int] = field(default_factory=dict)
    count: int = 0
    spans: int = 0
    repaired: int = 0
    """Answers that a reader found beside the place that the file states."""
    on_deleted: Callable[[str, str], None] | None = None
    """Called with the name of a file and an id that the file withdraws (as MEDLINE's daily updates do)."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Other names for types and classes, by the names that they have."""
    unused: set[str] = field(default_factory=set)
    """Those of these names that no document had so far."""
    _passed_over: list[FormatError | UnreadableError] = field(default_factory=list)
    _about: list[str] = field(default_factory=list)
    _alone: bool = True
    _behind: int = 0

    def sources(self, wheres: list[str]) -> Iterator[tuple[str, Source, Format]]:
        """Every source with the argument that it came from and its format. At least one, or it is an error."""
        count = 0
        named = named_files(wheres, on_left_out=self._left_out)
        stems = UniqueStems(named)
        for where in named:
            places = files(where, on_left_out=self._left_out, on_unread=self.on_error)
            for path in ["-"] if where == "-" else places:
                try:
                    for source in formats.sources(path, on_left_out=self._left_out, unique_members=True):
                        count += 1
                        self._alone = "!" not in source.name and not Path(where).is_dir()
                        if source_format := self._format_of(source):
                            yield where, stems.of(source), source_format
                except (FormatError, UnreadableError) as error:
                    count += 1
                    self.on_error(error)
        if not count:
            raise UsageError("BX002", f"no files found in {', '.join(map(repr, wheres))}", hint="check the paths")
        self._tell_passed_over()
        if self._about:
            note(f"skipped {len(self._about):,} that describe the other files: {_first(self._about)}")
        if self.formats:
            self.reads.must_be_taken()

    def _rename(self, document: Document) -> Document:
        from biomux.corpora.view import rename

        self.unused -= {span.type for span in document.spans}
        self.unused -= {relation.type for relation in document.relations}
        self.unused -= {label.name for label in document.labels}
        return rename(document, self.renamed)

    def documents(self, source: Source, found: Format) -> Iterator[Document]:
        """The documents of one source."""
        opened: list[BinaryIO] = []

        def open_watched() -> BinaryIO:
            opened[:] = [source.open()]
            return opened[0]

        options: dict[str, Any] = self.reads.options_of(found, alone=self._alone)
        if "on_repaired" in inspect.signature(found.read).parameters:
            options["on_repaired"] = self._repair
        if self.on_deleted is not None and "on_deleted" in inspect.signature(found.read).parameters:
            options["on_deleted"] = partial(self.on_deleted, source.name)
        if found.name not in self.formats:
            note(f"reading {source.name} as {found.name} ({found.title})")
        self.formats[found.name] = self.formats.get(found.name, 0) + 1
        try:
            for document in found.read(replace(source, open=open_watched), on_error=self.on_error, **options):
                if self.renamed:
                    document = self._rename(document)
                if self.skipping and not self._fits(document):
                    continue
                self.count += 1
                self.spans += len(document.spans)
                self._show(opened)
                yield document
        except Exception as error:
            if self.skipping:
                self.on_error(_at_the_end(of_source(error, source)))
            elif isinstance(error, Skipped):
                self.on_error(error)
            else:
                raise
        self._behind += source.size or 0

    def _format_of(self, source: Source) -> Format | None:
        try:
            return self.reads.format_of(source)
        except (FormatError, UnreadableError) as error:
            if error.code == "BX110" and not self._alone and not self.skipping and not _looks_like_data(source):
                self._passed_over.append(error)
            else:
                self.on_error(error)
            return None

    def _tell_passed_over(self) -> None:
        if self._passed_over and not self.formats:
            raise self._passed_over[0]
        if self._passed_over:
            names = [str(error.where) for error in self._passed_over]
            note(f"skipped {len(names):,} of unknown format: {_first(names)}")

    def _repair(self, answers: int) -> None:
        self.repaired += answers

    def _left_out(self, name: str) -> None:
        self._about.append(name)

    def _fits(self, document: Document) -> bool:
        """Whether the target format takes the document."""
        if error := formats.refusal([document], self.goal):
            self.on_error(error)
        return error is None

    def _show(self, opened: list[BinaryIO]) -> None:
        if self.shown.unit != "bytes":
            self.shown.advance(1)
        elif self.shown.due() and opened and not opened[0].closed:
            self.shown.reach(self._behind + position(opened[0]))


def _first(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _looks_like_data(source: Source) -> bool:
    """Whether the name ends as that of a file to be read does: then something is wrong with what is in it."""
    last = {suffix.rpartition(".")[2] for name in formats.names() for suffix in formats.get(name).suffixes}
    return source.plain_name.rpartition(".")[2] in last


def _at_the_end(error: Skipped) -> Skipped:
    """The error of a reader that could not continue, so that it is not taken for an error of one record."""
    message = f"{error.message} (the file was not read beyond this)"
    return type(error)(error.code, message, where=error.where, hint=error.hint)
