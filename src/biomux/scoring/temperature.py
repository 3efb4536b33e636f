"""The temperature of a head's logits, fitted on development data, so that its scores are probabilities.

>>> temperature = fit_temperature([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]], [0, 0, 1, 1])
>>> round(temperature.value, 2)
3.64
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.errors import ScoreError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MASKED = -100
"""The label of a position that is not annotated."""

COLDEST, HOTTEST = 0.05, 20.0
"""Temperatures are kept within these: a head that is hardly ever wrong on development data would want one near 0."""


@dataclass(frozen=True, slots=True)
class Temperature:
    """Logits are divided by `value` before the softmax."""

    value: float

    def apply(self, logits: ArrayLike) -> Floats:
        """The probabilities of logits, over their last axis."""
        scaled = np.asarray(logits, dtype=np.float64) / self.value
        scaled = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
        return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> Temperature:
    """The temperature with the least negative log-likelihood of development labels; positions labelled -100 are left out.

    A head that is never wrong there would want 0, and then say 1.0 of whatever it finds elsewhere. So it keeps 1: such data, mostly a few documents, do not tell how sure it may be.
    In 1/temperature the likelihood is convex, so Newton's steps inside a shrinking bracket find the one minimum.
    """
    wanted = np.asarray(labels, dtype=np.int64).ravel()
    values = np.asarray(logits, dtype=np.float64)
    values = values.reshape(-1, values.shape[-1])
    if len(values) != len(wanted):
        raise ScoreError(
            "BX705",
            f"there must be one label per row of logits, got {len(wanted)} labels for {len(values)} rows",
            hint="give a label for each row",
        )
    values, wanted = values[wanted != MASKED], wanted[wanted != MASKED]
    if not len(wanted):
        raise ScoreError(
            "BX704",
            "cannot fit a temperature: no position has a label",
            hint="give development data that the head is annotated for",
        )
    if wanted.min() < 0 or wanted.max() >= values.shape[1]:
        raise ScoreError(
            "BX705",
            f"labels must be numbers from 0 to {values.shape[1] - 1}, the outputs of the head",
            hint="use the labels of this head",
        )
    if (values.argmax(axis=1) == wanted).all():
        return Temperature(1.0)
    values -= values.max(axis=1, keepdims=True)
    target = float(values[np.arange(len(wanted)), wanted].mean())
    low, high = 1 / HOTTEST, 1 / COLDEST
    if _slope_and_curve(values, high)[0] <= target:
        return Temperature(COLDEST)
    if _slope_and_curve(values, low)[0] >= target:
        return Temperature(HOTTEST)
    inverse = 1.0
    for _ in range(60):
        slope, curve = _slope_and_curve(values, inverse)
        slope -= target
        if slope > 0:
            high = inverse
        else:
            low = inverse
        newton = inverse - slope / curve if curve > 0 else math.inf
        before, inverse = inverse, newton if low < newton < high else (low + high) / 2
        if abs(inverse - before) < 1e-9 * before:
            break
    return Temperature(1 / inverse)


def _slope_and_curve(values: Floats, inverse: float) -> tuple[float, float]:
    """First and second derivative of the mean log-partition by the inverse temperature."""
    weights = np.exp(values * inverse)
    weights /= weights.sum(axis=1, keepdims=True)
    means = (weights * values).sum(axis=1)
    spreads = (weights * values**2).sum(axis=1) - means**2
    return float(means.mean()), float(spreads.mean())
