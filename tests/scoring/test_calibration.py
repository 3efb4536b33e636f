"""Honest scores: known answers, brute force, and scikit-learn where it is installed."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from biomux.errors import ScoreError, UsageError
from biomux.scoring.calibration import (
    area_under_risk,
    confidence,
    expected_error,
    reliability,
    risk_coverage,
    threshold_for,
    thresholds,
)
from biomux.scoring.temperature import (
    COLDEST,
    HOTTEST,
    Temperature,
    fit_temperature,
)

Floats = NDArray[np.float64]


def answers(seed: int, size: int = 4000) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores, and right as often as the square of the score says: too sure of themselves."""
    chance = np.random.default_rng(seed)
    scores = chance.random(size)
    return scores, chance.random(size) < scores**2


def logits(seed: int, temperature: float, size: int = 5000) -> tuple[Floats, NDArray[np.int64]]:
    """Logits whose true probabilities are those at a temperature."""
    chance = np.random.default_rng(seed)
    values = chance.normal(scale=3, size=(size, 4))
    shares = Temperature(temperature).apply(values)
    labels = (chance.random(size)[:, None] > np.cumsum(shares, axis=1)).sum(axis=1)
    return values, np.minimum(labels, 3)


def test_bins_hold_every_answer() -> None:
    scores, right = answers(0)
    for by in ("width", "number"):
        bins = reliability(scores, right, bins=10, by=by)
        assert sum(one.number for one in bins) == len(scores)
        assert all(one.low <= one.score <= one.high for one in bins)
    assert {one.number for one in reliability(scores, right, bins=10, by="number")} == {400}
    assert [one.number for one in reliability([0.0, 1.0], [False, True])] == [1, 1]
    with pytest.raises(UsageError):
        reliability(scores, right, by="mass")


def test_expected_error_of_known_scores() -> None:
    scores, right = answers(0, 40_000)
    assert expected_error(scores, right) == pytest.approx(1 / 2 - 1 / 3, abs=0.01)
    assert expected_error(scores, np.random.default_rng(1).random(40_000) < scores) < 0.02


def test_risk_rises_with_coverage_when_scores_are_good() -> None:
    coverage, risk = risk_coverage([0.9, 0.8, 0.7, 0.6], [True, True, False, False])
    assert coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert risk == pytest.approx([0, 0, 1 / 3, 0.5])
    assert area_under_risk([0.9, 0.8, 0.7, 0.6], [True, True, False, False]) == pytest.approx((1 / 3 + 0.5) / 4)


def test_equal_scores_do_not_depend_on_order() -> None:
    assert area_under_risk([0.5] * 4, [True, True, False, False]) == 0.5
    assert area_under_risk([0.5] * 4, [False, True, False, True]) == 0.5


def test_confidence_has_errors() -> None:
    scores, right = answers(0, 500)
    got = confidence(scores, right, samples=50)
    assert 0 < got.aurc_error < 0.05
    assert 0 < got.ece_error < 0.05
    assert json.loads(json.dumps(got.to_json()))["number"] == 500
    assert math.isnan(confidence(scores, right, samples=0).ece_error)


def test_threshold_keeps_the_wanted_precision_and_as_many_as_can_be() -> None:
    scores, right = answers(0)
    got = threshold_for(0.8, scores, right, missed=100)
    kept = scores >= got.score
    assert right[kept].mean() == pytest.approx(got.precision)
    assert got.precision >= 0.8
    assert got.number == kept.sum()
    assert got.recall == pytest.approx(right[kept].sum() / (right.sum() + 100))
    lower = [one for one in thresholds(scores, right) if one.score < got.score]
    assert all(one.precision < 0.8 for one in lower)
    with pytest.raises(ScoreError, match=r"BX704: .* precision 0.999: the best is"):
        threshold_for(0.999, scores, right, at_least=500)
    with pytest.raises(ScoreError, match="there are 2"):
        threshold_for(0.5, [0.5, 0.5], [True, True])


@pytest.mark.parametrize("true", [0.5, 1.0, 2.5])
def test_temperature_is_found(true: float) -> None:
    values, labels = logits(1, true)
    found = fit_temperature(values, labels)
    assert found.value == pytest.approx(true, rel=0.06)

    def loss(temperature: Temperature) -> float:
        return float(-np.log(temperature.apply(values)[np.arange(len(labels)), labels]).mean())

    for other in (found.value * 0.99, found.value * 1.01):
        assert loss(Temperature(other)) > loss(found)


def test_masked_positions_say_nothing() -> None:
    values, labels = logits(1, 2.0)
    noise = np.random.default_rng(0).normal(scale=50, size=(100, 4))
    mixed = fit_temperature(np.concatenate([values, noise]), np.concatenate([labels, np.full(100, -100)]))
    assert mixed.value == pytest.approx(fit_temperature(values, labels).value)


def test_a_head_that_is_never_wrong_keeps_its_own_scores() -> None:
    assert fit_temperature([[5.0, 0.0], [0.0, 5.0]], [0, 1]).value == 1.0


def test_a_head_that_is_hardly_ever_or_always_wrong_stays_finite() -> None:
    found = fit_temperature([[0.01, 0.0]] * 1000 + [[0.0, 1e-9]], [0] * 1001)
    assert found.value == COLDEST
    assert fit_temperature([[5.0, 0.0], [0.0, 5.0]], [1, 0]).value == HOTTEST
    assert np.isfinite(found.apply([[500.0, 0.0]])).all()


def test_logits_that_do_not_fit_are_refused() -> None:
    for values, labels, code in (
        ([[1.0, 2.0]], [0, 1], "BX705"),
        ([[1.0, 2.0]], [2], "BX705"),
        ([[1.0, 2.0]], [-100], "BX704"),
    ):
        with pytest.raises(ScoreError, match=code):
            fit_temperature(values, labels)


def test_scores_outside_the_unit_are_refused() -> None:
    for scores, right, code in (([1.5], [True], "BX705"), ([0.5], [True, False], "BX705"), ([], [], "BX704")):
        with pytest.raises(ScoreError, match=code):
            confidence(scores, right)


def test_bins_of_equal_number_begin_at_zero_and_end_at_one() -> None:
    bins = reliability([0.2, 0.3, 0.4, 0.9], [True, False, True, True], bins=2, by="number")
    assert [(one.low, one.high) for one in bins] == [(0.0, pytest.approx(0.35)), (pytest.approx(0.35), 1.0)]


def test_the_curve_of_a_confidence_is_thinned_to_even_steps_and_ends_at_full_coverage() -> None:
    scores = np.linspace(0.99, 0.01, 80)
    curve = confidence(scores, np.arange(80) < 40).risks
    assert [coverage for coverage, _ in curve] == [round((step + 1) / 40, 4) for step in range(40)]
    assert curve[-1] == (1.0, 0.5)
