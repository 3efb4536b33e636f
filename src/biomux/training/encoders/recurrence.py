"""A BiLSTM over padded rows, several times as fast as packed sequences on a CPU.

Each direction is a separate LSTM, and the backward one reads each row from its last word on: padding always comes last, and
never affects what comes before it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Recurrence(nn.Module):
    """Both directions side by side are as wide as the input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ahead = nn.LSTM(width, width // 2, batch_first=True)
        self.back = nn.LSTM(width, width // 2, batch_first=True)

    def forward(self, hidden: Tensor, sizes: Tensor) -> Tensor:
        """States of rows × length × width; a row has as many members as `sizes` says, and the states beyond them are meaningless."""
        places = torch.arange(hidden.shape[1], device=hidden.device)[None, :]
        turned = torch.where(places < sizes[:, None], sizes[:, None] - 1 - places, places)[..., None]
        forward_states, _ = self.ahead(hidden)
        backward_states, _ = self.back(hidden.gather(1, turned.expand_as(hidden)))
        return torch.cat([forward_states, backward_states.gather(1, turned.expand_as(backward_states))], dim=-1)
