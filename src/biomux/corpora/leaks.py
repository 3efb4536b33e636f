"""Leaks: held-out text that stands in a training part.

Text is compared sentence by sentence and as a whole, without blanks and case, if it has at least 40 characters. What is found is
taken out of the training part; what is left of a document stays as it was, cut into pieces where sentences went. A document of
which something is said as a whole (relations, questions, a label, a pair) goes as a whole.

Joint training makes this needful: most of BioNLP09's test sentences are training sentences of JNLPBA.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from biomux.corpora.splits import squeezed
from biomux.text.sentences import of as split_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from biomux.document import Document, Range

    Splitter = Callable[[Document], Sequence[Range]]

MIN_CHARACTERS = 40
"""Shorter text is not compared: headings and stock phrases are in every corpus."""

_SHORT = 0
"""Stands for the key of a text that is not compared."""


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
    sentences: Splitter | None = split_document,
) -> tuple[dict[str, list[Document]], LeakReport]:
    """The training parts without the text of the held-out parts, and a report of what went.

    `sentences` gives the sentences of a document; with None, those that have none of their own are compared as wholes.
    """
    held = {name: _keys_of(documents, sentences) for name, documents in held_out.items()}
    known = {found for keys in held.values() for column in keys for found in column} - {_SHORT}
    kept: dict[str, list[Document]] = {}
    leaks: list[Leak] = []
    touched: dict[str, tuple[int, int]] = {}
    for part, documents in training.items():
        found: dict[int, int] = {}
        later: dict[int, int] = {}
        kept[part] = []
        before = changed = 0
        for document in documents:
            before += 1
            left = list(_without(document, known, (found, later), sentences))
            changed += left != [document]
            kept[part] += left
        touched[part] = (before, changed)
        for name, (own, wholes) in held.items():
            units = sum(one in found or whole in found for one, whole in zip(own, wholes, strict=True))
            removed = sum(found.get(one, 0) + later.get(one, 0) for one in {*own, *wholes})
            if units or removed:
                leaks.append(Leak(name, part, units, len(own), removed))
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


def units(document: Document, sentences: Splitter | None = split_document) -> list[Range]:
    """The parts of a text that are compared: its sentences, or the whole where it has none. A pair is one unit."""
    whole = [(0, len(document.text))] if document.text else []
    if document.pair is not None:
        return whole
    return list(document.sentences or (sentences(document) if sentences else ()) or whole)


def unit_keys(document: Document, ranges: Sequence[Range]) -> tuple[list[int], int]:
    """The key of each unit, and that of the whole; 0 for what is too short.

    A pair is compared as a pair: evidence may be shared between splits, a claim with its evidence may not.
    """
    whole = key(document.text if document.pair is None else f"{document.text}\0{document.pair}") or _SHORT
    if document.pair is not None:
        return [whole] * len(ranges), whole
    return [key(document.text[start:end]) or _SHORT for start, end in ranges], whole


def _keys_of(documents: Iterable[Document], sentences: Splitter | None) -> tuple[array[int], array[int]]:
    """The key of each unit, and beside it that of its whole document. Eight bytes a key; 0 for what is too short."""
    own: array[int] = array("Q")
    wholes: array[int] = array("Q")
    for document in documents:
        ranges = units(document, sentences)
        keys, whole = unit_keys(document, ranges)
        own.extend(keys)
        wholes.extend([whole] * len(keys))
    return own, wholes


def _without(
    document: Document,
    known: set[int],
    counts: tuple[dict[int, int], dict[int, int]],
    sentences: Splitter | None,
) -> Iterator[Document]:
    """What is left of a document. What went is counted in the first of `counts`; in the second, what went out of pieces.

    A piece is compared again: it may be a held-out sentence that only looks like two sentences here.
    """
    found, later = counts
    ranges = units(document, sentences)
    keys, whole = unit_keys(document, ranges)
    leaked = [one in known for one in keys]
    if not any(leaked) and whole not in known:
        yield document
        return
    for one, gone in zip(keys, leaked, strict=True):
        if gone:
            found[one] = found.get(one, 0) + 1
    if whole in known:
        found[whole] = found.get(whole, 0) + leaked.count(False)
    elif not _whole(document):
        for piece in _pieces(document, ranges, leaked):
            yield from _without(piece, known, (later, later), sentences)


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

    >>> from biomux.document import Document, Span
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
