"""Recurrent layers over sequences of different lengths, without padding; always in full precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, unpack_sequence

if TYPE_CHECKING:
    from torch import Tensor, nn


def states(lstm: nn.Module, flat: Tensor, sizes: Tensor) -> Tensor:
    """The states at every member of concatenated sequences.

    | input | shape |
    |---|---|
    | flat | members of all sequences × width |
    | sizes | sequences, how many members each has, at least one |
    """
    with torch.autocast(flat.device.type, enabled=False):
        packed, _ = lstm(pack_sequence(list(torch.split(flat.float(), sizes.tolist())), enforce_sorted=False))
        return torch.cat(unpack_sequence(packed))


def last(lstm: nn.Module, padded: Tensor, sizes: Tensor) -> Tensor:
    """The last state of each direction, side by side, for each row; a row has as many members as `sizes` says."""
    with torch.autocast(padded.device.type, enabled=False):
        packed = pack_padded_sequence(padded.float(), sizes.cpu(), batch_first=True, enforce_sorted=False)
        _, (hidden, _) = lstm(packed)
        return torch.cat(tuple(hidden), dim=1)
