"""Spans scored by several definitions at once.

| matching | a predicted span is right if |
|---|---|
| strict | offsets (of all fragments) and type are those of a gold span |
| boundary | offsets are equal, whatever the type |
| type | it shares a character with a gold span of its type |
| overlap | it shares a character with a gold span, whatever the type |
| word | strict, after both are widened to whole words: what conlleval counts |
| piece | strict, after a word's label is copied to all its pieces: paper C's figure, for comparison only |

A span counts once, however often it is listed. Pairs are one to one by the rule in `biomux.scoring.pairing`. Where a matching ignores
types, a pair counts for its gold type. A type that only one side knows is an ordinary type: all missed, or all spurious.

>>> from biomux.document import Document, Span
>>> gold = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "chemical"), Span(15, 21, "disease")))
>>> predicted = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "chemical"), Span(8, 21, "disease")))
>>> scores = score([(gold, predicted)])
>>> scores["strict"].f1, scores["type"].f1
(0.5, 1.0)
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.errors import ScoreError, UsageError
from biomux.scoring.counts import Counts, Spread, Table
from biomux.scoring.pairing import Key, keys, largest_matching, overlapping, same_place, same_type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from biomux.document import Document

MATCHINGS = ("strict", "boundary", "type", "overlap")

Rows = dict[str, list[int]]
"""Type → [tp, fp, fn]."""


@dataclass(frozen=True, slots=True)
class SpanScores:
    """What `score` returns. Scores of shards add up to the scores of the whole."""

    documents: int = 0
    tables: Mapping[str, Table] = field(default_factory=dict)

    def __getitem__(self, matching: str) -> Table:
        try:
            return self.tables[matching]
        except KeyError:
            raise UsageError(
                "BX001",
                f"the spans were not scored by {matching!r}",
                hint=f"scored were: {', '.join(self.tables)}",
            ) from None

    def __add__(self, other: SpanScores) -> SpanScores:
        names = list(self.tables) + [name for name in other.tables if name not in self.tables]
        return SpanScores(
            self.documents + other.documents,
            {name: self.tables.get(name, Table()) + other.tables.get(name, Table()) for name in names},
        )

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        return {
            "documents": self.documents,
            "matchings": {name: table.to_json() for name, table in self.tables.items()},
        }


def score(
    pairs: Iterable[tuple[Document, Document]],
    *,
    matchings: Sequence[str] = MATCHINGS,
    types: Collection[str] | None = None,
) -> SpanScores:
    """Score (gold, predicted) pairs, one after the other; memory does not grow with their number.

    `types` limits both sides to these types: use it where gold was annotated for some types only.
    """
    check_matchings(matchings)
    tallies: dict[str, _Tally] = {name: _Tally() for name in matchings}
    documents = 0
    for gold, predicted in pairs:
        documents += 1
        for name, rows in count(gold, predicted, matchings=matchings, types=types).items():
            tallies[name].add(rows)
    return SpanScores(documents, {name: tally.table(documents) for name, tally in tallies.items()})


def score_each(
    pairs: Iterable[tuple[Document, Document]],
    *,
    matchings: Sequence[str] = MATCHINGS,
    types: Collection[str] | None = None,
) -> Iterator[tuple[str, SpanScores]]:
    """The scores of each document on its own, with its id; their sum is what `score` returns."""
    check_matchings(matchings)
    for gold, predicted in pairs:
        yield gold.id, score([(gold, predicted)], matchings=matchings, types=types)


def check_matchings(matchings: Sequence[str]) -> None:
    """Raise UsageError for a name that is no matching."""
    for name in matchings:
        if name not in MATCHINGS:
            raise UsageError("BX001", f"there is no matching {name!r}", hint=f"choose from {', '.join(MATCHINGS)}")


def count(
    gold: Document, predicted: Document, *, matchings: Sequence[str], types: Collection[str] | None = None
) -> dict[str, Rows]:
    """One document's counts by matching and type."""
    wanted, given = keys(gold.spans, types), keys(predicted.spans, types)
    equal = wanted & given
    certain: Rows = {}
    for key in equal:
        _row(certain, key[2])[0] += 1
    counted = {name: {kind: list(row) for kind, row in certain.items()} for name in matchings}
    if len(equal) == len(wanted) == len(given):
        return counted
    missed, spurious = sorted(wanted - equal), sorted(given - equal)
    edges = overlapping(missed, spurious) if missed and spurious else [[] for _ in missed]
    for name, rows in counted.items():
        _add_rest(rows, missed, spurious, _pairs(name, missed, spurious, edges))
    return counted


