"""Which of two overlapping entities stays.

Within a plain type `flat` keeps the surer one. Between types that is not enough, since their scores do not mean the same: `one_layer` goes by the types'
standings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from biomux.document import Span

Curve = tuple[tuple[float, float], ...]
"""Thresholds, rising, and the precision that development data had from each on."""

DIGITS = 4
"""Digits of a score. Fewer than the arithmetic has, so that files are small and the last bits of a sum are not shown as knowledge."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides between mentions of different types that overlap: a type's level, its calibration, its place in the table of types."""

    level: int = 0
    curve: Curve = ()
    place: int = 0


def flat(spans: Iterable[Span]) -> list[Span]:
    """One layer without overlaps: the surest mention first, then the longer, the leftmost, the first by type and head's name.

    A mention that overlaps one already taken is left out.

    >>> from biomux.document import Span
    >>> [(span.start, span.end) for span in flat([Span(0, 9, "a", score=0.5), Span(4, 6, "b", score=0.8), Span(9, 12, "a")])]
    [(4, 6), (9, 12)]
    """
    return _first_come(sorted(spans, key=rank))


def one_layer(spans: Iterable[Span], standings: Callable[[Span], Standing]) -> list[Span]:
    """One layer over several types, without overlaps: the lowest level first, then the most probable to be right, then the longer, the leftmost, the
    type that stands first in the table.

    >>> from biomux.document import Span
    >>> types = {"cancer": Standing(curve=((0.1, 0.8), (0.6, 0.95))), "anatomy": Standing(level=1, curve=((0.1, 0.8), (0.9, 0.95)))}
    >>> said = [Span(0, 13, "cancer", score=0.7), Span(0, 13, "anatomy", score=0.9), Span(20, 25, "anatomy", score=0.2)]
    >>> [(span.start, span.type) for span in one_layer(said, lambda span: types[span.type])]
    [(0, 'cancer'), (20, 'anatomy')]
    """

    def standing_rank(span: Span) -> tuple[int, float, int, int, int, str, str]:
        standing = standings(span)
        chance = 1.0 if span.score is None else probability(span.score, standing.curve)
        place = standing.place, span.type, span.head or ""
        return (standing.level, -chance, span.start - span.end, span.start, *place)

    return _first_come(sorted(spans, key=standing_rank))


def probability(score: float, curve: Curve) -> float:
    """How precise a type was on development data from a score on; between the points of its curve, and below the first, by straight lines.

    Of a type without a curve half the score: it was rarely found, or never right.

    >>> [round(probability(score, ((0.2, 0.6), (0.6, 0.8))), 2) for score in (0.1, 0.2, 0.4, 0.9)]
    [0.3, 0.6, 0.7, 0.8]
    """
    if not curve:
        return round(score / 2, DIGITS)
    place = bisect_right(curve, (score, 1.0))
    if place == len(curve):
        return curve[-1][1]
    (below, low), (above, high) = curve[place - 1] if place else (0.0, 0.0), curve[place]
    return round(low + (high - low) * (score - below) / (above - below), DIGITS)


def in_order(spans: Iterable[Span]) -> list[Span]:
    """The mentions as a document lists them: by start, end, type and head."""
    return sorted(spans, key=lambda span: (span.start, span.end, span.type, span.head or ""))


def _first_come(spans: Iterable[Span]) -> list[Span]:
    """The mentions that overlap none before them, in order."""
    taken: list[tuple[int, int]] = []
    chosen: list[Span] = []
    for span in spans:
        place = bisect_left(taken, (span.start, span.end))
        before = place > 0 and taken[place - 1][1] > span.start
        after = place < len(taken) and taken[place][0] < span.end
        if not (before or after):
            insort(taken, (span.start, span.end))
            chosen.append(span)
    return in_order(chosen)


def rank(span: Span) -> tuple[float, int, int, str, str]:
    """The surest first; one without a score is as sure as can be."""
    return (-1.0 if span.score is None else -span.score, span.start - span.end, span.start, span.type, span.head or "")
