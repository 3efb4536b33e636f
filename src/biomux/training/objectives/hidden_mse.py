"""The squared difference of a student's and its teacher's states: of a layer, or (layer 0) of the embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


def summed(states: Tensor, target: Tensor, present: Tensor) -> Tensor:
    """The sum over tokens of the mean over the width of (student − teacher)².

    If the widths differ, the loop first applies a learned projection to the student's states.

    | input | shape |
    |---|---|
    | states | windows × length × width |
    | target | windows × length × width: the teacher's states |
    | present | windows × length, true for tokens, false for padding |

    >>> import torch
    >>> summed(torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 1.0]]]), torch.tensor([[True]])).item()
    2.5
    """
    student = states[present].float()
    return functional.mse_loss(student, target[present].float(), reduction="sum") / states.shape[-1]
