"""Paper A's head: Linear(d, d), ReLU, Linear(d, labels). A narrow one (`hidden: 64`) costs almost nothing beside the encoder."""

from __future__ import annotations

from torch import nn

from biomux.training.heads.linear import AtPlaces


def build(width: int, labels: int, *, hidden: int | None = None, dropout: float = 0.1) -> nn.Module:
    """Dropout, Linear(width, hidden), ReLU, Linear(hidden, labels); `hidden` is the encoder's width unless given."""
    inner = hidden or width
    return AtPlaces(nn.Dropout(dropout), nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, labels))
