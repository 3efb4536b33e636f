"""Per-document counts: one row per document, written next to predictions and read back to compare systems.

A row is `{"id": "1", "counts": {"strict": {"gene": [3, 1, 0]}}}`: tp, fp, fn by matching and type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """`counts[document, type]` is (tp, fp, fn) under one matching."""

    ids: tuple[str, ...]
    types: tuple[str, ...]
    counts: NDArray[np.int64]


def document_counts(rows: Iterable[Mapping[str, Any]], *, matching: str = "strict") -> DocumentCounts:
    """Rows as an array, ready to be resampled."""
    ids: list[str] = []
    by_document: list[Mapping[str, list[int]]] = []
    for row in rows:
        try:
            by_document.append(dict(row["counts"][matching]))
            ids.append(str(row["id"]))
        except (KeyError, TypeError, ValueError):
            raise ScoreError(
                "BX705",
                f"a row has no id, or no counts for {matching!r}",
                where=f"row {len(ids) + 1}",
                hint="score again with this matching",
            ) from None
    types = sorted({name for row in by_document for name in row})
    places = {name: place for place, name in enumerate(types)}
    counts = np.zeros((len(by_document), len(types), 3), dtype=np.int64)
    for number, row in enumerate(by_document):
        for name, triple in row.items():
            if not (
                isinstance(triple, list | tuple)
                and len(triple) == 3
                and all(isinstance(value, int) for value in triple)
            ):
                raise ScoreError(
                    "BX705",
                    f"the counts of {name!r} must be three whole numbers",
                    where=f"document {ids[number]!r}",
                    hint="score again",
                )
            counts[number, places[name]] = triple
    return DocumentCounts(tuple(ids), tuple(types), counts)


def same_documents(first: DocumentCounts, second: DocumentCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both systems' counts with documents paired by id and types by name."""
    if set(first.ids) != set(second.ids) or not len(set(first.ids)) == len(first.ids) == len(second.ids):
        raise ScoreError(
            "BX701", "the two systems were not scored on the same documents", hint="score both on the same split"
        )
    types = sorted({*first.types, *second.types})
    order = {id_: place for place, id_ in enumerate(first.ids)}

    def filled(given: DocumentCounts) -> NDArray[np.int64]:
        made = np.zeros((len(order), len(types), 3), dtype=np.int64)
        made[np.ix_([order[id_] for id_ in given.ids], [types.index(name) for name in given.types])] = given.counts
        return made

    return filled(first), filled(second)
