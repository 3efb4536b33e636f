"""From logits to probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


FEW = 8
"""Numpy adds up a row of fewer numbers than that one by one, so columns added one by one give the same sum to the bit, several times as fast."""


def softmax(logits: NDArray[np.float32], temperature: float = 1.0) -> NDArray[np.float32]:
    """Probabilities of each row."""
    if not len(logits):
        return logits
    scaled = logits if temperature == 1.0 else logits / np.float32(temperature)
    if scaled.ndim == 2 and scaled.shape[1] < FEW:
        columns = np.ascontiguousarray(scaled.T)
        chances: NDArray[np.float32] = np.exp(columns - np.maximum.reduce(columns))
        chances /= np.add.reduce(chances)
        return np.ascontiguousarray(chances.T)
    powers: NDArray[np.float32] = np.exp(scaled - np.maximum.reduce(scaled, axis=1, keepdims=True))
    powers /= np.add.reduce(powers, axis=1, keepdims=True)
    return powers


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """The probability of each number by itself."""
    probabilities: NDArray[np.float32] = 0.5 * (1 + np.tanh(0.5 * logits))
    return probabilities
