"""Stretches: the parts in which a text goes through tokenizer and session, so that memory does not grow with the document.

A stretch is a sentence. A sentence that is too long (a file on a single line) is read in overlapping stretches; of each, only the entities are kept that
begin in its core, far from where it was cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from biomux.document import Range, Span

LONGEST = 20_000
"""Maximum characters of a sentence that is read as one stretch."""

MARGIN = 1_000
"""Characters that are read on either side of a core: longer than any entity and than an encoder's window."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters `start` to `end` are read; entities that begin in `core_start` to `core_end` are kept."""

    start: int
    end: int
    core_start: int
    core_end: int

    @property
    def whole(self) -> bool:
        """Whether it is a whole sentence."""
        return self.start == self.core_start and self.end == self.core_end


def of(sentences: Iterable[Range], *, longest: int = LONGEST, margin: int = MARGIN) -> Iterator[Stretch]:
    """The stretches of sentences, in order; their cores follow each other without gap or overlap.

    >>> [(part.start, part.end, part.core_start, part.core_end) for part in of([(0, 5), (6, 31)], longest=10, margin=2)]
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
    """Drop entities that begin inside an earlier one of the same head: an entity of one stretch may reach into the core of the next."""
    reach: dict[str | None, int] = {}
    chosen = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if span.start >= reach.get(span.head, 0):
            chosen.append(span)
            reach[span.head] = span.end
    return chosen
