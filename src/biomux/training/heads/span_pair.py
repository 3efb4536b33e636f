"""Relations in one pass: a head that reads both arguments' vectors from the pass that tags.

A span's vector is the mean of those of its first and last word. The pair is both vectors and their product, through one hidden layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features


class PairOfSpans(nn.Module):
    """Dropout, Linear(3 width, hidden), ReLU, Linear(hidden, labels)."""

    def __init__(self, width: int, labels: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(3 * width, hidden), nn.ReLU(), nn.Linear(hidden, labels)
        )

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """Pairs × labels; `rows` has four places per pair."""
        vectors = features.at(rows)
        left, right = vectors[:, :2].mean(dim=1), vectors[:, 2:].mean(dim=1)
        logits: Tensor = self.layers(torch.cat([left, right, left * right], dim=1))
        return logits


def build(width: int, labels: int, *, hidden: int | None = None, dropout: float = 0.1) -> nn.Module:
    """`hidden` is the encoder's width unless given."""
    return PairOfSpans(width, labels, hidden or width, dropout)
