"""The cosine distance between a student's and its teacher's states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


def summed(states: Tensor, target: Tensor, present: Tensor) -> Tensor:
    """The sum over tokens of 1 − cos(student, teacher).

    | input | shape |
    |---|---|
    | states | windows × length × width |
    | target | windows × length × width: the teacher's states |
    | present | windows × length, true for tokens, false for padding |

    >>> import torch
    >>> same, opposite = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[-3.0, 0.0]]])
    >>> summed(same, opposite, torch.tensor([[True]])).item()
    2.0
    """
    return (1 - functional.cosine_similarity(states[present].float(), target[present].float(), dim=-1)).sum()
