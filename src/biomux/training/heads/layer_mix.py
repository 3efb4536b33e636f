"""A learned mix of layers before another head: a better baseline for a frozen encoder than its last layer alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features


class LayerMix(nn.Module):
    """The inner head reads Σ softmax(weights) · layer, times a learned number."""

    reads_layers = True

    def __init__(self, head: nn.Module, layers: int) -> None:
        super().__init__()
        self.head = head
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """The logits of the inner head."""
        layers = features.layers or (features.hidden,)
        shares = torch.softmax(self.weights, dim=0)
        mixed = torch.stack([share * layer for share, layer in zip(shares, layers, strict=True)]).sum(dim=0)
        logits: Tensor = self.head(features.of(self.scale * mixed), rows)
        return logits


def build(width: int, labels: int, *, encoder: Any, head: str = "linear", **settings: Any) -> nn.Module:
    """`head` is the kind of the inner head; the other settings are its own."""
    from biomux.training.heads import HEADS

    return LayerMix(HEADS[head](width, labels, **settings), encoder.depth + 1)
