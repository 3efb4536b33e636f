"""SemEval-2013's way (task 9.1) to score spans: correct, incorrect, partial, missed, spurious, read in four ways.

Spans are aligned once, one to one: equal spans first, then equal offsets, then overlaps of the same type, then any overlap. Six
numbers a type hold everything; the four figures are sums of them.

| | equal | same place, other type | overlap, same type | overlap, other type |
|---|---|---|---|---|
| strict | correct | incorrect | incorrect | incorrect |
| exact | correct | correct | incorrect | incorrect |
| partial | correct | correct | partial | partial |
| type | correct | incorrect | correct | incorrect |

Precision is (correct + partial / 2) / (correct + incorrect + partial + spurious), recall the same with missed for spurious. Pairs and
misses count for their gold type, spurious ones for their own. 0/0 is 0, as everywhere.

>>> Outcomes(equal=1, overlap_same=1).figure("partial").f1
0.75
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from biomux.errors import UsageError
from biomux.scoring.counts import ratio

FIGURES = ("strict", "exact", "partial", "type")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How often gold and predicted spans met in each way."""

    equal: int = 0
    place: int = 0
    overlap_same: int = 0
    overlap_other: int = 0
    missed: int = 0
    spurious: int = 0

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(
            self.equal + other.equal,
            self.place + other.place,
            self.overlap_same + other.overlap_same,
            self.overlap_other + other.overlap_other,
            self.missed + other.missed,
            self.spurious + other.spurious,
        )

    def figure(self, name: str) -> Figure:
        """One of the four readings."""
        overlaps = self.overlap_same + self.overlap_other
        readings = {
            "strict": (self.equal, self.place + overlaps, 0),
            "exact": (self.equal + self.place, overlaps, 0),
            "partial": (self.equal + self.place, 0, overlaps),
            "type": (self.equal + self.overlap_same, self.place + self.overlap_other, 0),
        }
        if name not in readings:
            raise UsageError("BX001", f"unknown SemEval figure {name!r}", hint=f"choose from {', '.join(FIGURES)}")
        return Figure(*readings[name], self.missed, self.spurious)


@dataclass(frozen=True, slots=True)
class Figure:
    """One reading of the outcomes."""

    correct: int
    incorrect: int
    partial: int
    missed: int
    spurious: int

    @property
    def precision(self) -> float:
        return ratio(self.correct + self.partial / 2, self.correct + self.incorrect + self.partial + self.spurious)

    @property
    def recall(self) -> float:
        return ratio(self.correct + self.partial / 2, self.correct + self.incorrect + self.partial + self.missed)

    @property
    def f1(self) -> float:
        return ratio(2 * self.precision * self.recall, self.precision + self.recall)

    def to_json(self) -> dict[str, float]:
        """The five counts and three figures."""
        return {**asdict(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}
