"""Cross-entropy of a label for each position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


def summed(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over positions of −log softmax(logits)[label].

    | input | shape |
    |---|---|
    | logits | positions × labels |
    | labels | positions |

    >>> import torch
    >>> round(summed(torch.zeros(2, 4), torch.tensor([0, 3])).item(), 4)   # 2 · log 4
    2.7726
    """
    return functional.cross_entropy(logits.float(), labels, reduction="sum")
