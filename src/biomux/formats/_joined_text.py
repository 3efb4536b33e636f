"""Join several parts (sentences, lines, contexts) to one text, with the range of each.

>>> join(["One.", "Two."], " ")
('One. Two.', [(0, 4), (5, 9)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.formats._format import Loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from biomux.document import Document, Range


def join(parts: Iterable[str], between: str) -> tuple[str, list[Range]]:
    """The joined parts, and the range of each; the range of an empty part is empty."""
    texts = list(parts)
    ranges: list[Range] = []
    start = 0
    for part in texts:
        ranges.append((start, start + len(part)))
        start += len(part) + len(between)
    return between.join(texts), ranges


def report_label_parts(document: Document, on_loss: Callable[[Loss], None], *, value: bool = False) -> None:
    """Report to `on_loss` the scores, heads and (unless `value`) numbers of labels, which task tables cannot hold."""
    scored = sum(
        label.score is not None or label.head is not None or (label.value is not None and not value)
        for label in document.labels
    )
    if scored:
        on_loss(Loss(document.id, "labels", scored, "scores, heads or numbers of labels"))
