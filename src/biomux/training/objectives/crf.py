"""The negative log-likelihood of tag sequences under a linear-chain conditional random field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from biomux.tasks.examples import MASKED

if TYPE_CHECKING:
    from torch import Tensor


def summed(
    emissions: Tensor, labels: Tensor, present: Tensor, *, between: Tensor, first: Tensor, last: Tensor
) -> Tensor:
    """The sum over sequences of −log P(labels | emissions).

    A word whose label is MASKED may have any: its sequence's likelihood is that of all tag sequences with the known labels. It
    needs the words of a sequence in order, where cross-entropy takes each position by itself.

    | input | shape |
    |---|---|
    | emissions | sequences × words × labels |
    | labels | sequences × words |
    | present | sequences × words, true for the words of each sequence, which come first; at least one |
    | between | labels × labels: the score of one label after another |
    | first, last | labels: the score of beginning and ending with one |

    >>> import torch
    >>> nothing = torch.zeros(4)
    >>> labels, present = torch.tensor([[0, 3]]), torch.ones(1, 2, dtype=torch.bool)
    >>> loss = summed(torch.zeros(1, 2, 4), labels, present, between=torch.zeros(4, 4), first=nothing, last=nothing)
    >>> round(loss.item(), 4)                            # 2 · log 4
    2.7726
    """
    scores = emissions.float()
    every = torch.arange(scores.shape[2], device=scores.device)
    barred = (labels[..., None] != MASKED) & (labels[..., None] != every)
    right = total(scores.masked_fill(barred, float("-inf")), present, between=between, first=first, last=last)
    return (total(scores, present, between=between, first=first, last=last) - right).sum()


def total(emissions: Tensor, present: Tensor, *, between: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """The log of the summed exponentials of all tag sequences' scores, for each sequence."""
    table = first + emissions[:, 0]
    for place in range(1, emissions.shape[1]):
        extended = torch.logsumexp(table[:, :, None] + between, dim=1) + emissions[:, place]
        table = torch.where(present[:, place, None], extended, table)
    return torch.logsumexp(table + last, dim=1)
