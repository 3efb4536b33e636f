"""Gold and predicted documents, paired by id."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from biomux.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from biomux.document import Document


def align(gold: Iterable[Document], predicted: Iterable[Document]) -> Iterator[tuple[Document, Document]]:
    """Pair documents by id. In the same order they stream; out of order, those that wait for their partner are held.

    Both sides must have the same ids, each once, with the same texts.
    """
    waiting: tuple[dict[str, Document], dict[str, Document]] = ({}, {})
    paired = array("q")
    sides = (iter(gold), iter(predicted))
    while True:
        ended = 0
        for side, name in ((0, "gold"), (1, "predictions")):
            document = next(sides[side], None)
            if document is None:
                ended += 1
                continue
            if document.id in waiting[side]:
                raise _twice(document.id, name)
            partner = waiting[1 - side].pop(document.id, None)
            if partner is None:
                waiting[side][document.id] = document
            else:
                paired.append(hash(document.id))
                yield _same_text(*((document, partner) if side == 0 else (partner, document)))
        if ended == 2:
            break
    _check_all_paired(waiting, paired)


def _check_all_paired(waiting: tuple[Mapping[str, Document], Mapping[str, Document]], paired: array[int]) -> None:
    """Eight bytes an id keep memory low; an id that came twice on both sides shows as two equal hashes, found here at the end."""
    hashes = set(paired) if waiting[0] or waiting[1] else set()
    for side, name, absent_from in ((0, "gold", "predictions"), (1, "predictions", "gold")):
        for name_ in waiting[side]:
            if hash(name_) in hashes:
                raise _twice(name_, name)
        if waiting[side]:
            others = f", like {len(waiting[side]) - 1:,} more" if len(waiting[side]) > 1 else ""
            raise ScoreError(
                "BX701",
                f"the document is in the {name} but not in the {absent_from}{others}",
                where=f"document {next(iter(waiting[side]))!r}",
                hint="score the same documents on both sides; a document without spans must still be there",
            )
    ordered = np.sort(np.asarray(paired))
    if (ordered[1:] == ordered[:-1]).any():
        raise ScoreError(
            "BX702",
            "gold and predictions both have several documents with the same id",
            hint="give every document its own id",
        )


def _twice(id: str, side: str) -> ScoreError:
    return ScoreError(
        "BX702",
        f"two documents of the {side} have this id",
        where=f"document {id!r}",
        hint="give every document its own id",
    )


def _same_text(gold: Document, predicted: Document) -> tuple[Document, Document]:
    if gold.text != predicted.text:
        place = next(
            (i for i, (left, right) in enumerate(zip(gold.text, predicted.text, strict=False)) if left != right),
            min(len(gold.text), len(predicted.text)),
        )
        raise ScoreError(
            "BX703",
            f"the texts of gold and prediction differ from character {place} on: "
            f"{gold.text[place : place + 20]!r} against {predicted.text[place : place + 20]!r}",
            where=f"document {gold.id!r}",
            hint="predict on the text of the gold documents, unchanged",
        )
    return gold, predicted
