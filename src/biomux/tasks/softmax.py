"""From logits to probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def softmax(logits: NDArray[np.float32], temperature: float = 1.0) -> NDArray[np.float32]:
    """Probabilities of each row."""
    scaled = logits / np.float32(temperature)
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True)) if len(scaled) else scaled
    probabilities: NDArray[np.float32] = powers / powers.sum(axis=1, keepdims=True) if len(scaled) else powers
    return probabilities


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """The probability of each number by itself."""
    found: NDArray[np.float32] = 0.5 * (1 + np.tanh(0.5 * logits))
    return found
