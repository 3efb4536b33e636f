"""One text out of several parts (sentences, lines, contexts), with the range of each.

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
    """The parts joined, and where each stands; the range of an empty part is empty."""
    kept = list(parts)
    ranges: list[Range] = []
    at = 0
    for part in kept:
        ranges.append((at, at + len(part)))
        at += len(part) + len(between)
    return between.join(kept), ranges


def report_label_parts(document: Document, on_loss: Callable[[Loss], None], *, value: bool = False) -> None:
    """Tells `on_loss` the scores, heads and (unless `value`) numbers of labels, which task tables have no place for."""
    scored = sum(
        label.score is not None or label.head is not None or (label.value is not None and not value)
        for label in document.labels
    )
    if scored:
        on_loss(Loss(document.id, "labels", scored, "scores, heads or numbers of labels"))
