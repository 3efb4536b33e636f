"""Scores made honest, on development data: a temperature for a head's logits; Platt's or isotonic for scores of spans.

All three keep the order of scores (Platt with a slope above 0). Each is plain data: `to_json`, and `read_calibration` back.

>>> temperature = fit_temperature([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]], [0, 0, 1, 1])
>>> round(temperature.value, 2)
3.64
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError, UsageError
from biomux.scoring.calibration import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

MASKED = -100
"""The label of a position that says nothing."""

COLDEST, HOTTEST = 0.05, 20.0
"""Temperatures are kept within these: a head that is never wrong on development data would want 0."""

EDGE = 1e-6
"""Scores are kept this far from 0 and 1 before their logit is taken."""


@dataclass(frozen=True, slots=True)
class Temperature:
    """Logits are divided by `value` before the softmax."""

    value: float

    def apply(self, logits: ArrayLike) -> Floats:
        """The probabilities of logits, over their last axis."""
        scaled = np.asarray(logits, dtype=np.float64) / self.value
        scaled = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
        return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"kind": "temperature.v1", "value": self.value}


@dataclass(frozen=True, slots=True)
class Platt:
    """A score's logit is stretched and moved."""

    slope: float
    intercept: float

    def apply(self, scores: ArrayLike) -> Floats:
        """The honest scores."""
        return np.asarray(1 / (1 + np.exp(-(self.slope * _logit(scores) + self.intercept))))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"kind": "platt.v1", "slope": self.slope, "intercept": self.intercept}


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Steps that never fall, straight lines between them; flat beyond both ends."""

    scores: tuple[float, ...]
    values: tuple[float, ...]

    def apply(self, scores: ArrayLike) -> Floats:
        """The honest scores."""
        return np.interp(np.asarray(scores, dtype=np.float64), self.scores, self.values)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"kind": "isotonic.v1", "scores": list(self.scores), "values": list(self.values)}


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> Temperature:
    """The temperature with the least negative log-likelihood of development labels; positions labelled -100 are left out.

    In 1/temperature the likelihood is convex, so Newton's steps inside a shrinking bracket find the one minimum.
    """
    wanted = np.asarray(labels, dtype=np.int64).ravel()
    values = np.asarray(logits, dtype=np.float64)
    values = values.reshape(-1, values.shape[-1])
    if len(values) != len(wanted):
        raise ScoreError(
            "BX705",
            f"there are {len(values)} rows of logits and {len(wanted)} labels",
            hint="give a label for each row",
        )
    values, wanted = values[wanted != MASKED], wanted[wanted != MASKED]
    if not len(wanted):
        raise ScoreError(
            "BX704",
            "there is no labelled position to fit a temperature on",
            hint="give development data that the head is annotated for",
        )
    if wanted.min() < 0 or wanted.max() >= values.shape[1]:
        raise ScoreError(
            "BX705", f"a label lies outside the head's {values.shape[1]} outputs", hint="use the labels of this head"
        )
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


def negative_log_likelihood(logits: ArrayLike, labels: ArrayLike, temperature: Temperature | None = None) -> float:
    """The mean over labelled positions."""
    wanted = np.asarray(labels, dtype=np.int64).ravel()
    values = np.asarray(logits, dtype=np.float64)
    values = values.reshape(-1, values.shape[-1])[wanted != MASKED] / (temperature.value if temperature else 1.0)
    wanted = wanted[wanted != MASKED]
    peak = values.max(axis=1)
    partition = peak + np.log(np.exp(values - peak[:, None]).sum(axis=1))
    return float((partition - values[np.arange(len(wanted)), wanted]).mean())


def fit_platt(scores: ArrayLike, right: ArrayLike) -> Platt:
    """Logistic regression on the score's logit, with Platt's softened targets, so that separable data stay finite."""
    given, hits = checked(scores, right)
    number = float(hits.sum())
    target = np.where(hits > 0, (number + 1) / (number + 2), 1 / (len(hits) - number + 2))
    inputs = np.stack([_logit(given), np.ones_like(given)], axis=1)
    weights = np.array([1.0, 0.0])
    loss = _logistic_loss(inputs, target, weights)
    for _ in range(100):
        shares = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (shares - target)
        curve = (inputs * (shares * (1 - shares))[:, None]).T @ inputs + 1e-9 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        size = 1.0
        while (new := _logistic_loss(inputs, target, weights - size * step)) > loss and size > 1e-10:
            size /= 2
        if new > loss:
            break
        weights, gain, loss = weights - size * step, loss - new, new
        if gain < 1e-12 * max(1.0, abs(loss)):
            break
    return Platt(float(weights[0]), float(weights[1]))


def _logistic_loss(inputs: Floats, target: Floats, weights: Floats) -> float:
    raised = inputs @ weights
    return float((np.logaddexp(0, raised) - target * raised).sum())


def fit_isotonic(scores: ArrayLike, right: ArrayLike) -> Isotonic:
    """The best steps that never fall: neighbours that do are pooled."""
    given, hits = checked(scores, right)
    distinct, places, numbers = np.unique(given, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=hits) / numbers
    blocks: list[list[float]] = []
    for place in range(len(distinct)):
        blocks.append([float(means[place]), float(numbers[place]), place, place])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, weight, _, last = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * weight) / (before[1] + weight)
            before[1], before[3] = before[1] + weight, last
    corners: list[tuple[float, float]] = []
    for mean, _, first, last in blocks:
        corners += [(float(distinct[int(place)]), mean) for place in dict.fromkeys((first, last))]
    return Isotonic(tuple(score for score, _ in corners), tuple(value for _, value in corners))


def read_calibration(data: Mapping[str, Any]) -> Temperature | Platt | Isotonic:
    """What `to_json` wrote."""
    kind = data.get("kind")
    if kind == "temperature.v1":
        return Temperature(float(data["value"]))
    if kind == "platt.v1":
        return Platt(float(data["slope"]), float(data["intercept"]))
    if kind == "isotonic.v1":
        return Isotonic(tuple(map(float, data["scores"])), tuple(map(float, data["values"])))
    raise UsageError(
        "BX001", f"there is no calibration {kind!r}", hint="known are temperature.v1, platt.v1, isotonic.v1"
    )


def _logit(scores: ArrayLike) -> Floats:
    clipped = np.clip(np.asarray(scores, dtype=np.float64), EDGE, 1 - EDGE)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))
