"""The words of a batch as sequences, one per window: for heads that read words in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.training.heads.features import Features


@dataclass(frozen=True)
class Sequences:
    """The place of each word. Windows without words have no sequence.

    | field | shape |
    |---|---|
    | sizes | sequences, how many words each has |
    | row, column | words: its sequence, and its place in it |
    """

    sizes: Tensor
    row: Tensor
    column: Tensor

    def laid_out(self, flat: Tensor, fill: float = 0) -> Tensor:
        """Values of words as sequences × longest × …"""
        shape = (len(self.sizes), int(self.sizes.max()), *flat.shape[1:])
        return flat.new_full(shape, fill).index_put((self.row, self.column), flat)

    @property
    def present(self) -> Tensor:
        """True where a sequence has a word: sequences × longest."""
        places = torch.arange(int(self.sizes.max()), device=self.sizes.device)
        return places < self.sizes[:, None]


def sequences(features: Features) -> Sequences:
    """The words of each window, in order."""
    _, row, sizes = torch.unique_consecutive(features.windows(features.words), return_inverse=True, return_counts=True)
    column = torch.arange(len(row), device=row.device) - (sizes.cumsum(0) - sizes)[row]
    return Sequences(sizes, row, column)


def word_at(features: Features, rows: Tensor) -> Tensor:
    """The index of the word that begins at each place, or before it for a later token of the word."""
    return torch.searchsorted(features.words, rows, right=True) - 1
