"""The model: one encoder with named heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.packing import Batch
    from biomux.learn.encoders.transformer import Transformer


class Model(nn.Module):
    """One encoder, many heads. An encoder maps ids and mask to a vector for each piece; a head maps words' vectors to logits."""

    def __init__(self, encoder: Transformer, heads: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict(dict(heads))

    def words(self, ids: Tensor, mask: Tensor, first: Tensor) -> Tensor:
        """The vectors of words: those of their first pieces."""
        hidden = self.encoder(ids, mask)
        chosen: Tensor = hidden.reshape(-1, hidden.shape[-1]).index_select(0, first)
        return chosen


class TorchSession:
    """A session over a model in memory: development scores come from it."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """Every head's logits for every word of the batch."""
        was_training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            words = self.model.words(*map(torch.from_numpy, (batch.ids, batch.mask, batch.first)))
            answers = {name: head(words).float().numpy() for name, head in self.model.heads.items()}
        self.model.train(was_training)
        return answers
