"""One row of numbers per document, whose sums give a task's main figure, so that all kinds of figures can be resampled in the same way.

| figure | a document's row | figure of the sums |
|---|---|---|
| f1 | tp, fp, fn | micro-F1 |
| macro-f1 | tp, fp, fn of each class | mean over classes that either side has |
| mean | sum of values, number of values | their mean: accuracy, exact match, token F1 |
| pearson | n, Σx, Σy, Σx², Σy², Σxy | Pearson's correlation |

A row holds all seeds of a system, and the system's figure is the mean over seeds: a document is drawn or exchanged together with all its
seeds. So the difference that is tested is the difference between the means that tables show.

>>> one = DocumentRows("mean", ("1", "2", "3"), np.array([[1, 1], [0, 1], [1, 1]], dtype=float))
>>> round(figure_of([one]), 3)
0.667
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError, UsageError
from biomux.scoring.significance import Comparison, compare_by, figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FIGURES = ("f1", "macro-f1", "mean", "pearson")


@dataclass(frozen=True, slots=True)
class DocumentRows:
    """A system's rows on some documents; `values[document]` is laid out as the figure wants it. `classes` are those of macro-f1."""

    figure: str
    ids: tuple[str, ...]
    values: Floats
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.figure not in FIGURES:
            raise UsageError("BX001", f"unknown figure {self.figure!r}", hint=f"choose from {', '.join(FIGURES)}")
        wanted = {
            "f1": (3,),
            "macro-f1": (len(self.classes), 3),
            "mean": (2,),
            "pearson": (6,),
        }[self.figure]
        if self.values.shape != (len(self.ids), *wanted):
            raise ScoreError(
                "BX705",
                f"rows of {self.figure} must have the shape {(len(self.ids), *wanted)}, got {self.values.shape}",
            )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; a row is a list, flat."""
        flat = self.values.reshape(len(self.ids), -1)
        values = [[int(number) if number == int(number) else number for number in row] for row in flat.tolist()]
        return {"figure": self.figure, "classes": list(self.classes), "ids": list(self.ids), "rows": values}


def read_rows(content: dict[str, Any]) -> DocumentRows:
    """What `to_json` wrote."""
    try:
        classes, ids = tuple(content["classes"]), tuple(content["ids"])
        values = np.array(content["rows"], dtype=np.float64)
        if content["figure"] == "macro-f1":
            values = values.reshape(len(ids), len(classes), 3)
        return DocumentRows(content["figure"], ids, values, classes)
    except (KeyError, TypeError, ValueError) as error:
        raise ScoreError("BX705", f"cannot read the rows: {error}", hint="score again") from None


def numbers(gold: float, predicted: float) -> list[float]:
    """The row of one pair of numbers."""
    return [1.0, gold, predicted, gold * gold, predicted * predicted, gold * predicted]


def pearson_of(sums: Floats) -> Floats:
    """Pearson's correlation of (…, 6) sums; 0 where a side never changes, as in a task's main figure."""
    n, x, y, xx, yy, xy = (sums[..., place] for place in range(6))
    spread_x, spread_y = xx * n - x * x, yy * n - y * y
    # Sums of squares lose digits: below this, a side that never changes cannot be told from one that hardly does.
    known = (spread_x > 1e-9 * np.maximum(xx * n, 1e-300)) & (spread_y > 1e-9 * np.maximum(yy * n, 1e-300))
    scale = np.sqrt(np.where(known, spread_x * spread_y, 1.0))
    return np.asarray(np.clip(np.where(known, (xy * n - x * y) / scale, 0.0), -1.0, 1.0))


def figure_of(seeds: Sequence[DocumentRows]) -> float:
    """The mean over seeds of a system's figure."""
    return float(_statistic(seeds[0].figure)(np.stack([rows.values.sum(axis=0) for rows in seeds])))


def compare_rows(
    first: Sequence[DocumentRows],
    second: Sequence[DocumentRows],
    *,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison:
    """Paired bootstrap and approximate randomisation over documents of two systems, each with as many seeds as the other."""
    if not first or len(first) != len(second):
        raise ScoreError(
            "BX705",
            f"both systems must have the same number of seeds, got {len(first)} and {len(second)}",
            hint="leave out some seeds of one system, or score more of the other",
        )
    figures = {rows.figure for rows in (*first, *second)}
    if len(figures) > 1:
        raise ScoreError(
            "BX705",
            f"all rows must be of the same figure, got {', '.join(sorted(figures))}",
            hint="score all in the same way",
        )
    ids = first[0].ids
    if any(set(rows.ids) != set(ids) or len(rows.ids) != len(ids) for rows in (*first, *second)):
        raise ScoreError(
            "BX701", "the systems were not scored on the same documents", hint="score all on the same split"
        )
    classes = tuple(sorted({name for rows in (*first, *second) for name in rows.classes}))
    first_values, second_values = (
        np.stack([_aligned(rows, ids, classes) for rows in side], axis=1) for side in (first, second)
    )
    return compare_by(_statistic(figures.pop()), first_values, second_values, samples=samples, seed=seed, level=level)


def _aligned(rows: DocumentRows, ids: tuple[str, ...], classes: tuple[str, ...]) -> Floats:
    """The rows in this order of documents, and of classes."""
    places = {id_: place for place, id_ in enumerate(rows.ids)}
    values = rows.values if rows.ids == ids else rows.values[[places[id_] for id_ in ids]]
    if rows.figure != "macro-f1" or rows.classes == classes:
        return values
    filled = np.zeros((len(ids), len(classes), 3))
    filled[:, [classes.index(name) for name in rows.classes]] = values
    return filled


def _statistic(name: str) -> Any:
    """(…, seeds, row) sums → the mean over seeds of the figure."""
    if name == "f1":
        return lambda sums: figure(sums).mean(axis=-1)
    if name == "macro-f1":
        return lambda sums: figure(sums, metric="macro-f1").mean(axis=-1)
    if name == "mean":
        return lambda sums: (sums[..., 0] / np.maximum(sums[..., 1], 1)).mean(axis=-1)
    return lambda sums: pearson_of(sums).mean(axis=-1)
