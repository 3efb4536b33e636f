"""The Kullback-Leibler divergence of a student's attention maps from its teacher's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

LEAST = 1e-9
"""Replaces an attention of zero, which has no logarithm."""


def summed(attention: Tensor, target: Tensor, present: Tensor) -> Tensor:
    """The sum over reading tokens of the mean over heads of KL(student ‖ teacher) over the tokens that are read.

    | input | shape |
    |---|---|
    | attention | windows × heads × length × length: how much of each token (last) each token (second last) reads |
    | target | the same shape: the teacher's maps |
    | present | windows × length, true for tokens, false for padding |

    >>> import torch
    >>> ours, theirs = torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]]), torch.tensor([[[[0.25, 0.75], [1.0, 0.0]]]])
    >>> round(summed(ours, theirs, torch.ones(1, 2, dtype=torch.bool)).item(), 4)   # 0.5 · log 2 + 0.5 · log 2/3
    0.1438
    """
    pairs = (present[:, None, :, None] & present[:, None, None, :]).float()
    ours, theirs = attention.float().clamp(min=LEAST), target.float().clamp(min=LEAST)
    return (ours * (torch.log(ours) - torch.log(theirs)) * pairs).sum() / attention.shape[1]
