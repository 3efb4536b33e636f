"""From logits to probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def softmax(logits: NDArray[np.float32], temperature: float = 1.0) -> NDArray[np.float32]:
    """Probabilities of each row."""
    if not len(logits):
        return logits
    scaled = logits if temperature == 1.0 else logits / np.float32(temperature)
    powers: NDArray[np.float32] = np.exp(scaled - np.maximum.reduce(scaled, axis=1, keepdims=True))
    powers /= np.add.reduce(powers, axis=1, keepdims=True)
    return powers


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """The probability of each number by itself."""
    probabilities: NDArray[np.float32] = 0.5 * (1 + np.tanh(0.5 * logits))
    return probabilities
