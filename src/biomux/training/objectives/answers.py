"""Where an answer begins and where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


def summed(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over windows of the mean of both cross-entropies.

    | input | shape |
    |---|---|
    | logits | windows × length × 2 |
    | labels | windows × 2: first and last place, both 0 for no answer |

    >>> import torch
    >>> round(summed(torch.zeros(1, 4, 2), torch.tensor([[1, 3]])).item(), 4)   # log 4
    1.3863
    """
    begins = functional.cross_entropy(logits[..., 0].float(), labels[:, 0], reduction="sum")
    ends = functional.cross_entropy(logits[..., 1].float(), labels[:, 1], reduction="sum")
    return 0.5 * (begins + ends)
