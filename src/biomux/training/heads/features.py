"""What heads read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Features:
    """What an encoder computes for a batch.

    | field | shape |
    |---|---|
    | hidden | windows × length × width |
    | mask | windows × length, 1 for tokens and special tokens |
    | words | places of words' first tokens in the flattened rows |
    | layers | the states of every layer, the embeddings first; only if a head or a loss needs them |
    | attention | the maps of every layer, windows × heads × length × length; only if a loss needs them |
    """

    hidden: Tensor
    mask: Tensor
    words: Tensor
    layers: tuple[Tensor, ...] | None = None
    attention: tuple[Tensor, ...] = ()

    def at(self, places: Tensor) -> Tensor:
        """The vectors at places in the flattened rows; one more dimension than the places have."""
        flat = self.hidden.reshape(-1, self.hidden.shape[-1])
        if places.ndim == 1:
            return flat.index_select(0, places)
        return flat.index_select(0, places.reshape(-1)).reshape(*places.shape, flat.shape[1])

    def windows(self, places: Tensor) -> Tensor:
        """Which window each place is in."""
        return places // self.hidden.shape[1]

    @property
    def inner(self) -> Tensor:
        """The mask without the first and last special token; with them if a row has nothing else."""
        ends = self.mask.sum(dim=1)
        places = torch.arange(self.mask.shape[1], device=self.mask.device)
        without = (places > 0) & (places < (ends - 1)[:, None])
        return torch.where((ends > 2)[:, None], without, self.mask.bool())

    def of(self, hidden: Tensor) -> Features:
        """The same batch with other vectors."""
        return replace(self, hidden=hidden)
