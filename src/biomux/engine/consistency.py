"""The same name, the same answer: a vote over the occurrences of a name within a document.

A head reads a sentence at a time, and may find a name in one and miss it in the next. For each type the scores of a name's occurrences are averaged, 0 where it was not
found: from VOTE on every occurrence is an entity, below none is. What is added has the average as its score and `"from": "consistency"`; thresholds apply
to it as to all others. An occurrence is the same characters as whole words (`biomux.text.abbreviations.occurrences`); where an entity of the same type covers it and more,
it has no vote and stays as it is.

>>> from biomux.document import Span
>>> text = "TP53 is mutated. We sequenced TP53. In mice, TP53 is called Trp53."
>>> said = [Span(0, 4, "gene", score=0.9, head="a"), Span(30, 34, "gene", score=0.7, head="a")]
>>> [(span.start, span.end, span.score) for span in agreed(text, [(0, len(text))], said, lambda _: 0.5)]
[(0, 4, 0.9), (30, 34, 0.7), (45, 49, 0.5333)]
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING

from biomux.document import Span
from biomux.engine.overlaps import DIGITS, in_order
from biomux.text.abbreviations import occurrences, word_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from biomux.document import Range
    from biomux.engine.type_merging import Source

VOTE = 0.3
"""The average score from which on a name is an entity wherever it stands: chosen on development data, where 0.2 to 0.35 differ by 0.2 points of F1 on average."""


def agreed(
    text: str,
    read: Sequence[Range],
    spans: Iterable[Span],
    threshold: Callable[[Source], float],
    *,
    by_head: bool = False,
) -> list[Span]:
    """The entities that score at least their type's `threshold` after the vote. Nothing is added outside of what was `read`.

    With `by_head` each head votes for itself; else a type is one layer, whatever heads are behind it.
    """
    layers: dict[Source, list[Span]] = {}
    for span in spans:
        layers.setdefault((span.head or "" if by_head else "", span.type), []).append(span)
    starts = word_starts(text) if layers else {}
    return in_order(
        span for source, layer in layers.items() for span in _agreed(text, read, layer, threshold(source), starts)
    )


def _agreed(
    text: str, read: Sequence[Range], spans: Sequence[Span], threshold: float, starts: Mapping[str, Sequence[int]]
) -> list[Span]:
    """The vote over entities of one type, which do not overlap. `starts` are those of the text's words."""
    by_place = {(span.start, span.end): span for span in spans}
    taken = sorted(place for place, span in by_place.items() if (span.score or 0.0) >= threshold)
    places: dict[str, list[Range]] = {}
    for start, end in occurrences(text, {text[slice(*place)] for place in taken}, starts):
        places.setdefault(text[start:end], []).append((start, end))
    for name in sorted([name for name in places if len(places[name]) > 1], key=lambda name: (-len(name), name)):
        inside = [place for place in places[name] if _within(read, *place)]
        voting = [place for place in inside if place in by_place or not _overlaps(taken, place)]
        scores = [by_place[place].score or 0.0 if place in by_place else 0.0 for place in voting]
        if len(voting) < 2 or not any(place in by_place for place in voting):
            continue
        mean = round(sum(scores) / len(scores), DIGITS)
        if mean < VOTE:
            for place in voting:
                by_place.pop(place, None)
                at = bisect_left(taken, place)
                if taken[at : at + 1] == [place]:
                    del taken[at]
            continue
        surest = max(
            (by_place[place] for place in voting if place in by_place),
            key=lambda span: (span.score or 0.0, -span.start),
        )
        for place in voting:
            if mean >= threshold and not _overlaps(taken, place):
                by_place[place] = Span(*place, surest.type, mean, surest.head, extra={"from": "consistency"})
                insort(taken, place)
    return [by_place[place] for place in taken]


def _overlaps(taken: Sequence[Range], place: Range) -> bool:
    """Whether a place overlaps one of those taken, which do not overlap each other."""
    at = bisect_left(taken, place)
    return (at > 0 and taken[at - 1][1] > place[0]) or (at < len(taken) and taken[at][0] < place[1])


def _within(read: Sequence[Range], start: int, end: int) -> bool:
    """Whether a place lies within one of the ranges that were read."""
    at = bisect_right(read, start, key=lambda place: place[0]) - 1
    return at >= 0 and end <= read[at][1]
