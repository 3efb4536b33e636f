"""Objectives: losses as pure functions of logits and labels. One file each, one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.training.objectives import answers, binary_cross_entropy, cross_entropy, mean_squared_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

OBJECTIVES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-entropy": cross_entropy.summed,
    "mean-squared-error": mean_squared_error.summed,
    "binary-cross-entropy": binary_cross_entropy.summed,
    "answers": answers.summed,
}
"""Name → loss, summed over positions; the loop divides by how many positions the batch has."""
