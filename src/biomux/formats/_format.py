"""What a format is: how it reads and writes documents, and what it can hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from biomux.document import Document
    from biomux.errors import FormatError
    from biomux.formats._source import Source

Feature = Literal[
    "passages",
    "sentences",
    "tokens",
    "spans",
    "overlaps",
    "fragments",
    "identifiers",
    "scores",
    "heads",
    "span ids",
    "span extra",
    "relations",
    "labels",
    "pair",
    "questions",
    "coverage",
    "metadata",
]
"""Parts of a document beyond its text that a format may be unable to hold."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a document has but that could not be written: `count` items of a feature.

    `feature` is a Feature, or "id", "text", "span types", or a phrase that begins with the name of a part of a document ("relation scores",
    "passage extra", "label places"). `detail` says which items or why, as the end of a sentence.
    """

    document: str
    feature: Feature | str
    count: int = 1
    detail: str = ""


class LossWarning(UserWarning):
    """Warns that a written file does not hold everything, if no `on_loss` was given."""


class LossTally:
    """Collects losses: sums them by feature, with the first of each as an example."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.example: dict[str, Loss] = {}

    def __call__(self, loss: Loss) -> None:
        self.counts[loss.feature] = self.counts.get(loss.feature, 0) + loss.count
        self.example.setdefault(loss.feature, loss)

    @property
    def spans(self) -> int:
        """How many spans were not written at all."""
        return self.counts.get("spans", 0) + self.counts.get("overlaps", 0)

    def lines(self) -> list[str]:
        """One line per feature: how many, an example and its reason.

        >>> tally = LossTally()
        >>> tally(Loss("1", "scores", 2))
        >>> tally.lines()
        ["scores (2), for instance in document '1'"]
        """
        return [
            f"{feature} ({count:,}), for instance in document {example.document!r}"
            + (f": {example.detail}" if example.detail else "")
            for (feature, count), example in zip(self.counts.items(), self.example.values(), strict=True)
        ]


class Reader(Protocol):
    """Yields documents lazily; memory does not grow with the file. Each format has its own options, keyword-only.

    A malformed record goes to `on_error`; if that returns, reading continues with the next record. Errors that make this impossible
    (XML that is not well-formed, truncated gzip) are always raised. Both are FormatError: a reader turns the DocumentError of an
    inconsistent record into one, with the record's place. A reader closes what it opens.
    """

    def __call__(self, source: Source, *, on_error: Callable[[FormatError], None]) -> Iterator[Document]: ...


class Writer(Protocol):
    """Writes documents one by one; reports to `on_loss` what the format cannot hold. Leaves the stream open.

    Raises FormatError (BX120) for a document that it cannot hold at all. `on_loss` may raise, to stop at a loss.
    """

    def __call__(self, documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None: ...


class FolderWriter(Protocol):
    """As Writer, for a format that is a folder of several files (brat)."""

    def __call__(self, documents: Iterable[Document], folder: Path, *, on_loss: Callable[[Loss], None]) -> None: ...


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write documents to bytes and read them back.

    `suffixes` begin with a dot; the first is used for new files. `holds` lists what is kept when a document is written and read again; the text
    is always kept, and so is the id unless a loss says otherwise. A format has `write` or `write_folder`, or neither if it is read-only;
    then `holds` lists what its reader may return.

    `sniff` gets a file's name (without `.gz`) and its first 4,096 bytes after decompression, and returns whether it is of this format.
    Formats are tried in the order of the table in `biomux.formats`, so specific ones come before general ones.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    holds: frozenset[Feature]
    sniff: Callable[[str, bytes], bool]
    read: Callable[..., Iterator[Document]]
    """A Reader; `Callable[...]` because formats may have their own keyword-only options."""
    write: Writer | None = None
    write_folder: FolderWriter | None = None
    files: tuple[str, ...] = ()
    """Patterns of the file names that `write_folder` makes: a folder that holds only such files may be overwritten."""
    readable: bool = True
    """Whether it can be read; the reader of a write-only format raises an error."""
    one_way: bool = False
    """Whether the output is an extract for other programs, without the text, that is not read back."""

    @property
    def ways(self) -> str:
        """What can be done with it, for tables: "read, write", "read" or "write"."""
        return ", ".join([*["read"] * self.readable, *["write"] * self.writable])

    @property
    def writable(self) -> bool:
        """Whether it can be written, to a file or to a folder."""
        return self.write is not None or self.write_folder is not None


def stop(error: FormatError) -> None:
    """The default for `on_error`: stop at the first malformed record."""
    raise error


def ignore(loss: Loss) -> None:
    """An `on_loss` for callers who do not need to know."""


def report_losses(document: Document, holds: frozenset[Feature], on_loss: Callable[[Loss], None]) -> None:
    """Report to `on_loss` each feature that the document has and `holds` lacks.

    "overlaps" is left to the writers: only they know which of two overlapping spans they keep.
    """
    for feature, count in features(document).items():
        if feature not in holds and feature != "overlaps":
            on_loss(Loss(document.id, feature, count))


def features(document: Document) -> Counter[Feature]:
    """How many things of each feature a document has.

    >>> from biomux.document import Document, Span
    >>> features(Document("1", "TP53", spans=(Span(0, 4, "gene", identifiers=("7157",)),)))
    Counter({'spans': 1, 'identifiers': 1})
    """
    spans = document.spans
    counts: dict[Feature, int] = {
        "passages": len(document.passages),
        "sentences": len(document.sentences or ()),
        "tokens": len(document.tokens or ()),
        "spans": len(spans),
        "overlaps": _overlapping(document),
        "fragments": sum(len(span.fragments) > 1 for span in spans),
        "identifiers": sum(bool(span.identifiers) for span in spans),
        "scores": sum(span.score is not None for span in spans),
        "heads": sum(span.head is not None for span in spans),
        "span ids": sum(span.id is not None for span in spans),
        "span extra": sum(bool(span.extra) for span in spans),
        "relations": len(document.relations),
        "labels": len(document.labels),
        "pair": int(document.pair is not None),
        "questions": len(document.questions),
        "coverage": int(document.coverage is not None),
        "metadata": len(document.metadata),
    }
    return Counter({feature: count for feature, count in counts.items() if count})


def _overlapping(document: Document) -> int:
    """How many spans begin before an earlier one has ended."""
    count, reach = 0, 0
    for span in sorted(document.spans, key=lambda span: (span.start, span.end)):
        count += span.start < reach
        reach = max(reach, span.end)
    return count
