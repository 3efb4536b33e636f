"""Paper D's sentence head: the window's vectors become one by [CLS], mean or max; then a linear layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import nn

from biomux.errors import RecipeError, did_you_mean

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features

Pooling = Literal["cls", "mean", "max"]


class Pooled(nn.Module):
    """Pool, dropout, linear. Mean and max are over the tokens of the text, without [CLS] and the last [SEP]."""

    def __init__(self, width: int, labels: int, pooling: Pooling, dropout: float) -> None:
        super().__init__()
        self.pooling = pooling
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, labels))

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """Logits, one row per window."""
        logits: Tensor = self.layers(pool(features, rows, self.pooling))
        return logits


def pool(features: Features, rows: Tensor, pooling: Pooling) -> Tensor:
    """One vector for each window; `rows` are the places of their [CLS]."""
    if pooling == "cls":
        return features.at(rows)
    windows = features.windows(rows)
    hidden, inner = features.hidden.index_select(0, windows), features.inner.index_select(0, windows)[..., None]
    if pooling == "mean":
        return (hidden * inner).sum(dim=1) / inner.sum(dim=1)
    return torch.where(inner, hidden, torch.finfo(hidden.dtype).min).amax(dim=1)


def build(width: int, labels: int, *, pooling: Pooling = "max", dropout: float = 0.1) -> nn.Module:
    """`pooling` is "cls", "mean" or "max"."""
    if pooling not in ("cls", "mean", "max"):
        raise RecipeError(
            "BX306",
            f"unknown pooling {pooling!r}",
            where="head → settings",
            hint=did_you_mean(pooling, ("cls", "mean", "max")),
        )
    return Pooled(width, labels, pooling, dropout)
