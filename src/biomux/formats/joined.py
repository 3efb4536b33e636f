"""One text out of several parts (sentences, lines, contexts), with the range of each; and the parts back out of a document.

>>> join(["One.", "Two."], " ")
('One. Two.', [(0, 4), (5, 9)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.formats.format import Loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from biomux.document import Document, Label, Range


def join(parts: Iterable[str], between: str) -> tuple[str, list[Range]]:
    """The parts joined, and where each stands; the range of an empty part is empty."""
    kept = list(parts)
    ranges: list[Range] = []
    at = 0
    for part in kept:
        ranges.append((at, at + len(part)))
        at += len(part) + len(between)
    return between.join(kept), ranges


def sentences_of(document: Document, between: str, on_loss: Callable[[Loss], None]) -> list[Range]:
    """The ranges of a document's sentences, if they give back its text when joined by `between`; else the whole text as one.

    No character is lost or moved: what is told to `on_loss` in the second case are the sentences.
    """
    return parts_of(document, document.sentences or (), "sentences", between, on_loss)


def parts_of(
    document: Document, ranges: Sequence[Range], feature: str, between: str, on_loss: Callable[[Loss], None]
) -> list[Range]:
    """As `sentences_of`, for ranges of any kind; an empty text has no part unless a range says so."""
    if ranges and join((document.text[start:end] for start, end in ranges), between)[0] == document.text:
        return list(ranges)
    if ranges:
        on_loss(Loss(document.id, feature, len(ranges), f"they do not fill the text with {between!r} between them"))
    return [(0, len(document.text))] if document.text else []


def labels_by_range(
    document: Document, ranges: Sequence[Range], on_loss: Callable[[Loss], None]
) -> dict[Range, list[Label]]:
    """The labels that are anchored to exactly one of the ranges; the others are told as lost, and so are scores and heads."""
    found: dict[Range, list[Label]] = {span: [] for span in ranges}
    lost = 0
    for label in document.labels:
        here = None if label.start is None or label.end is None else found.get((label.start, label.end))
        if here is None:
            lost += 1
        else:
            here.append(label)
    if lost:
        on_loss(Loss(document.id, "labels", lost, "labels that are not of a sentence"))
    report_label_parts(document, on_loss)
    return found


def report_label_parts(document: Document, on_loss: Callable[[Loss], None], *, value: bool = False) -> None:
    """Tells `on_loss` the scores, heads and (unless `value`) numbers of labels, which task tables have no place for."""
    scored = sum(
        label.score is not None or label.head is not None or (label.value is not None and not value)
        for label in document.labels
    )
    if scored:
        on_loss(Loss(document.id, "labels", scored, "scores, heads or numbers of labels"))
