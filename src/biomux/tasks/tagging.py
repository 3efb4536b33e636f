"""Tagging: mentions of types, as a tag for each word.

Labels are O, then B- and I- of each type (scheme "bio"), or B-, I-, E-, S- (scheme "bioes"). One head holds one flat layer of
mentions: of gold mentions that overlap within a head the longer is kept and the other counted as dropped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from biomux.document import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from biomux.text.pieces import Pieces

MASKED = -100
"""The label of a position that says nothing to a head."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A label for each word, and what could not be expressed: mentions by reason."""

    labels: NDArray[np.int32]
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Tagging:
    """The tagging task of one head.

    >>> Tagging("bc5cdr", ("Chemical", "Disease")).labels
    ('O', 'B-Chemical', 'I-Chemical', 'B-Disease', 'I-Disease')
    """

    name: str
    types: tuple[str, ...]
    scheme: Literal["bio", "bioes"] = "bio"
    kind: Literal["tagging"] = "tagging"

    @property
    def labels(self) -> tuple[str, ...]:
        """The label space, in the order of a head's outputs."""
        prefixes = "BI" if self.scheme == "bio" else "BIES"
        return ("O", *(f"{prefix}-{type_}" for type_ in self.types for prefix in prefixes))

    def encode(self, spans: Iterable[Span], pieces: Pieces) -> Encoded:
        """The label of each word. A mention that begins or ends inside a word takes the whole word, and that is counted."""
        labels = np.zeros(pieces.words, dtype=np.int32)
        dropped: Counter[str] = Counter()
        taken = np.zeros(pieces.words, dtype=bool)
        stride = 2 if self.scheme == "bio" else 4
        for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
            if span.type not in self.types:
                continue
            begin = int(np.searchsorted(pieces.ends, span.start, side="right"))
            end = int(np.searchsorted(pieces.starts, span.end, side="left"))
            if begin >= end:
                dropped["no word at its place"] += 1
                continue
            if taken[begin:end].any():
                dropped["overlaps a longer one"] += 1
                continue
            if pieces.starts[begin] != span.start or pieces.ends[end - 1] != span.end:
                dropped["widened to whole words"] += 1
            taken[begin:end] = True
            base = 1 + stride * self.types.index(span.type)
            labels[begin:end] = base + 1
            labels[begin] = base
            if self.scheme == "bioes":
                labels[end - 1] = base + 2
                if end - begin == 1:
                    labels[begin] = base + 3
        return Encoded(labels, dropped)

    def decode(self, probabilities: NDArray[np.float32], pieces: Pieces) -> list[Span]:
        """The mentions of the most probable valid tag sequence.

        A mention's score is the smallest probability among its words' tags.
        """
        tags = best_sequence(probabilities, self.scheme)
        return self.spans(tags, probabilities, pieces)

    def spans(self, tags: NDArray[np.intp], probabilities: NDArray[np.float32], pieces: Pieces) -> list[Span]:
        """The mentions of a valid tag sequence."""
        found: list[Span] = []
        inside = np.flatnonzero(tags)
        if not len(inside):
            return found
        stride = 2 if self.scheme == "bio" else 4
        position = (tags - 1) % stride
        begins = (position == 0) if stride == 2 else (position == 0) | (position == 3)
        starts = [int(index) for index in inside if begins[index]]
        for order, start in enumerate(starts):
            limit = starts[order + 1] if order + 1 < len(starts) else len(tags)
            end = start + 1
            while end < limit and tags[end]:
                end += 1
            score = float(probabilities[np.arange(start, end), tags[start:end]].min())
            type_ = self.types[(int(tags[start]) - 1) // stride]
            found.append(Span(int(pieces.starts[start]), int(pieces.ends[end - 1]), type_, score=score, head=self.name))
        return found


def best_sequence(probabilities: NDArray[np.float32], scheme: str = "bio") -> NDArray[np.intp]:
    """The most probable tag sequence that the scheme allows.

    The most probable tag of each word is the answer wherever that is a valid sequence, which it nearly always is; only otherwise
    is the search of Viterbi needed.
    """
    tags: NDArray[np.intp] = probabilities.argmax(axis=1)
    allowed, start, stop = transitions(probabilities.shape[1], scheme)
    if not len(tags) or (start[tags[0]] and stop[tags[-1]] and allowed[tags[:-1], tags[1:]].all()):
        return tags
    scores = np.log(np.maximum(probabilities, 1e-30))
    ban = np.float32(-1e9)
    table = scores[0] + np.where(start, 0, ban)
    back = np.zeros(scores.shape, dtype=np.intp)
    steps = np.where(allowed, np.float32(0), ban)
    for index in range(1, len(scores)):
        candidates = table[:, None] + steps
        back[index] = candidates.argmax(axis=0)
        table = candidates.max(axis=0) + scores[index]
    tags[-1] = (table + np.where(stop, 0, ban)).argmax()
    for index in range(len(scores) - 1, 0, -1):
        tags[index - 1] = back[index, tags[index]]
    return tags


_TABLES: dict[tuple[int, str], tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]] = {}


def transitions(labels: int, scheme: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which label may follow which; which may come first; which last."""
    if (labels, scheme) not in _TABLES:
        names = Tagging("", tuple(map(str, range((labels - 1) // (2 if scheme == "bio" else 4)))), scheme).labels  # type: ignore[arg-type]
        allowed = np.array([[_may_follow(left, right, scheme) for right in names] for left in names])
        start = np.array([_may_follow("O", name, scheme) for name in names])
        stop = np.array([_may_follow(name, "O", scheme) for name in names])
        _TABLES[labels, scheme] = allowed, start, stop
    return _TABLES[labels, scheme]


def _may_follow(left: str, right: str, scheme: str) -> bool:
    open_before = left[0] in ("BI" if scheme == "bioes" else "")
    if right[0] in "IE":
        return left[0] in "BI" and left[1:] == right[1:]
    return not open_before


def types_in(spans: Sequence[Span]) -> tuple[str, ...]:
    """The types that occur, sorted."""
    return tuple(sorted({span.type for span in spans}))
