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
    """The inner head gives emissions; `between`, `first` and `last` are the scores of one tag after another, and at the ends.

    Its own loss needs whole sequences, so it has `loss`, where other heads have logits and an objective.
    """

    objective = "crf"

    def __init__(self, head: nn.Module, labels: int) -> None:
        super().__init__()
        self.head = head
        self.between = nn.Parameter(torch.zeros(labels, labels))
        self.first = nn.Parameter(torch.zeros(labels))
        self.last = nn.Parameter(torch.zeros(labels))

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """The emissions, one row per word."""
        emissions: Tensor = self.head(features, rows)
        return emissions

    def loss(self, features: Features, rows: Tensor, labels: Tensor) -> Tensor:
        """The negative log-likelihood of the labels at the rows; words that are not among them may have any label."""
        chain = sequences(features)
        word_labels = torch.full((len(features.words),), MASKED, device=labels.device)
        word_labels[word_at(features, rows)] = labels
        labelled = torch.zeros(len(chain.sizes), dtype=torch.bool, device=labels.device)
        labelled[chain.row[word_labels != MASKED]] = True
        emissions = chain.laid_out(self.head(features, features.words))
        return crf.summed(
            emissions[labelled],
            chain.laid_out(word_labels, MASKED)[labelled],
            chain.present[labelled],
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
    """`head` is the kind of the inner head; the other settings are its own."""
    from biomux.training.heads import HEADS

    return CRF(HEADS[head](width, labels, **settings), labels)