def _pairs(name: str, missed: list[Key], spurious: list[Key], edges: list[list[int]]) -> dict[int, int]:
    if name == "strict" or not (missed and spurious):
        return {}
    if name == "boundary":
        return same_place(missed, spurious)
    if name == "type":
        return same_type(missed, spurious, edges)
    return largest_matching(edges)


def _add_rest(rows: Rows, missed: list[Key], spurious: list[Key], pairs: Mapping[int, int]) -> None:
    for place, key in enumerate(missed):
        _row(rows, key[2])[0 if place in pairs else 2] += 1
    taken = set(pairs.values())
    for place, key in enumerate(spurious):
        if place not in taken:
            _row(rows, key[2])[1] += 1


def _row(rows: Rows, type: str) -> list[int]:
    row = rows.get(type)
    if row is None:
        row = rows[type] = [0, 0, 0]
    return row


class _Tally:
    """Sums of one matching while documents go by: nine numbers a type, and nine for all."""

    def __init__(self) -> None:
        self.types: dict[str, list[int]] = {}
        self.all = [0] * 9

    def add(self, rows: Rows) -> None:
        tp = fp = fn = 0
        for name, row in rows.items():
            sums = self.types.get(name)
            if sums is None:
                sums = self.types[name] = [0] * 9
            _add_products(sums, *row)
            tp, fp, fn = tp + row[0], fp + row[1], fn + row[2]
        if rows:
            _add_products(self.all, tp, fp, fn)

    def table(self, documents: int) -> Table:
        return Table(
            {name: Counts(*self.types[name][:3]) for name in sorted(self.types)},
            {name: Spread(documents, *self.types[name][3:]) for name in sorted(self.types)},
            Spread(documents, *self.all[3:]),
        )


def _add_products(sums: list[int], tp: int, fp: int, fn: int) -> None:
    for place, value in enumerate((tp, fp, fn, tp * tp, fp * fp, fn * fn, tp * fp, tp * fn, fp * fn)):
        sums[place] += value


def align(gold: Iterable[Document], predicted: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    """Pair documents by id. In the same order they stream; out of order, those that wait for their partner are held.

    Both sides must have the same ids, each once, with the same texts.
    """
    waiting: tuple[dict[str, Document], dict[str, Document]] = ({}, {})
    paired = array("q")
    sides = (iter(gold), iter(predicted))
    while True:
        ended = 0
        for side, name in ((0, "gold"), (1, "predictions")):
            document = next(sides[side], None)
            if document is None:
                ended += 1
                continue
            if document.id in waiting[side]:
                raise _twice(document.id, name)
            partner = waiting[1 - side].pop(document.id, None)
            if partner is None:
                waiting[side][document.id] = document
            else:
                paired.append(hash(document.id))
                yield _same_text(*((document, partner) if side == 0 else (partner, document)))
        if ended == 2:
            break
    _check_all_paired(waiting, paired)


def _check_all_paired(waiting: tuple[Mapping[str, Document], Mapping[str, Document]], paired: array[int]) -> None:
    """Eight bytes an id keep memory low; an id that came twice on both sides shows as two equal hashes, found here at the end."""
    hashes = set(paired) if waiting[0] or waiting[1] else set()
    for side, name, other in ((0, "gold", "predictions"), (1, "predictions", "gold")):
        for id in waiting[side]:
            if hash(id) in hashes:
                raise _twice(id, name)
        if waiting[side]:
            raise ScoreError(
                "BX701",
                f"{len(waiting[side])} documents are in the {name} and not in the {other}, this one first",
                where=f"document {next(iter(waiting[side]))!r}",
                hint="score the same documents on both sides; a document without spans must still be there",
            )
    ordered = sorted(paired)
    if any(left == right for left, right in zip(ordered, ordered[1:], strict=False)):
        raise ScoreError(
            "BX702",
            "gold and predictions both have several documents of one id",
            hint="give every document an id of its own",
        )


def _twice(id: str, side: str) -> ScoreError:
    return ScoreError(
        "BX702",
        f"the {side} have two documents of this id",
        where=f"document {id!r}",
        hint="give every document an id of its own",
    )


def _same_text(gold: Document, predicted: Document) -> tuple[Document, Document]:
    if gold.text != predicted.text:
        place = next(
            (i for i, (left, right) in enumerate(zip(gold.text, predicted.text, strict=False)) if left != right),
            min(len(gold.text), len(predicted.text)),
        )
        raise ScoreError(
            "BX703",
            f"the texts of gold and prediction differ from character {place}: "
            f"{gold.text[place : place + 20]!r} against {predicted.text[place : place + 20]!r}",
            where=f"document {gold.id!r}",
            hint="predict on the text of the gold documents, unchanged",
        )
    return gold, predicted
