"""Paper B's similarity head: a · h + b on [CLS], one number per window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from biomux.training.heads.pooled import Pooling, pool

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features


class Regression(nn.Module):
    """Pool, dropout, Linear(width, 1)."""

    def __init__(self, width: int, pooling: Pooling, dropout: float) -> None:
        super().__init__()
        self.pooling = pooling
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, 1))

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """Windows × 1."""
        values: Tensor = self.layers(pool(features, rows, self.pooling))
        return values


def build(width: int, labels: int = 1, *, pooling: Pooling = "cls", dropout: float = 0.1) -> nn.Module:  # noqa: ARG001
    """One number for each window, whatever the number of labels."""
    return Regression(width, pooling, dropout)
