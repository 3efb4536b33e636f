"""Counts of right and wrong, that add up: over documents, over shards, over machines.

One convention holds everywhere in this room: **0/0 is 0**, and `defined` tells it from an earned zero. So a corpus without any gold
span, scored against no prediction, has F1 0 with `empty` true; conlleval and seqeval say 0 there as well. Gold against itself is 1
as soon as there is one span.

>>> counts = Counts(tp=3, fp=1, fn=0) + Counts(tp=0, fp=0, fn=2)
>>> round(counts.precision, 2), round(counts.recall, 2), round(counts.f1, 2)
(0.75, 0.6, 0.67)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Value = TypeVar("Value", bound="Addable")


class Addable(Protocol):
    """Anything that adds up with its own kind."""

    def __add__(self: Value, other: Value, /) -> Value: ...


def merged(left: Mapping[str, Value], right: Mapping[str, Value]) -> dict[str, Value]:
    """Both mappings; values under the same key are added."""
    both = dict(left)
    for key, value in right.items():
        both[key] = both[key] + value if key in both else value
    return both


def ratio(part: float, whole: float) -> float:
    """`part / whole`, and 0 where `whole` is 0."""
    return part / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives, false positives, false negatives."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)

    @property
    def gold(self) -> int:
        return self.tp + self.fn

    @property
    def predicted(self) -> int:
        return self.tp + self.fp

    @property
    def empty(self) -> bool:
        """Nothing was there to find, and nothing was found: every figure is 0/0."""
        return not (self.tp or self.fp or self.fn)

    @property
    def precision(self) -> float:
        return ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        return ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        return ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def defined(self) -> dict[str, bool]:
        """Which of the three figures is not 0/0."""
        return {"precision": self.predicted > 0, "recall": self.gold > 0, "f1": not self.empty}


@dataclass(frozen=True, slots=True)
class Spread:
    """Sums of squares and products of per-document counts: all that a standard error needs, and it adds up.

    The errors are those of a ratio over documents drawn at random (linearised, the limit of the bootstrap over documents), so they
    need no resampling and no list of documents. nan below two documents. Where documents are sentences, they are errors over sentences.
    """

    documents: int = 0
    tp_tp: int = 0
    fp_fp: int = 0
    fn_fn: int = 0
    tp_fp: int = 0
    tp_fn: int = 0
    fp_fn: int = 0

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            self.documents + other.documents,
            self.tp_tp + other.tp_tp,
            self.fp_fp + other.fp_fp,
            self.fn_fn + other.fn_fn,
            self.tp_fp + other.tp_fp,
            self.tp_fn + other.tp_fn,
            self.fp_fn + other.fp_fn,
        )

    def errors(self, counts: Counts) -> Average:
        """The standard errors of precision, recall and F1 of `counts`."""
        misses = self.fp_fp + self.fn_fn + 2 * self.fp_fn
        return Average(
            self._error(counts.tp, counts.fp, 1, self.fp_fp, self.tp_fp),
            self._error(counts.tp, counts.fn, 1, self.fn_fn, self.tp_fn),
            self._error(counts.tp, counts.fp + counts.fn, 2, misses, self.tp_fp + self.tp_fn),
        )

    def _error(self, right: int, wrong: int, weight: int, wrong_wrong: int, right_wrong: int) -> float:
        """Of `weight * right / (weight * right + wrong)`."""
        whole = weight * right + wrong
        if self.documents < 2 or not whole:
            return math.nan
        by_right, by_wrong = weight * wrong / whole**2, -weight * right / whole**2
        squares = by_right**2 * self.tp_tp + by_wrong**2 * wrong_wrong + 2 * by_right * by_wrong * right_wrong
        return math.sqrt(max(squares, 0.0) * self.documents / (self.documents - 1))


@dataclass(frozen=True, slots=True)
class Average:
    """Precision, recall and F1 that are not computed from counts: a macro average, or three errors."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Table:
    """Counts by type, under one matching.

    `spreads` leave `documents` at 0: a document without a type still counts for it, so the number is that of `spread`.
    `macro` is the plain mean over the types seen on either side: a type that only the predictions know counts with F1 0, as in seqeval.
    """

    types: Mapping[str, Counts] = field(default_factory=dict)
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    spread: Spread = field(default_factory=Spread)

    def __add__(self, other: Table) -> Table:
        return Table(merged(self.types, other.types), merged(self.spreads, other.spreads), self.spread + other.spread)

    @property
    def micro(self) -> Counts:
        return sum(self.types.values(), Counts())

    @property
    def macro(self) -> Average:
        seen = [counts for counts in self.types.values() if not counts.empty]
        return Average(
            ratio(math.fsum(counts.precision for counts in seen), len(seen)),
            ratio(math.fsum(counts.recall for counts in seen), len(seen)),
            ratio(math.fsum(counts.f1 for counts in seen), len(seen)),
        )

    @property
    def precision(self) -> float:
        return self.micro.precision

    @property
    def recall(self) -> float:
        return self.micro.recall

    @property
    def f1(self) -> float:
        return self.micro.f1

    @property
    def errors(self) -> Average:
        """Standard errors of the micro figures, over documents."""
        return self.spread.errors(self.micro)

    def errors_of(self, type: str) -> Average:
        """Standard errors of one type's figures, over all documents (those without the type count as zeros)."""
        spread = self.spreads.get(type, Spread())
        return Spread(**{**_fields(spread), "documents": self.spread.documents}).errors(self.types.get(type, Counts()))

    def to_json(self) -> dict[str, Any]:
        """Counts and figures of each type, micro and macro, as plain JSON."""
        rows = {name: _row(self.types[name], self.errors_of(name)) for name in sorted(self.types)}
        macro = self.macro
        return {
            "types": rows,
            "micro": _row(self.micro, self.errors),
            "macro": {"precision": macro.precision, "recall": macro.recall, "f1": macro.f1},
        }


