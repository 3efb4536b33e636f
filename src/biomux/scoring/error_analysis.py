"""What went wrong with spans: every wrong span in one class, with examples to look at.

| class | gold and predicted |
|---|---|
| type | the same place, another type |
| boundary | they overlap, the same type |
| boundary+type | they overlap, another type |
| split | one gold span, found as several that do not overlap each other, all of its type |
| merged | several gold spans that do not overlap each other, found as one, all of its type |
| missed | a gold span that nothing else explains |
| spurious | a predicted span that nothing else explains |

Spans that are strictly right take no part. In larger tangles spans are paired as for SemEval's figures.

>>> from biomux.document import Document, Span
>>> gold = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "chemical"), Span(15, 21, "disease")))
>>> predicted = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "disease"), Span(8, 21, "disease")))
>>> [mistake.kind for mistake in mistakes(gold, predicted)]
['type', 'boundary']
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zlib import crc32

from biomux.document import Span
from biomux.scoring.span_matching import Key, keys, overlapping, staged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from biomux.document import Document

KINDS = ("boundary", "type", "boundary+type", "split", "merged", "missed", "spurious")
MARGIN = 50
"""Characters of text kept on both sides of an example."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake. `context` is the text around it and begins at character `offset` of the document."""

    kind: str
    document: str
    gold: tuple[Span, ...]
    predicted: tuple[Span, ...]
    context: str
    offset: int

    @property
    def types(self) -> tuple[str, str]:
        """The first gold type and the first predicted type, "" where there is none."""
        return (self.gold[0].type if self.gold else "", self.predicted[0].type if self.predicted else "")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; offsets are of the document."""

        def rows(spans: tuple[Span, ...]) -> list[dict[str, Any]]:
            return [{"ranges": [list(range_) for range_ in span.ranges], "type": span.type} for span in spans]

        return {
            "kind": self.kind,
            "document": self.document,
            "gold": rows(self.gold),
            "predicted": rows(self.predicted),
            "context": self.context,
            "offset": self.offset,
        }


@dataclass(frozen=True, slots=True)
class MistakeTable:
    """Counts by class and by pair of types (gold, predicted), and a few examples of each class. Tables of shards add up."""

    counts: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    examples: Mapping[str, tuple[Mistake, ...]] = field(default_factory=dict)
    limit: int = 5

    def __add__(self, other: MistakeTable) -> MistakeTable:
        limit = max(self.limit, other.limit)
        return MistakeTable(
            Counter(self.counts) + Counter(other.counts),
            {
                kind: tuple(nsmallest(limit, self.examples.get(kind, ()) + other.examples.get(kind, ()), key=_lot))
                for kind in KINDS
                if kind in self.examples or kind in other.examples
            },
            limit,
        )

    def of(self, kind: str) -> int:
        """How many mistakes of a class there are."""
        return sum(number for (name, _, _), number in self.counts.items() if name == kind)


def mistakes(gold: Document, predicted: Document, *, types: Collection[str] | None = None) -> list[Mistake]:
    """The mistakes in one document, from left to right. Every wrong span is in exactly one."""
    wanted, answered = keys(gold.spans, types), keys(predicted.spans, types)
    if wanted == answered:
        return []
    missed, spurious = sorted(wanted - answered), sorted(answered - wanted)
    classified = [
        _mistake(kind, gold, [missed[place] for place in missed_places], [spurious[place] for place in spurious_places])
        for kind, missed_places, spurious_places in _classes(missed, spurious)
    ]
    return sorted(classified, key=_place)


def tally(
    pairs: Iterable[tuple[Document, Document]], *, types: Collection[str] | None = None, examples: int = 5
) -> MistakeTable:
    """Count the mistakes of (gold, predicted) pairs. Examples are chosen at random, seeded by the document's id, so the order of documents does not matter."""
    counts: Counter[tuple[str, str, str]] = Counter()
    by_kind: dict[str, list[Mistake]] = {}
    for gold, predicted in pairs:
        for mistake in mistakes(gold, predicted, types=types):
            counts[(mistake.kind, *mistake.types)] += 1
            some = by_kind.setdefault(mistake.kind, [])
            some.append(mistake)
            if len(some) > 64 + 2 * examples:
                some[:] = nsmallest(examples, some, key=_lot)
    return MistakeTable(
        counts,
        {kind: tuple(nsmallest(examples, by_kind[kind], key=_lot)) for kind in KINDS if kind in by_kind},
        examples,
    )


