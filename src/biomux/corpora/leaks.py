"""Leaks: held-out text that stands in a training part.

Text is compared sentence by sentence and as a whole, without blanks and case, if it has at least 40 characters. What is found is
taken out of the training part; what is left of a document stays as it was, cut into pieces where sentences went.

Joint training makes this needful: most of BioNLP09's test sentences are training sentences of JNLPBA.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from biomux.corpora.splits import squeezed
from biomux.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from biomux.document import Range

    Splitter = Callable[[str], Sequence[Range]]

MIN_CHARACTERS = 40
"""Shorter text is not compared: headings and stock phrases are in every corpus."""


@dataclass(frozen=True, slots=True)
class Leak:
    """How much of a held-out part stands in a training part. Units are sentences, or whole texts where there are none."""

    held_out: str
    training: str
    units: int
    """Held-out units found in the training part."""
    held_out_units: int
    """All units of the held-out part, short ones too."""
    removed: int
    """Training units taken out for them."""


@dataclass(frozen=True, slots=True)
class LeakReport:
    """What was found and taken out: one line for each pair with a leak, the largest first."""

    leaks: tuple[Leak, ...] = ()
    documents: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Training part → documents before, documents that lost text."""

    def rows(self) -> list[tuple[str, str, int, int, float, int]]:
        """The table: held out, training, found, of, share, removed."""
        return [
            (one.held_out, one.training, one.units, one.held_out_units, one.units / one.held_out_units, one.removed)
            for one in self.leaks
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {
            "min_characters": MIN_CHARACTERS,
            "leaks": [asdict(one) for one in self.leaks],
            "documents": {
                name: {"before": before, "touched": touched} for name, (before, touched) in self.documents.items()
            },
        }

    def __str__(self) -> str:
        if not self.leaks:
            return "no held-out text stands in a training part"
        head = ("held out", "in training part", "found", "of", "share", "removed")
        rows = [head] + [
            (held, training, f"{units:,}", f"{of:,}", f"{share:.1%}", f"{removed:,}")
            for held, training, units, of, share, removed in self.rows()
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if column < 2 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join(lines)


def filter_leaks(
    training: Mapping[str, Iterable[Document]],
    held_out: Mapping[str, Iterable[Document]],
    *,
    sentences: Splitter | None = None,
) -> tuple[dict[str, list[Document]], LeakReport]:
    """The training parts without the text of the held-out parts, and a report of what went.

    `sentences` splits texts whose documents give no sentences; without it those are compared as wholes.
    """
    keys = {name: _keys_of(documents, sentences) for name, documents in held_out.items()}
    known = {key for held, _ in keys.values() for key in held}
    kept: dict[str, list[Document]] = {}
    leaks: list[Leak] = []
    touched: dict[str, tuple[int, int]] = {}
    for part, documents in training.items():
        found: dict[int, int] = {}
        kept[part] = []
        before = changed = 0
        for document in documents:
            before += 1
            left = list(_without(document, known, found, sentences))
            changed += left != [document]
            kept[part] += left
        touched[part] = (before, changed)
        for name, (held, total) in keys.items():
            units = sum(key in found for key in held)
            if units:
                own = set(held)
                removed = sum(count for key, count in found.items() if key in own)
                leaks.append(Leak(name, part, units, total, removed))
    leaks.sort(key=lambda one: (-one.units, one.held_out, one.training))
    return kept, LeakReport(tuple(leaks), touched)


def key(text: str) -> int | None:
    """A number for a text that is equal for equal text, blanks and case aside; None for one too short to be compared.

    >>> key("A  sentence of at least forty characters it is.") == key("a sentence of at least forty CHARACTERS it is.")
    True
    """
    bare = squeezed(text)
    if len(bare) < MIN_CHARACTERS:
        return None
    return int.from_bytes(blake2b(bare.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def units(document: Document, sentences: Splitter | None = None) -> list[Range]:
    """The parts of a document that are compared: its sentences, or its whole text where it has none."""
    ranges = document.sentences
    if ranges is None and sentences is not None:
        ranges = tuple(sentences(document.text))
    return list(ranges or ([(0, len(document.text))] if document.text else []))


def _keys_of(documents: Iterable[Document], sentences: Splitter | None) -> tuple[array[int], int]:
    """The keys of all units that are long enough, and how many units there are. Eight bytes a key."""
    keys: array[int] = array("Q")
    total = 0
    for document in documents:
        ranges = units(document, sentences)
        total += len(ranges)
        keys.extend(found for start, end in ranges if (found := key(document.text[start:end])) is not None)
        if len(ranges) > 1 and (whole := key(document.text)) is not None:
            keys.append(whole)
    return keys, total


def _without(
    document: Document, known: set[int], found: dict[int, int], sentences: Splitter | None
) -> Iterator[Document]:
    """What is left of a document; what went is counted in `found`."""
    ranges = units(document, sentences)
    if not ranges:
        yield document
        return
    keys = [key(document.text[start:end]) for start, end in ranges]
    leaked = [one is not None and one in known for one in keys]
    whole = key(document.text) if len(ranges) > 1 else None
    for one, gone in zip(keys, leaked, strict=True):
        if gone and one is not None:
            found[one] = found.get(one, 0) + 1
    if whole is not None and whole in known:
        found[whole] = found.get(whole, 0) + 1
        return
    if not any(leaked):
        yield document
        return
    if _whole(document):
        return
    yield from _pieces(document, ranges, leaked)


def _whole(document: Document) -> bool:
    """Whether something is said of the whole text, so that a piece of it would not bear it out."""
    said = document.pair is not None or document.questions or document.relations
    return bool(said) or any(label.start is None for label in document.labels)


def _pieces(document: Document, ranges: list[Range], leaked: list[bool]) -> Iterator[Document]:
    """The runs of sentences that stay, each a document of its own."""
    number = 0
    first: int | None = None
    for index, gone in enumerate([*leaked, True]):
        if not gone and first is None:
            first = index
        elif gone and first is not None:
            number += 1
            yield cut(document, ranges[first][0], ranges[index - 1][1], id=f"{document.id}/{number}")
            first = None


def cut(document: Document, start: int, end: int, *, id: str) -> Document:
    """The document from `start` to `end`, with the annotations that lie wholly within, their offsets moved along.

    >>> from biomux.document import Span
    >>> piece = cut(Document("1", "No. TP53 it is.", spans=(Span(4, 8, "gene"),)), 4, 15, id="1/1")
    >>> piece.text, piece.spans[0].start
    ('TP53 it is.', 0)
    """

    def inside(low: int | None, high: int | None) -> bool:
        return low is not None and high is not None and start <= low and high <= end

    spans = tuple(
        replace(
            span,
            start=span.start - start,
            end=span.end - start,
            fragments=tuple((low - start, high - start) for low, high in span.fragments),
        )
        for span in document.spans
        if inside(span.start, span.end)
    )
    here = {span.id for span in spans}
    return replace(
        document,
        id=id,
        text=document.text[start:end],
        passages=tuple(
            replace(one, start=max(one.start, start) - start, end=min(one.end, end) - start)
            for one in document.passages
            if one.start < end and one.end > start
        ),
        sentences=_moved(document.sentences, start, end),
        tokens=_moved(document.tokens, start, end),
        spans=spans,
        relations=tuple(
            one for one in document.relations if all(arg.kind == "span" and arg.target in here for arg in one.arguments)
        ),
        labels=tuple(
            one if one.start is None or one.end is None else replace(one, start=one.start - start, end=one.end - start)
            for one in document.labels
            if one.start is None or inside(one.start, one.end)
        ),
        coverage=_moved(document.coverage, start, end),
    )


def _moved(ranges: tuple[Range, ...] | None, start: int, end: int) -> tuple[Range, ...] | None:
    if ranges is None:
        return None
    first = bisect_left(ranges, (start, start))
    return tuple((low - start, high - start) for low, high in ranges[first:] if low >= start and high <= end)
