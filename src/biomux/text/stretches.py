"""Stretches: what of a text goes through tokenizer and session at once, so that memory does not grow with a document.

A stretch is a sentence. What is too long for one (a file on a single line) is read in stretches that overlap; of each the entities are kept that begin in
its core, far from where it was cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from biomux.document import Range, Span

LONGEST = 20_000
"""Characters of a sentence that are read as one stretch."""

MARGIN = 1_000
"""Characters that are read on either side of a core: more than any entity has, and than an encoder's window sees."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters `start` to `end` are read; entities that begin in `core_start` to `core_end` are kept."""

    start: int
    end: int
    core_start: int
    core_end: int

    @property
    def whole(self) -> bool:
        """Whether it is all of a sentence."""
        return self.start == self.core_start and self.end == self.core_end


def of(sentences: Iterable[Range], *, longest: int = LONGEST, margin: int = MARGIN) -> Iterator[Stretch]:
    """The stretches of sentences, in order; their cores follow each other without gap or overlap.

    >>> [(one.start, one.end, one.core_start, one.core_end) for one in of([(0, 5), (6, 31)], longest=10, margin=2)]
    [(0, 5, 0, 5), (6, 18, 6, 16), (14, 28, 16, 26), (24, 31, 26, 31)]
    """
    for start, end in sentences:
        if end - start <= longest:
            yield Stretch(start, end, start, end)
            continue
        for core in range(start, end, longest):
            stop = min(core + longest, end)
            yield Stretch(max(start, core - margin), min(end, stop + margin), core, stop)


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """The entities without those that begin in one of the same head before them: a stretch may find what reaches into the core of the next."""
    reach: dict[str | None, int] = {}
    kept = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if span.start >= reach.get(span.head, 0):
            kept.append(span)
            reach[span.head] = span.end
    return kept
