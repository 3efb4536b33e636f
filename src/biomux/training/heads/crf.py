"""A linear-chain conditional random field over another head's logits: which tag follows which is learned too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from biomux.tasks.crf_decoding import Chained, Transitions
from biomux.tasks.examples import MASKED
from biomux.training.heads.sequence import sequences, word_at
from biomux.training.objectives import crf

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.tasks.tagging import Tagging
    from biomux.tasks.task import Task
    from biomux.training.heads.features import Features


class CRF(nn.Module):
    """The head inside gives emissions; `between`, `first` and `last` are the scores of tag after tag, and at the ends.

    Its own loss needs whole sequences, so it has `loss` where other heads have logits and an objective.
    """

    objective = "crf"

    def __init__(self, head: nn.Module, labels: int) -> None:
        super().__init__()
        self.head = head
        self.between = nn.Parameter(torch.zeros(labels, labels))
        self.first = nn.Parameter(torch.zeros(labels))
        self.last = nn.Parameter(torch.zeros(labels))

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """The emissions, a row for each word."""
        found: Tensor = self.head(features, rows)
        return found

    def loss(self, features: Features, rows: Tensor, labels: Tensor) -> Tensor:
        """The negative log-likelihood of the labels at the rows; words that are not among them may have any label."""
        chain = sequences(features)
        known = torch.full((len(features.words),), MASKED, device=labels.device)
        known[word_at(features, rows)] = labels
        asked = torch.zeros(len(chain.sizes), dtype=torch.bool, device=labels.device)
        asked[chain.row[known != MASKED]] = True
        emissions = chain.laid_out(self.head(features, features.words))
        return crf.summed(
            emissions[asked],
            chain.laid_out(known, MASKED)[asked],
            chain.present[asked],
            between=self.between,
            first=self.first,
            last=self.last,
        )

    def transitions(self) -> Transitions:
        """What decoding needs."""
        return Transitions(*(part.detach().float().cpu().numpy() for part in (self.between, self.first, self.last)))


def chained(task: Task, head: nn.Module) -> Task:
    """The task as it is decoded: with the transitions of its head, if that has learned any."""
    return Chained.of(cast("Tagging", task), head.transitions()) if isinstance(head, CRF) else task


def build(width: int, labels: int, *, head: str = "linear", **settings: Any) -> nn.Module:
    """`head` is the kind of the head inside; the other settings are its own."""
    from biomux.training.heads import HEADS

    return CRF(HEADS[head](width, labels, **settings), labels)
