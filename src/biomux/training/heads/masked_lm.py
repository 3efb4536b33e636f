"""BERT's head for masked tokens: a dense layer, GELU, normalisation, then a logit for each token of the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features

SPREAD = 0.02
"""The standard deviation of new weights, as in BERT."""


class MaskedLanguageModelHead(nn.Module):
    """With `table` the last matrix is the encoder's embedding table itself, and is trained with it.

    Where embeddings are narrower than the encoder's vectors (MobileBERT), the matrix has `rest` besides the table.
    """

    def __init__(self, width: int, labels: int, table: nn.Embedding | None, activation: nn.Module) -> None:
        super().__init__()
        self.transform = nn.Sequential(nn.Linear(width, width), activation, nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(labels))
        self.output = nn.Linear(width, labels, bias=False) if table is None else None
        missing = 0 if table is None else width - table.weight.shape[1]
        self.rest = nn.Parameter(SPREAD * torch.randn(labels, missing)) if missing else None
        # In a list, so that the table is not a parameter of the head: it is saved and moved with the encoder.
        self._table = [] if table is None else [table]

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """Places × vocabulary."""
        vectors = self.transform(features.at(rows))
        matrix = self._table[0].weight[: len(self.bias)] if self.output is None else self.output.weight
        if self.rest is not None:
            matrix = torch.cat([matrix, self.rest], dim=1)
        return functional.linear(vectors, matrix, self.bias)


def build(width: int, labels: int, *, encoder: Any = None, tied: bool = True) -> nn.Module:
    """`tied` uses the encoder's embedding table, if it has one; the activation is the encoder's own if that is a ReLU."""
    table = encoder.body.get_input_embeddings() if tied and hasattr(encoder, "body") else None
    if table is not None and table.weight.shape[1] > width:
        table = None
    relu = getattr(getattr(encoder, "config", None), "hidden_act", "gelu") == "relu"
    return MaskedLanguageModelHead(width, labels, table, nn.ReLU() if relu else nn.GELU())