def _classes(missed: Sequence[Key], spurious: Sequence[Key]) -> Iterator[tuple[str, list[int], list[int]]]:
    edges = overlapping(missed, spurious)
    for missed_places, spurious_places in _tangles(edges, len(spurious)):
        one_type = (
            len({missed[place][2] for place in missed_places} | {spurious[place][2] for place in spurious_places}) == 1
        )
        if (
            len(missed_places) == 1
            and len(spurious_places) > 1
            and one_type
            and _apart([spurious[place] for place in spurious_places])
        ):
            yield "split", missed_places, spurious_places
        elif (
            len(spurious_places) == 1
            and len(missed_places) > 1
            and one_type
            and _apart([missed[place] for place in missed_places])
        ):
            yield "merged", missed_places, spurious_places
        else:
            yield from _single(missed, spurious, edges, missed_places, spurious_places)


def _single(
    missed: Sequence[Key],
    spurious: Sequence[Key],
    edges: Sequence[Sequence[int]],
    missed_places: list[int],
    spurious_places: list[int],
) -> Iterator[tuple[str, list[int], list[int]]]:
    """A tangle that is neither split nor merged, pair by pair."""
    new = {place: number for number, place in enumerate(spurious_places)}
    pairs = staged(
        [missed[place] for place in missed_places],
        [spurious[place] for place in spurious_places],
        [[new[candidate] for candidate in edges[place]] for place in missed_places],
    )
    for number, place in enumerate(missed_places):
        if number in pairs:
            partner = spurious_places[pairs[number]]
            yield _pair_class(missed[place], spurious[partner]), [place], [partner]
        else:
            yield "missed", [place], []
    for number, place in enumerate(spurious_places):
        if number not in pairs.values():
            yield "spurious", [], [place]


def _pair_class(gold: Key, predicted: Key) -> str:
    if (gold[0], gold[1], gold[3]) == (predicted[0], predicted[1], predicted[3]):
        return "type"
    return "boundary" if gold[2] == predicted[2] else "boundary+type"


def _tangles(edges: Sequence[Sequence[int]], size: int) -> Iterator[tuple[list[int], list[int]]]:
    """Gold and predicted spans that hang together by overlaps; each list is in order."""
    back: list[list[int]] = [[] for _ in range(size)]
    for place, near in enumerate(edges):
        for neighbour in near:
            back[neighbour].append(place)
    seen_left: set[int] = set()
    seen_right: set[int] = set()
    for root in range(len(edges)):
        if root in seen_left:
            continue
        missed_places, spurious_places, waiting = {root}, set[int](), [root]
        while waiting:
            fresh = set(edges[waiting.pop()]) - spurious_places
            spurious_places |= fresh
            more = {place for neighbour in fresh for place in back[neighbour]} - missed_places
            missed_places |= more
            waiting += more
        seen_left |= missed_places
        seen_right |= spurious_places
        yield sorted(missed_places), sorted(spurious_places)
    for place in range(size):
        if place not in seen_right:
            yield [], [place]


def _apart(spans: Sequence[Key]) -> bool:
    return all(before[1] <= after[0] for before, after in pairwise(spans))


def _mistake(kind: str, document: Document, gold: Sequence[Key], predicted: Sequence[Key]) -> Mistake:
    both = [*gold, *predicted]
    start = max(0, min(key[0] for key in both) - MARGIN)
    end = max(key[1] for key in both) + MARGIN
    return Mistake(kind, document.id, _spans(gold), _spans(predicted), document.text[start:end], start)


def _spans(keys_found: Sequence[Key]) -> tuple[Span, ...]:
    return tuple(Span(start, end, type_, fragments=fragments) for start, end, type_, fragments in keys_found)


def _place(mistake: Mistake) -> tuple[int, int]:
    both = mistake.gold + mistake.predicted
    return min(span.start for span in both), max(span.end for span in both)


def _lot(mistake: Mistake) -> tuple[int, str, tuple[int, int]]:
    place = _place(mistake)
    return crc32(f"{mistake.document}:{place}".encode()), mistake.document, place
