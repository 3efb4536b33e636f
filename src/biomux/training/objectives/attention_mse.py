"""The squared difference of a student's and its teacher's attention maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def summed(attention: Tensor, target: Tensor, present: Tensor) -> Tensor:
    """The sum over reading tokens of the mean over heads and read tokens of (student − teacher)².

    | input | shape |
    |---|---|
    | attention | windows × heads × length × length: how much of each token (last) each token (second last) reads |
    | target | the same shape: the teacher's maps |
    | present | windows × length, true for tokens, false for padding |

    >>> import torch
    >>> ours, theirs = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]]), torch.tensor([[[[0.0, 1.0], [0.5, 0.5]]]])
    >>> summed(ours, theirs, torch.ones(1, 2, dtype=torch.bool)).item()
    1.0
    """
    pairs = (present[:, None, :, None] & present[:, None, None, :]).float()
    tokens_read = present.sum(dim=1).clamp(min=1)[:, None, None, None]
    return ((attention.float() - target.float()) ** 2 * pairs / tokens_read).sum() / attention.shape[1]
