"""Cross-entropy of each label by itself: several may be right at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from biomux.tasks.examples import MASKED

if TYPE_CHECKING:
    from torch import Tensor


def summed(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over positions of the mean over labels of −log σ(±logit); a masked label does not count.

    | input | shape |
    |---|---|
    | logits | positions × labels |
    | labels | positions × labels, 0, 1 or masked |

    >>> import torch
    >>> round(summed(torch.zeros(2, 4), torch.tensor([[0.0, 1, 0, 0], [1, 1, 0, 0]])).item(), 4)   # 2 · log 2
    1.3863
    """
    unmasked = labels != MASKED
    gold = labels.clamp(min=0).float()
    losses = functional.binary_cross_entropy_with_logits(logits.float(), gold, reduction="none")
    return (losses * unmasked).sum() / labels.shape[1]
