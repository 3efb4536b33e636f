"""Tasks other than tagging through the same path: readings → packed batches → session → decoded annotations → documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biomux.engine import parallel
from biomux.engine.packing import pack_readings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.engine.packing import Batch, Specials
    from biomux.engine.session import Session
    from biomux.tasks.examples import ModelInput, Unit
    from biomux.tasks.task import Asking


def ask(
    documents: Sequence[Document],
    task: Asking,
    *,
    session: Session,
    tokenizer: Tokenizer,
    specials: Specials,
    limit: int,
    budget: int,
    temperature: float = 1.0,
) -> Iterator[Document]:
    """The documents with what one task's head says about them."""
    readings = [task.readings(document, tokenizer, limit=limit) for document in documents]
    flat = [reading for group in readings for reading in group]
    logits: dict[int, NDArray[np.float32]] = {}
    for batch, answered in parallel.run(session, pack_readings(flat, specials=specials, budget=budget)):
        rows = answered[task.name] / np.float32(temperature)
        members = batch.windows.tolist()
        logits.update(zip(members, split(rows, task.unit, batch, [flat[one] for one in members]), strict=True))
    at = 0
    for document, group in zip(documents, readings, strict=True):
        yield task.decode(document, group, [logits[index] for index in range(at, at + len(group))])
        at += len(group)


def split(
    rows: NDArray[np.float32], unit: Unit, batch: Batch, readings: Sequence[ModelInput]
) -> list[NDArray[np.float32]]:
    """A batch's logits, reading by reading."""
    if unit == "answer":
        return list(rows)
    sizes = {
        "word": batch.words,
        "token": batch.mask.sum(axis=1) - 2,
        "window": np.ones(len(readings), dtype=np.int64),
        "pair": np.array([0 if one.pairs is None else len(one.pairs) for one in readings], dtype=np.int64),
    }[unit]
    return np.split(rows, np.cumsum(sizes)[:-1])
