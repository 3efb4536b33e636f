"""Objectives: losses as pure functions. Each is one file and one line in a table below.

The functions in `OBJECTIVES` compare a head's logits with labels or with a teacher's logits; those in `FEATURE_OBJECTIVES` compare the
features inside a student's encoder with those inside its teacher's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from biomux.training.objectives import (
    answers,
    attention_kl,
    attention_mse,
    binary_cross_entropy,
    cross_entropy,
    hidden_cosine,
    hidden_mse,
    kl_divergence,
    logit_mse,
    mean_squared_error,
    soft_cross_entropy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

OBJECTIVES: dict[str, Callable[..., Tensor]] = {
    "cross-entropy": cross_entropy.summed,
    "mean-squared-error": mean_squared_error.summed,
    "binary-cross-entropy": binary_cross_entropy.summed,
    "answers": answers.summed,
    "logit-mse": logit_mse.summed,
    "kl-divergence": kl_divergence.summed,
    "soft-cross-entropy": soft_cross_entropy.summed,
}
"""Name → loss of logits and labels (or a teacher's logits), summed over positions; the loop divides by the number of positions in the batch."""


@dataclass(frozen=True, slots=True)
class FeatureLoss:
    """A loss between features of a student and its teacher, and the kind of feature."""

    summed: Callable[[Tensor, Tensor, Tensor], Tensor]
    of: Literal["states", "attention"]


FEATURE_OBJECTIVES: dict[str, FeatureLoss] = {
    "hidden-cosine": FeatureLoss(hidden_cosine.summed, "states"),
    "hidden-mse": FeatureLoss(hidden_mse.summed, "states"),
    "attention-mse": FeatureLoss(attention_mse.summed, "attention"),
    "attention-kl": FeatureLoss(attention_kl.summed, "attention"),
}
"""Name → loss of a student's features, its teacher's and the mask, summed over tokens."""
