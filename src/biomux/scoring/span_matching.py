"""Which predicted span answers which gold span.

The rule, once for all matchings: **equal spans pair first and never part**; what is left is paired so that as many as possible pair, one
to one, walking gold from left to right and preferring the largest overlap. So a perfect find is never used up by a neighbour,
more lenient matchings never score lower than stricter ones, and exchanging gold and predictions exchanges precision and recall.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from biomux.document import Range, Span

Key = tuple[int, int, str, tuple["Range", ...]]
"""Start, end, type, fragments (empty where there is only one): what makes two spans the same."""


def keys(spans: Iterable[Span], types: Collection[str] | None = None) -> set[Key]:
    """The distinct spans. Fragments that touch are one: they cover the same characters."""
    return {
        (span.start, span.end, span.type, joined(span.fragments) if span.fragments else ())
        for span in spans
        if types is None or span.type in types
    }


def joined(fragments: Iterable[Range]) -> tuple[Range, ...]:
    """Fragments with touching ones joined; empty if only one remains.

    >>> joined(((0, 4), (4, 6))), joined(((0, 4), (5, 6)))
    ((), ((0, 4), (5, 6)))
    """
    whole: list[Range] = []
    for start, end in fragments:
        if whole and whole[-1][1] == start:
            whole[-1] = (whole[-1][0], end)
        else:
            whole.append((start, end))
    return tuple(whole) if len(whole) > 1 else ()


def shared(left: Key, right: Key) -> int:
    """How many characters two spans have in common; a gap between fragments does not count."""
    if not left[3] and not right[3]:
        return max(0, min(left[1], right[1]) - max(left[0], right[0]))
    return sum(
        max(0, min(end, other_end) - max(start, other_start))
        for start, end in left[3] or ((left[0], left[1]),)
        for other_start, other_end in right[3] or ((right[0], right[1]),)
    )


def overlapping(gold: Sequence[Key], predicted: Sequence[Key]) -> list[list[int]]:
    """For each gold span the places of predicted spans that share a character, largest overlap first. `predicted` is sorted."""
    starts = [key[0] for key in predicted]
    longest = max((key[1] - key[0] for key in predicted), default=0)
    edges: list[list[int]] = []
    for key in gold:
        near = range(bisect_left(starts, key[0] - longest), bisect_left(starts, key[1]))
        common = [(-size, place) for place in near if (size := shared(key, predicted[place]))]
        edges.append([place for _, place in sorted(common)])
    return edges


def largest_matching(edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """Left place → right place, as many as can be, one to one; earlier left places and earlier edges are preferred.

    >>> largest_matching([[0, 1], [0]])
    {0: 1, 1: 0}
    """
    right_of: dict[int, int] = {}
    left_of: dict[int, int] = {}
    for root in range(len(edges)):
        came_from: dict[int, int] = {}
        waiting = deque([root])
        end = None
        while waiting and end is None:
            here = waiting.popleft()
            for place in edges[here]:
                if place in came_from:
                    continue
                came_from[place] = here
                if place not in left_of:
                    end = place
                    break
                waiting.append(left_of[place])
        while end is not None:
            here = came_from[end]
            previous = right_of.get(here)
            right_of[here], left_of[end] = end, here
            end = None if here == root else previous
    return dict(sorted(right_of.items()))


def same_place(gold: Sequence[Key], predicted: Sequence[Key]) -> dict[int, int]:
    """Pairs of equal offsets, whatever the types; both sides are sorted."""
    free: dict[tuple[int, int, tuple[Range, ...]], deque[int]] = {}
    for place, key in enumerate(predicted):
        free.setdefault((key[0], key[1], key[3]), deque()).append(place)
    pairs = {}
    for place, key in enumerate(gold):
        if waiting := free.get((key[0], key[1], key[3])):
            pairs[place] = waiting.popleft()
    return pairs


def same_type(gold: Sequence[Key], predicted: Sequence[Key], edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """The most pairs that overlap and have the same type."""
    return largest_matching(
        [[place for place in near if predicted[place][2] == key[2]] for key, near in zip(gold, edges, strict=True)]
    )


def staged(gold: Sequence[Key], predicted: Sequence[Key], edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """One alignment for SemEval's figures: equal offsets first, then overlaps of the same type, then any overlap."""
    pairs = same_place(gold, predicted)
    for same in (True, False):
        taken = set(pairs.values())
        pairs |= largest_matching(
            [
                []
                if place in pairs
                else [
                    candidate
                    for candidate in near
                    if candidate not in taken and (not same or predicted[candidate][2] == key[2])
                ]
                for place, (key, near) in enumerate(zip(gold, edges, strict=True))
            ]
        )
    return pairs
