"""The most probable tag sequence that a scheme allows: which tag may follow which, and the search of Viterbi."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BAN = np.float32(-1e9)
"""The score of what is not allowed: far below any sum of learned scores."""


def label_names(types: Iterable[str], scheme: str) -> tuple[str, ...]:
    """The labels of a head with these types, in the order of its outputs.

    >>> label_names(["gene"], "bioes")
    ('O', 'B-gene', 'I-gene', 'E-gene', 'S-gene')
    """
    prefixes = "BI" if scheme == "bio" else "BIES"
    return ("O", *(f"{prefix}-{type_}" for type_ in types for prefix in prefixes))


def invalid_rows(tags: NDArray[np.intp], ends: NDArray[np.int64], labels: int, scheme: str) -> NDArray[np.intp]:
    """The rows of a batch whose tags are no sequence that the scheme allows. A row without words is none."""
    allowed, start, stop = transitions(labels, scheme)
    last = np.zeros(len(tags), dtype=bool)
    last[ends[ends > 0] - 1] = True
    wrong = np.zeros(len(tags), dtype=bool)
    wrong[1:] = ~allowed[tags[:-1], tags[1:]] & ~last[:-1]
    first = np.append(True, last[:-1])
    wrong |= (first & ~start[tags]) | (last & ~stop[tags])
    return np.unique(np.searchsorted(ends, np.flatnonzero(wrong), side="right"))


def best_sequence(probabilities: NDArray[np.float32], scheme: str = "bio") -> NDArray[np.intp]:
    """The most probable tag sequence that the scheme allows.

    The most probable tag of each word is the answer wherever that is a valid sequence, which it nearly always is. Elsewhere the search of Viterbi is made
    over the few words around each fault, free of their neighbours; if what it finds fits the neighbours' tags, no sequence of all words is more
    probable. If not, it is made over more words.
    """
    tags: NDArray[np.intp] = probabilities.argmax(axis=1)
    allowed, start, stop = transitions(probabilities.shape[1], scheme)
    if not len(tags):
        return tags
    faults = (np.flatnonzero(~allowed[tags[:-1], tags[1:]]) + 1).tolist()
    if not start[tags[0]]:
        faults.insert(0, 0)
    if not stop[tags[-1]]:
        faults.append(len(tags))
    if not faults:
        return tags
    scores = np.log(np.maximum(probabilities, 1e-30))
    between, first, last = _banned(probabilities.shape[1], scheme)
    free = np.zeros_like(first)
    searched: list[tuple[int, int]] = []
    for fault in faults:
        if searched and fault < searched[-1][1]:
            continue
        begin, end, more = max(0, fault - 1), min(len(tags), fault + 1), 1
        while True:
            while searched and searched[-1][1] > begin:
                begin = min(begin, searched.pop()[0])
            opening = free if begin else first
            closing = free if end < len(tags) else last
            path = search(scores[begin:end], between=between, first=opening, last=closing)
            fits_left = not begin or allowed[tags[begin - 1], path[0]]
            fits_right = end == len(tags) or allowed[path[-1], tags[end]]
            if fits_left and fits_right:
                break
            begin = begin if fits_left else max(0, begin - more)
            end = end if fits_right else min(len(tags), end + more)
            more *= 2
        tags[begin:end] = path
        searched.append((begin, end))
    return tags


@cache
def _banned(labels: int, scheme: str) -> tuple[NDArray[np.float32], ...]:
    """`transitions` as scores: 0, or as good as impossible."""
    return tuple(np.where(part, np.float32(0), BAN) for part in transitions(labels, scheme))


_TABLES: dict[tuple[int, str], tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]] = {}


def transitions(labels: int, scheme: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which label may follow which; which may come first; which last."""
    if (labels, scheme) not in _TABLES:
        names = label_names(map(str, range((labels - 1) // (2 if scheme == "bio" else 4))), scheme)
        allowed = np.array([[_may_follow(before, after, scheme) for after in names] for before in names])
        start = np.array([_may_follow("O", name, scheme) for name in names])
        stop = np.array([_may_follow(name, "O", scheme) for name in names])
        _TABLES[labels, scheme] = allowed, start, stop
    return _TABLES[labels, scheme]


def _may_follow(before: str, after: str, scheme: str) -> bool:
    open_before = before[0] in ("BI" if scheme == "bioes" else "")
    if after[0] in "IE":
        return before[0] in "BI" and before[1:] == after[1:]
    return not open_before


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
