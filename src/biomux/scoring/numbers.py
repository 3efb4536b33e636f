"""Numbers scored: similarity of two sentences, and the like.

A correlation with a side that never changes is not defined: it is nan, and so is that of fewer than two pairs. Ties share their average rank.

>>> scores = score_numbers([1, 2, 3, 4], [1.5, 2.5, 2.0, 4.0], samples=0)
>>> round(scores.pearson, 3), round(scores.spearman, 3), scores.mse
(0.837, 0.8, 0.375)
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError
from biomux.scoring.significance import bootstrap_error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NumberScores:
    """Correlations and mean squared error, with standard errors by the bootstrap (nan where not asked for or not defined)."""

    number: int
    pearson: float
    spearman: float
    mse: float
    pearson_error: float
    spearman_error: float
    mse_error: float

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; None for nan."""
        return {name: None if math.isnan(value) else value for name, value in asdict(self).items()}


def score_numbers(gold: ArrayLike, predicted: ArrayLike, *, samples: int = 1000, seed: int = 0) -> NumberScores:
    """Score predicted numbers. `samples=0` leaves the standard errors out."""
    gold_values, predicted_values = np.asarray(gold, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if gold_values.ndim != 1 or gold_values.shape != predicted_values.shape:
        raise ScoreError(
            "BX705",
            f"gold and predictions must be lists of the same length, got the shapes {gold_values.shape} and {predicted_values.shape}",
            hint="give one number per document on both sides",
        )
    for name, side in (("gold", gold_values), ("predicted", predicted_values)):
        if not np.isfinite(side).all():
            place = int(np.flatnonzero(~np.isfinite(side))[0])
            raise ScoreError(
                "BX705",
                f"{name} numbers must be finite, got {side[place]} in place {place}",
                hint="leave out documents without a number",
            )
    errors = [
        bootstrap_error(statistic, gold_values, predicted_values, samples=samples, seed=seed) if samples else math.nan
        for statistic in (pearson, spearman, mean_squared_error)
    ]
    return NumberScores(
        len(gold_values),
        pearson(gold_values, predicted_values),
        spearman(gold_values, predicted_values),
        mean_squared_error(gold_values, predicted_values),
        *errors,
    )


def pearson(left: Floats, right: Floats) -> float:
    """The correlation of two series; nan where one never changes."""
    if len(left) < 2 or (left == left[0]).all() or (right == right[0]).all():
        return math.nan
    left, right = left - left.mean(), right - right.mean()
    scale = math.sqrt(float(left @ left)) * math.sqrt(float(right @ right))
    return max(-1.0, min(1.0, float(left @ right) / scale)) if scale else math.nan


def spearman(left: Floats, right: Floats) -> float:
    """The correlation of ranks."""
    return pearson(ranks(left), ranks(right))


def mean_squared_error(left: Floats, right: Floats) -> float:
    """nan of nothing."""
    return float(np.mean((left - right) ** 2)) if len(left) else math.nan


def ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share their mean rank.

    >>> ranks(np.array([10.0, 20.0, 10.0])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, places, numbers = np.unique(values, return_inverse=True, return_counts=True)
    after = np.cumsum(numbers)
    return np.asarray((after - (numbers - 1) / 2)[places], dtype=np.float64)
