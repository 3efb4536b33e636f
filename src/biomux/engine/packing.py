"""Packing: windows of like length become batches.

A batch holds windows of one padded length only. Little is padded, and what a window's answer is does not depend on which windows
it was read with: the padded length of a window is its own, and every row of a batch is computed alike.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from biomux.tasks.examples import ModelInput
    from biomux.text.tokens import Tokens


BUDGET = 1024
"""Tokens of a batch unless something else is asked for: docs/explanation/performance.md has the table that it was chosen from."""


@dataclass(frozen=True, slots=True)
class Specials:
    """Vocabulary indices of the tokens that a text does not have: padding, and what stands before and after a window."""

    pad: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What a session reads.

    `ids` and `mask` have a row for each window; `first` are the places of words' first tokens in the flattened rows, window by
    window; `words` says how many of them each window has; `windows` says which windows these are. `segments` is there where a
    row has a prefix: 0 for it, 1 for what follows. `pairs` are pairs of spans that a head is asked about: the places of the first
    and last word of one and of the other, window by window. `heads` names those that will be looked at, all if None: a session
    need not compute what others say.
    """

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    first: NDArray[np.int64]
    words: NDArray[np.int64]
    windows: NDArray[np.int64]
    segments: NDArray[np.int64] | None = None
    pairs: NDArray[np.int64] | None = None
    heads: frozenset[str] | None = None


def padded(size: int) -> int:
    """The length to which a row of `size` tokens is padded: steps of 2 up to 128, then of 4.

    >>> [padded(size) for size in (3, 8, 33, 65, 130)]
    [4, 8, 34, 66, 132]
    """
    step = 2 if size <= 128 else 4
    return -(-size // step) * step


def pack(windows: Sequence[Tokens], *, specials: Specials, budget: int) -> Iterator[Batch]:
    """Batches of at most `budget` tokens (at least one window), padding included, longest windows first: what is left at the end, when cores run dry, is short."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, window in enumerate(windows):
        by_length[padded(len(window) + 2)].append(index)
    for length in sorted(by_length, reverse=True):
        members = by_length[length]
        rows = max(1, budget // length)
        for begin in range(0, len(members), rows):
            yield _batch(windows, members[begin : begin + rows], length, specials)


def _batch(windows: Sequence[Tokens], members: Sequence[int], length: int, specials: Specials) -> Batch:
    ids = np.full((len(members), length), specials.pad, dtype=np.int64)
    mask = np.zeros((len(members), length), dtype=np.int64)
    ids[:, 0] = specials.before
    first = []
    for row, index in enumerate(members):
        window = windows[index]
        size = len(window)
        ids[row, 1 : size + 1] = window.ids
        ids[row, size + 1] = specials.after
        mask[row, : size + 2] = 1
        first.append(window.first + (row * length + 1))
    words = np.array([windows[index].words for index in members], dtype=np.int64)
    return Batch(ids, mask, np.concatenate(first).astype(np.int64), words, np.array(members, dtype=np.int64))


def pack_readings(readings: Sequence[ModelInput], *, specials: Specials, budget: int) -> Iterator[Batch]:
    """As `pack`, for readings: rows with a prefix, or with pairs of spans."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, reading in enumerate(readings):
        by_length[padded(reading.size)].append(index)
    for length in sorted(by_length, reverse=True):
        members = by_length[length]
        rows = max(1, budget // length)
        for begin in range(0, len(members), rows):
            chosen = members[begin : begin + rows]
            yield lay_out([readings[index] for index in chosen], length, specials, windows=chosen)


def lay_out(readings: Sequence[ModelInput], length: int, specials: Specials, *, windows: Sequence[int]) -> Batch:
    """Readings as rows of one length."""
    ids = np.full((len(readings), length), specials.pad, dtype=np.int64)
    mask = np.zeros((len(readings), length), dtype=np.int64)
    segments = np.zeros_like(mask) if any(reading.prefix is not None for reading in readings) else None
    ids[:, 0] = specials.before
    first, pairs = [], []
    for row, reading in enumerate(readings):
        begin, end = reading.begin, reading.begin + len(reading.tokens)
        if reading.prefix is not None and segments is not None:
            ids[row, 1 : begin - 1] = reading.prefix.ids
            ids[row, begin - 1] = specials.after
            segments[row, begin : end + 1] = 1
        ids[row, begin:end] = reading.tokens.ids
        ids[row, end] = specials.after
        mask[row, : end + 1] = 1
        places = reading.tokens.first.astype(np.int64) + (row * length + begin)
        first.append(places)
        if reading.pairs is not None:
            pairs.append(places[reading.pairs])
    return Batch(
        ids,
        mask,
        np.concatenate(first) if first else np.zeros(0, dtype=np.int64),
        np.array([reading.tokens.words for reading in readings], dtype=np.int64),
        np.array(windows, dtype=np.int64),
        segments,
        np.concatenate(pairs) if pairs else None,
    )
