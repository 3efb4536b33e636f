"""Examples: what a model learns from. An example moves only the heads that it is annotated for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.text import pieces as text_pieces
from biomux.text import sentences
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Span
    from biomux.tasks.tagging import Tagging
    from biomux.text.pieces import Pieces


@dataclass(frozen=True, slots=True)
class Example:
    """A window of pieces with the labels of its words for each head that knows about it."""

    task: str
    pieces: Pieces
    labels: dict[str, NDArray[np.int32]]

    @property
    def empty(self) -> bool:
        """Whether no head has anything but its first label here."""
        return not any(labels.any() for labels in self.labels.values())


@dataclass
class Made:
    """The examples of one task, and what was counted on the way."""

    examples: list[Example]
    counts: Counter[str]


def tagging_examples(
    documents: Iterable[Document], heads: Sequence[Tagging], tokenizer: Tokenizer, *, task: str, limit: int
) -> Made:
    """An example for each sentence, or for each window of one that is longer than the limit.

    In a long sentence each word is learned once: in the window whose core it is in; elsewhere it is context.
    """
    made = Made([], Counter())
    for document in documents:
        ranges = sentences.of(document)
        made.counts["documents"] += 1
        made.counts["sentences"] += len(ranges)
        made.counts["mentions"] += len(document.spans)
        made.counts["mentions cut by a sentence end"] += _cut(document, ranges)
        for found, (start, end) in zip(text_pieces.split(tokenizer, document.text, ranges), ranges, strict=True):
            inside = [span for span in document.spans if span.start < end and start < span.end]
            if len(found):
                _add(made, found, inside, heads, task=task, limit=limit)
    return made


def _add(made: Made, pieces: Pieces, spans: Sequence[Span], heads: Sequence[Tagging], *, task: str, limit: int) -> None:
    labels = {}
    for head in heads:
        encoded = head.encode(spans, pieces)
        labels[head.name] = encoded.labels
        for reason, count in encoded.dropped.items():
            made.counts[f"mentions {reason}"] += count
    for window in windows(len(pieces), limit=limit):
        if window.end - window.start == len(pieces):
            made.examples.append(Example(task, pieces, labels))
            continue
        made.counts["windows of long sentences"] += 1
        chosen = slice(*np.searchsorted(pieces.first, (window.start, window.end)))
        core = (pieces.first[chosen] >= window.core_start) & (pieces.first[chosen] < window.core_end)
        own = {name: np.where(core, values[chosen], -100).astype(np.int32) for name, values in labels.items()}
        made.examples.append(Example(task, pieces.window(window.start, window.end), own))


def _cut(document: Document, ranges: Sequence[tuple[int, int]]) -> int:
    if not document.spans:
        return 0
    starts = np.array([start for start, _ in ranges])
    ends = np.array([end for _, end in ranges])
    cut = 0
    for span in document.spans:
        at = int(np.searchsorted(starts, span.start, side="right")) - 1
        cut += bool(at < 0 or span.end > ends[at])
    return cut
