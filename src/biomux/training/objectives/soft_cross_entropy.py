"""Cross-entropy against a teacher's probabilities instead of a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor


def summed(logits: Tensor, target: Tensor, *, temperature: float = 1.0) -> Tensor:
    """The sum over positions of −Σ teacher · log student, times temperature².

    It differs from `kl_divergence` (teacher-student) only by the teacher's entropy, so the gradients are the same; it does not reach zero.

    | input | shape |
    |---|---|
    | logits | positions × labels |
    | target | positions × labels: the teacher's logits |

    >>> import torch
    >>> round(summed(torch.zeros(2, 4), torch.tensor([[9.0, 0, 0, 0], [0, 0, 0, 0]])).item(), 4)   # 2 · log 4
    2.7726
    """
    ours = functional.log_softmax(logits.float() / temperature, dim=-1)
    theirs = functional.softmax(target.float() / temperature, dim=-1)
    return -(theirs * ours).sum() * temperature**2
