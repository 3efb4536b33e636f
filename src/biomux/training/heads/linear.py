"""A linear head: one matrix, with dropout before it. On [CLS] it classifies a window or a pair of texts, as in paper B."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features


class AtPlaces(nn.Sequential):
    """Layers over the vectors at the given places: words, tokens, or [CLS] for windows."""

    def forward(self, features: Features, rows: Tensor) -> Tensor:  # type: ignore[override]
        """Logits, one row per place."""
        logits: Tensor = super().forward(features.at(rows))  # type: ignore[no-untyped-call]
        return logits


def build(width: int, labels: int, *, dropout: float = 0.1) -> nn.Module:
    """Dropout, then Linear(width, labels)."""
    return AtPlaces(nn.Dropout(dropout), nn.Linear(width, labels))
