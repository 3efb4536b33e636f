"""The squared difference of a number for each position: paper B's similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


def summed(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over positions of (prediction − label)².

    | input | shape |
    |---|---|
    | logits | positions × 1 |
    | labels | positions |

    >>> import torch
    >>> summed(torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0])).item()
    5.0
    """
    return functional.mse_loss(logits.float().reshape(labels.shape), labels, reduction="sum")