class CountTally:
    """Makes a table while documents go by: nine numbers a type, and nine for all."""

    def __init__(self) -> None:
        self.types: dict[str, list[int]] = {}
        self.all = [0] * 9

    def add(self, rows: Mapping[str, Sequence[int]]) -> None:
        """Take one document in: tp, fp, fn of each of its types."""
        if not rows:
            return
        all_tp = all_fp = all_fn = 0
        for name, (tp, fp, fn) in rows.items():
            sums = self.types.get(name)
            if sums is None:
                sums = self.types[name] = [0] * 9
            _add_products(sums, tp, fp, fn)
            all_tp, all_fp, all_fn = all_tp + tp, all_fp + fp, all_fn + fn
        _add_products(self.all, all_tp, all_fp, all_fn)

    def table(self, documents: int) -> Table:
        """The table for this number of documents, including those without any type."""
        return Table(
            {name: Counts(*self.types[name][:3]) for name in sorted(self.types)},
            {name: Spread(0, *self.types[name][3:]) for name in sorted(self.types)},
            Spread(documents, *self.all[3:]),
        )


def _add_products(sums: list[int], tp: int, fp: int, fn: int) -> None:
    """Zeros are common and skipped: this runs for every type of every document."""
    if tp:
        sums[0] += tp
        sums[3] += tp * tp
    if fp:
        sums[1] += fp
        sums[4] += fp * fp
        sums[6] += tp * fp
    if fn:
        sums[2] += fn
        sums[5] += fn * fn
        sums[7] += tp * fn
        sums[8] += fp * fn


def _fields(spread: Spread) -> dict[str, int]:
    return {name: getattr(spread, name) for name in Spread.__slots__}


def _row(counts: Counts, errors: Average) -> dict[str, Any]:
    return {
        "tp": counts.tp,
        "fp": counts.fp,
        "fn": counts.fn,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "f1_error": None if math.isnan(errors.f1) else errors.f1,
    }
