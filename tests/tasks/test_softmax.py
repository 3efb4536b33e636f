"""Probabilities from logits."""

from __future__ import annotations

import numpy as np
import pytest

from biomux.tasks.softmax import sigmoid, softmax


def test_rows_sum_to_one_and_keep_the_ratios_of_their_powers() -> None:
    probabilities = softmax(np.array([[0.0, np.log(3.0)], [1000.0, 1000.0]], dtype=np.float32))
    assert probabilities == pytest.approx(np.array([[0.25, 0.75], [0.5, 0.5]]))


def test_a_higher_temperature_is_less_sure() -> None:
    logits = np.array([[0.0, 2.0 * np.log(3.0)]], dtype=np.float32)
    assert softmax(logits, 2.0) == pytest.approx(np.array([[0.25, 0.75]]))
    assert softmax(logits) == pytest.approx(np.array([[0.1, 0.9]]))


def test_no_rows_give_none() -> None:
    assert softmax(np.zeros((0, 3), dtype=np.float32)).shape == (0, 3)


def test_the_sigmoid_of_known_numbers() -> None:
    logits = np.array([0.0, np.log(3.0), -np.log(3.0), 1000.0], dtype=np.float32)
    assert sigmoid(logits) == pytest.approx(np.array([0.5, 0.75, 0.25, 1.0]))


@pytest.mark.parametrize("labels", range(1, 12))
def test_few_labels_and_many_give_what_each_row_gives_by_itself(labels: int) -> None:
    logits = np.random.default_rng(labels).normal(scale=4, size=(50, labels)).astype(np.float32)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    together = softmax(logits)
    assert (together == powers / powers.sum(axis=1, keepdims=True)).all()
    assert all((softmax(row[None])[0] == found).all() for row, found in zip(logits, together, strict=True))
