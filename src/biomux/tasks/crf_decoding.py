"""Decoding with transition scores: a linear-chain conditional random field, in numpy.

Scores of words may be logits or logarithms of probabilities: what is the same for all labels of a word changes nothing. With a
scheme, tag sequences that it does not allow have no probability.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from biomux.tasks.best_tags import BAN, search, transitions
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import Tagging
from biomux.tasks.word_spans import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from biomux.tasks.word_spans import ByRow

    Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Transitions:
    """`between[i, j]` is the score of label j after label i; `first` and `last` are those of beginning and ending with one."""

    between: Floats
    first: Floats
    last: Floats

    @classmethod
    def none(cls, labels: int) -> Transitions:
        """Nothing learned: all scores are 0."""
        nothing = np.zeros(labels, dtype=np.float32)
        return cls(np.zeros((labels, labels), dtype=np.float32), nothing, nothing)

    def within(self, scheme: str | None) -> Transitions:
        """The same, with what the scheme does not allow as good as impossible."""
        if scheme is None:
            return self
        allowed, start, stop = transitions(len(self.first), scheme)
        return Transitions(
            np.where(allowed, self.between, BAN),
            np.where(start, self.first, BAN),
            np.where(stop, self.last, BAN),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Chained(Tagging):
    """A tagging task whose head has learned transitions. Its probabilities are those of the logits at temperature 1.

    A mention's score is the smallest of its tags' marginal probabilities: over all tag sequences that the scheme allows, given all words. It
    is no probability of the mention as a whole, which would be at most that.
    """

    learned: Transitions | None = None

    @classmethod
    def of(cls, task: Tagging, learned: Transitions) -> Chained:
        """The task, decoded with transitions."""
        return cls(**{field.name: getattr(task, field.name) for field in fields(Tagging)}, learned=learned)

    def word_spans(self, logits: Floats, words: NDArray[np.int64]) -> ByRow:
        """The entities of the best tag sequence of each row; an entity's score is the smallest of its tags' probabilities given all words."""
        tags, chances = np.zeros(len(logits), dtype=np.intp), np.zeros(len(logits), dtype=np.float32)
        learned = self.learned or Transitions.none(logits.shape[1])
        ends = np.cumsum(words)
        for size, end in zip(words.tolist(), ends.tolist(), strict=True):
            inside = slice(end - size, end)
            scores = np.log(np.maximum(softmax(logits[inside]), 1e-30))
            tags[inside] = path = best_path(scores, learned, self.scheme)
            if path.any():
                chances[inside] = marginals(scores, learned, self.scheme)[np.arange(size), path]
        tagged = np.flatnonzero(tags)
        return ranges([self.types], tags, tagged, chances[tagged], words, self.scheme)[0]


def best_path(scores: Floats, learned: Transitions, scheme: str | None = None) -> NDArray[np.intp]:
    """The tag sequence of the largest summed score.

    >>> stay = Transitions(np.array([[0, -9], [-9, 0]], np.float32), np.zeros(2, np.float32), np.zeros(2, np.float32))
    >>> best_path(np.array([[3, 0], [0, 1], [3, 0]], np.float32), stay).tolist()
    [0, 0, 0]
    """
    steps = learned.within(scheme)
    return search(scores, between=steps.between, first=steps.first, last=steps.last)


def marginals(scores: Floats, learned: Transitions, scheme: str | None = None) -> Floats:
    """The probability of each label of each word, over all tag sequences; forward and backward."""
    if not len(scores):
        return scores
    steps = learned.within(scheme)
    between = steps.between.astype(np.float64)
    # In logarithms and double precision: products of many small probabilities would vanish.
    ahead, behind = np.zeros(scores.shape), np.zeros(scores.shape)
    ahead[0] = steps.first + scores[0]
    behind[-1] = steps.last
    for index in range(1, len(scores)):
        ahead[index] = np.logaddexp.reduce(ahead[index - 1][:, None] + between, axis=0) + scores[index]
    for index in range(len(scores) - 2, -1, -1):
        behind[index] = np.logaddexp.reduce(between + scores[index + 1] + behind[index + 1], axis=1)
    whole = ahead + behind
    whole -= np.logaddexp.reduce(whole, axis=1)[:, None]
    return np.exp(whole).astype(np.float32)
