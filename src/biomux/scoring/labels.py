"""Classes scored: one a document (relation, inference, topic), or several.

>>> scores = score_labels([("yes", "yes"), ("no", "yes"), ("no", "no"), ("yes", "no")])
>>> scores.accuracy, scores.table().types["yes"].f1
(0.5, 0.5)
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.scoring.counts import Counts, Spread, Table, ratio
from biomux.scoring.means import Mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class LabelScores:
    """How often each gold class was answered by each predicted class; None is no answer. Shards add up."""

    cells: Mapping[tuple[str, str | None], int] = field(default_factory=dict)

    def __add__(self, other: LabelScores) -> LabelScores:
        return LabelScores(Counter(self.cells) + Counter(other.cells))

    @property
    def documents(self) -> int:
        return sum(self.cells.values())

    @property
    def right(self) -> int:
        return sum(number for (gold, predicted), number in self.cells.items() if gold == predicted)

    @property
    def accuracy(self) -> float:
        return ratio(self.right, self.documents)

    @property
    def accuracy_error(self) -> float:
        """The standard error of accuracy, nan below two documents."""
        return math.sqrt(self.accuracy * (1 - self.accuracy) / (self.documents - 1)) if self.documents > 1 else math.nan

    def table(self, *, negative: Collection[str] = ()) -> Table:
        """Counts of each class that is not `negative`.

        `table(negative={"none"}).micro` is micro-F1 over positive classes as relation papers mean it (with no negative class, micro-F1 is
        accuracy); `.macro` is the mean over classes seen on either side.
        """
        types: dict[str, Counts] = {}
        spreads: dict[str, Spread] = {}
        spread = Spread(self.documents)
        for (gold, predicted), number in sorted(self.cells.items(), key=str):
            each: dict[str, Counts] = {}
            if gold == predicted:
                each[gold] = Counts(tp=1)
            else:
                each[gold] = Counts(fn=1)
                if predicted is not None:
                    each[predicted] = Counts(fp=1)
            each = {name: counts for name, counts in each.items() if name not in negative}
            for name, counts in each.items():
                types[name] = types.get(name, Counts()) + _times(counts, number)
                spreads[name] = spreads.get(name, Spread()) + _products(counts, number)
            spread += _products(sum(each.values(), Counts()), number)
        return Table(dict(sorted(types.items())), dict(sorted(spreads.items())), spread)

    def to_json(self, *, negative: Collection[str] = ()) -> dict[str, Any]:
        """Accuracy, micro over positive classes, macro and classes, as plain JSON."""
        return {"documents": self.documents, "accuracy": self.accuracy, **self.table(negative=negative).to_json()}


def score_labels(pairs: Iterable[tuple[str, str | None]]) -> LabelScores:
    """Score (gold, predicted) classes. None means that nothing was predicted; that counts as missed, but not as a wrong prediction."""
    return LabelScores(Counter(pairs))


@dataclass(frozen=True, slots=True)
class MultiLabelScores:
    """Sets of classes: counts by class, and how often the whole set was right. Shards add up."""

    table: Table = field(default_factory=Table)
    exact: Mean = field(default_factory=Mean)
    example_f1: Mean = field(default_factory=Mean)

    def __add__(self, other: MultiLabelScores) -> MultiLabelScores:
        return MultiLabelScores(self.table + other.table, self.exact + other.exact, self.example_f1 + other.example_f1)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        return {
            "documents": self.exact.number,
            "exact": self.exact.to_json(),
            "example_f1": self.example_f1.to_json(),
            **self.table.to_json(),
        }


def score_sets(pairs: Iterable[tuple[Collection[str], Collection[str]]]) -> MultiLabelScores:
    """Score (gold, predicted) sets of classes.

    `exact` is the share of documents whose whole set is right; `example_f1` is the mean over documents of the F1 of their sets. Two empty sets are
    exactly right and have an F1 of 1, because in a multi-label task "none of them" is an answer.
    """
    cells: Counter[tuple[frozenset[str], frozenset[str]]] = Counter(
        (frozenset(gold), frozenset(predicted)) for gold, predicted in pairs
    )
    table, exact, example = Table(), Mean(), Mean()
    for (gold, predicted), number in sorted(cells.items(), key=lambda cell: [sorted(side) for side in cell[0]]):
        each = {
            name: Counts(int(name in gold and name in predicted), int(name not in gold), int(name not in predicted))
            for name in sorted(gold | predicted)
        }
        whole = sum(each.values(), Counts())
        table += Table(
            {name: _times(counts, number) for name, counts in each.items()},
            {name: _products(counts, number) for name, counts in each.items()},
            Spread(number) + _products(whole, number),
        )
        exact += Mean.of(float(gold == predicted), times=number)
        example += Mean.of(1.0 if whole.empty else whole.f1, times=number)
    return MultiLabelScores(table, exact, example)


def _times(counts: Counts, number: int) -> Counts:
    return Counts(counts.tp * number, counts.fp * number, counts.fn * number)


def _products(counts: Counts, number: int) -> Spread:
    tp, fp, fn = counts.tp, counts.fp, counts.fn
    return Spread(0, *(number * value for value in (tp * tp, fp * fp, fn * fn, tp * fp, tp * fn, fp * fn)))
