"""Windows: how a text that is longer than an encoder's limit is read.

A sentence is one window. A sentence longer than the limit is read in several windows that overlap by half; the answer for each token
is taken from the window in which it is farthest from an edge, so that the result depends little on where an entity is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens `start` to `end` are read together; the answer is kept for `core_start` to `core_end`."""

    start: int
    end: int
    core_start: int
    core_end: int


def windows(size: int, *, limit: int) -> list[Window]:
    """Windows over `size` tokens, none longer than `limit`; their cores follow each other without gap or overlap.

    >>> windows(5, limit=8)
    [Window(start=0, end=5, core_start=0, core_end=5)]
    >>> [(window.start, window.end, window.core_start, window.core_end) for window in windows(10, limit=4)]
    [(0, 4, 0, 3), (2, 6, 3, 5), (4, 8, 5, 7), (6, 10, 7, 10)]
    """
    if size <= limit:
        return [Window(0, size, 0, size)]
    step = max(1, limit // 2)
    starts = [*range(0, size - limit, step), size - limit]
    edges = [0, *((low + limit + high) // 2 for low, high in pairwise(starts)), size]
    return [Window(start, start + limit, edges[index], edges[index + 1]) for index, start in enumerate(starts)]
