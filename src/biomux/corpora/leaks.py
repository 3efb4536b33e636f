"""Leaks: held-out text that also occurs in a training part.

Text is compared sentence by sentence and as a whole, ignoring white space and case, if it has at least 40 characters. Text that is
found is removed from the training part; the rest of a document is kept unchanged, cut into pieces where sentences were removed. A
document with annotations of the whole text (relations, questions, a label, a pair) is removed whole.

Joint training makes this necessary: most of BioNLP09's test sentences are training sentences of JNLPBA.
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
"""Shorter text is not compared: headings and stock phrases occur in every corpus."""

_SHORT = 0
"""The key of a text that is not compared."""


@dataclass(frozen=True, slots=True)
class Leak:
    """How much of a held-out part occurs in a training part. Units are sentences, or whole texts if there are none."""

    held_out: str
    training: str
    units: int
    """Held-out units found in the training part."""
    held_out_units: int
    """All units of the held-out part, including short ones."""
    removed: int
    """Training units that were removed for them."""


@dataclass(frozen=True, slots=True)
class LeakReport:
    """What was found and removed: one entry for each pair with a leak, the largest first."""

    leaks: tuple[Leak, ...] = ()
    documents: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Training part → number of documents before, number of documents that lost text."""

    def rows(self) -> list[tuple[str, str, int, int, float, int]]:
        """The table: held out, training, found, of, share, removed."""
        return [
            (
                leak.held_out,
                leak.training,
                leak.units,
                leak.held_out_units,
                leak.units / leak.held_out_units,
                leak.removed,
            )
            for leak in self.leaks
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return {
            "min_characters": MIN_CHARACTERS,
            "leaks": [asdict(leak) for leak in self.leaks],
            "documents": {
                name: {"before": before, "touched": touched} for name, (before, touched) in self.documents.items()
            },
        }

    def __str__(self) -> str:
        if not self.leaks:
            return "no held-out text occurs in a training part"
        head = ("held out", "in training part", "found", "of", "share", "removed")
        rows = [head] + [
            (held_out, training, f"{units:,}", f"{of:,}", f"{share:.1%}", f"{removed:,}")
            for held_out, training, units, of, share, removed in self.rows()
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
    """The training parts without the text of the held-out parts, and a report of what was removed.

    `sentences` splits a document into sentences; with None, documents without sentences are compared whole.
    """
    held_out_keys = {name: _keys_of(documents, sentences) for name, documents in held_out.items()}
    leaked_keys = {value for keys in held_out_keys.values() for column in keys for value in column} - {_SHORT}
    filtered: dict[str, list[Document]] = {}
    leaks: list[Leak] = []
    touched: dict[str, tuple[int, int]] = {}
    for part, documents in training.items():
        removed_counts: dict[int, int] = {}
        piece_counts: dict[int, int] = {}
        filtered[part] = []
        document_count = changed_count = 0
        for document in documents:
            document_count += 1
            rest = list(_without(document, leaked_keys, (removed_counts, piece_counts), sentences))
            changed_count += rest != [document]
            filtered[part] += rest
        touched[part] = (document_count, changed_count)
        for name, (unit_keys_of_part, wholes) in held_out_keys.items():
            units = sum(
                unit_key in removed_counts or whole in removed_counts
                for unit_key, whole in zip(unit_keys_of_part, wholes, strict=True)
            )
            removed = sum(
                removed_counts.get(unit_key, 0) + piece_counts.get(unit_key, 0)
                for unit_key in {*unit_keys_of_part, *wholes}
            )
            if units or removed:
                leaks.append(Leak(name, part, units, len(unit_keys_of_part), removed))
    leaks.sort(key=lambda leak: (-leak.units, leak.held_out, leak.training))
    return filtered, LeakReport(tuple(leaks), touched)


def key(text: str) -> int | None:
    """A number that is the same for texts that differ only in white space and case; None if the text is too short to be compared.

    >>> key("A  sentence of at least forty characters it is.") == key("a sentence of at least forty CHARACTERS it is.")
    True
    """
    bare = squeezed(text)
    if len(bare) < MIN_CHARACTERS:
        return None
    return int.from_bytes(blake2b(bare.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def units(document: Document, sentences: Splitter | None = split_document) -> list[Range]:
    """The parts of a text that are compared: its sentences, or the whole if it has none. A pair is one unit."""
    whole = [(0, len(document.text))] if document.text else []
    if document.pair is not None:
        return whole
    return list(document.sentences or (sentences(document) if sentences else ()) or whole)


def unit_keys(document: Document, ranges: Sequence[Range]) -> tuple[list[int], int]:
    """The key of each unit, and that of the whole; 0 if too short.

    A pair is compared as a pair: evidence may be shared between splits, a claim with its evidence may not.
    """
    whole = key(document.text if document.pair is None else f"{document.text}\0{document.pair}") or _SHORT
    if document.pair is not None:
        return [whole] * len(ranges), whole
    return [key(document.text[start:end]) or _SHORT for start, end in ranges], whole


def _keys_of(documents: Iterable[Document], sentences: Splitter | None) -> tuple[array[int], array[int]]:
    """The key of each unit, and in parallel that of its whole document. Eight bytes per key; 0 if too short."""
    of_units: array[int] = array("Q")
    of_wholes: array[int] = array("Q")
    for document in documents:
        ranges = units(document, sentences)
        keys, whole = unit_keys(document, ranges)
        of_units.extend(keys)
        of_wholes.extend([whole] * len(keys))
    return of_units, of_wholes


def _without(
    document: Document,
    leaked_keys: set[int],
    counts: tuple[dict[int, int], dict[int, int]],
    sentences: Splitter | None,
) -> Iterator[Document]:
    """The rest of a document. The first of `counts` counts the units removed from it, the second those removed from its pieces.

    A piece is compared again: it may be a held-out sentence that was split in two here.
    """
    removed_counts, piece_counts = counts
    ranges = units(document, sentences)
    keys, whole = unit_keys(document, ranges)
    leaked = [unit_key in leaked_keys for unit_key in keys]
    if not any(leaked) and whole not in leaked_keys:
        yield document
        return
    for unit_key, is_leaked in zip(keys, leaked, strict=True):
        if is_leaked:
            removed_counts[unit_key] = removed_counts.get(unit_key, 0) + 1
    if whole in leaked_keys:
        removed_counts[whole] = removed_counts.get(whole, 0) + leaked.count(False)
    elif not _whole(document):
        for piece in _pieces(document, ranges, leaked):
            yield from _without(piece, leaked_keys, (piece_counts, piece_counts), sentences)


def _whole(document: Document) -> bool:
    """Whether it has annotations of the whole text, which need not hold for a piece of it."""
    annotated = document.pair is not None or document.questions or document.relations
    return bool(annotated) or any(label.start is None for label in document.labels)


def _pieces(document: Document, ranges: list[Range], leaked: list[bool]) -> Iterator[Document]:
    """The runs of sentences that are kept, each as a separate document."""
    number = 0
    first: int | None = None
    for index, is_leaked in enumerate([*leaked, True]):
        if not is_leaked and first is None:
            first = index
        elif is_leaked and first is not None:
            number += 1
            yield cut(document, ranges[first][0], ranges[index - 1][1], id=f"{document.id}/{number}")
            first = None


def cut(document: Document, start: int, end: int, *, id: str) -> Document:
    """The document from `start` to `end`, with the annotations that lie wholly inside, and their offsets adjusted.

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
    span_ids = {span.id for span in spans}
    return replace(
        document,
        id=id,
        text=document.text[start:end],
        passages=tuple(
            replace(passage, start=max(passage.start, start) - start, end=min(passage.end, end) - start)
            for passage in document.passages
            if passage.start < end and passage.end > start
        ),
        sentences=_moved(document.sentences, start, end),
        tokens=_moved(document.tokens, start, end),
        spans=spans,
        relations=tuple(
            relation
            for relation in document.relations
            if all(argument.kind == "span" and argument.target in span_ids for argument in relation.arguments)
        ),
        labels=tuple(
            label
            if label.start is None or label.end is None
            else replace(label, start=label.start - start, end=label.end - start)
            for label in document.labels
            if label.start is None or inside(label.start, label.end)
        ),
        coverage=_moved(document.coverage, start, end),
    )


def _moved(ranges: tuple[Range, ...] | None, start: int, end: int) -> tuple[Range, ...] | None:
    if ranges is None:
        return None
    first = bisect_left(ranges, (start, start))
    return tuple((low - start, high - start) for low, high in ranges[first:] if low >= start and high <= end)
