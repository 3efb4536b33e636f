"""A linear head: one matrix, with dropout before it."""

from __future__ import annotations

from torch import nn


def build(width: int, labels: int, *, dropout: float = 0.1) -> nn.Module:
    """Dropout, then Linear(width, labels)."""
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, labels))
