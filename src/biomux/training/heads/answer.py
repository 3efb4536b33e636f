"""The head of extractive answers: for each word, how likely an answer begins and ends there; [CLS] means no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features

NEVER = -1e4
"""The logit of a place where no answer can begin or end: the question, later tokens of words, padding."""


class AnswerSpan(nn.Module):
    """Dropout, Linear(width, 2)."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, 2))

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """Windows × length × 2; `rows` are the places of the windows' [CLS]."""
        windows = features.windows(rows)
        logits: Tensor = self.layers(features.hidden.index_select(0, windows)).float()
        allowed = torch.zeros(features.mask.numel(), dtype=torch.bool, device=logits.device)
        allowed[features.words] = True
        allowed = allowed.reshape(features.mask.shape).index_select(0, windows)
        allowed[:, 0] = True
        return logits.masked_fill(~allowed[..., None], NEVER)


def build(width: int, labels: int = 2, *, dropout: float = 0.1) -> nn.Module:  # noqa: ARG001
    """First and last word, whatever the number of labels."""
    return AnswerSpan(width, dropout)
