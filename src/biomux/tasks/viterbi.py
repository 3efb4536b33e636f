"""The search of Viterbi: the sequence of labels with the largest summed score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BAN = np.float32(-1e9)
"""The score of what is not allowed: far below any sum of learned scores."""


def search(scores: Floats, *, between: Floats, first: Floats, last: Floats) -> NDArray[np.intp]:
    """The best labels of words with these scores, `between[i, j]` being that of label j after label i; of equal ones the lower.

    >>> stay = np.array([[0, -9], [-9, 0]], np.float32)
    >>> search(np.array([[3, 0], [0, 1], [3, 0]], np.float32), between=stay, first=stay[0] * 0, last=stay[0] * 0).tolist()
    [0, 0, 0]
    """
    labels = np.zeros(len(scores), dtype=np.intp)
    if not len(scores):
        return labels
    table = scores[0] + first
    back = np.zeros(scores.shape, dtype=np.intp)
    for index in range(1, len(scores)):
        candidates = table[:, None] + between
        back[index] = candidates.argmax(axis=0)
        table = candidates.max(axis=0) + scores[index]
    labels[-1] = (table + last).argmax()
    for index in range(len(scores) - 1, 0, -1):
        labels[index - 1] = back[index, labels[index]]
    return labels
