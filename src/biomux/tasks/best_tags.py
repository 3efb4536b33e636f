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


def faults(tags: NDArray[np.intp], words: NDArray[np.int64], *, labels: int, scheme: str) -> dict[int, list[int]]:
    """Row of a batch → the words of it before which its tags break the scheme; the number of its words for a fault at its end. Valid rows are left out."""
    allowed, start, stop = transitions(labels, scheme)
    rows = np.flatnonzero(words)
    ends = np.cumsum(words)[rows]
    begins = ends - words[rows]
    inner = ~allowed[tags[:-1], tags[1:]]
    inner[begins[1:] - 1] = False
    places = np.flatnonzero(inner) + 1
    inside = np.searchsorted(ends, places, side="right")
    opening, closing = np.flatnonzero(~start[tags[begins]]), np.flatnonzero(~stop[tags[ends - 1]])
    broken = rows[np.concatenate([opening, inside, closing])]
    within = np.concatenate([np.zeros_like(opening), places - begins[inside], (ends - begins)[closing]])
    by_row: dict[int, list[int]] = {}
    for row, place in sorted(zip(broken.tolist(), within.tolist(), strict=True)):
        by_row.setdefault(row, []).append(place)
    return by_row


def best_sequence(probabilities: NDArray[np.float32], scheme: str = "bio") -> NDArray[np.intp]:
    """The most probable tag sequence that the scheme allows."""
    tags: NDArray[np.intp] = probabilities.argmax(axis=1)
    found = faults(tags, np.array([len(tags)]), labels=probabilities.shape[1], scheme=scheme)
    return repaired(tags, found[0], probabilities, scheme) if found else tags


def repaired(
    tags: NDArray[np.intp], places: Iterable[int], probabilities: NDArray[np.float32], scheme: str
) -> NDArray[np.intp]:
    """The most probable sequence that the scheme allows, where the most probable tag of each word breaks it at these places (`faults`).

    The most probable tag of each word is the answer wherever that is a valid sequence, which it nearly always is. Elsewhere the search of Viterbi is made
    over the few words around each fault, free of their neighbours; if what it finds fits the neighbours' tags, no sequence of all words is more
    probable. If not, it is made over more words.
    """
    tags = tags.copy()
    allowed, _, _ = transitions(probabilities.shape[1], scheme)
    scores = np.log(np.maximum(probabilities, 1e-30))
    between, first, last = _banned(probabilities.shape[1], scheme)
    free = np.zeros_like(first)
    searched: list[tuple[int, int]] = []
    for fault in places:
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
    back: list[NDArray[np.intp]] = []
    for row in scores[1:]:
        candidates = table[:, None] + between
        back.append(candidates.argmax(axis=0))
        table = np.maximum.reduce(candidates) + row
    labels[-1] = label = (table + last).argmax()
    for index in range(len(back), 0, -1):
        labels[index - 1] = label = back[index - 1][label]
    return labels
