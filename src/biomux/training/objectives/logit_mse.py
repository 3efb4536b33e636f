"""The squared difference of logits: how a student follows its teacher in paper E."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


def summed(logits: Tensor, target: Tensor) -> Tensor:
    """The sum over positions of the mean over labels of (student − teacher)².

    Unlike `kl_divergence`, it also distinguishes logits that differ by a constant, which give the same probabilities.

    | input | shape |
    |---|---|
    | logits | positions × labels |
    | target | positions × labels: the teacher's logits |

    >>> import torch
    >>> summed(torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 1.0]])).item()
    2.5
    """
    return functional.mse_loss(logits.float(), target.float(), reduction="sum") / logits.shape[-1]
