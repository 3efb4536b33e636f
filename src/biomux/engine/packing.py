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


def pack(
    inputs: Sequence[ModelInput], *, specials: Specials, budget: int, heads: frozenset[str] | None = None
) -> Iterator[Batch]:
    """Batches of at most `budget` tokens (at least one input), padding included, longest inputs first: what is left at the end, when cores run dry, is short.

    Inputs with a prefix are not put beside those without: these have no segments.
    """
    by_length: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for index, input_ in enumerate(inputs):
        by_length[padded(input_.size), input_.prefix is not None].append(index)
    for length, prefixed in sorted(by_length, reverse=True):
        members = by_length[length, prefixed]
        rows = max(1, budget // length)
        for begin in range(0, len(members), rows):
            chosen = members[begin : begin + rows]
            yield lay_out([inputs[index] for index in chosen], length, specials, windows=chosen, heads=heads)


def lay_out(
    inputs: Sequence[ModelInput],
    length: int,
    specials: Specials,
    *,
    windows: Sequence[int],
    heads: frozenset[str] | None = None,
) -> Batch:
    """Inputs as rows of one length."""
    ids = np.full((len(inputs), length), specials.pad, dtype=np.int64)
    mask = np.zeros((len(inputs), length), dtype=np.int64)
    segments = np.zeros_like(mask) if any(input_.prefix is not None for input_ in inputs) else None
    ids[:, 0] = specials.before
    first, pairs = [], []
    for row, input_ in enumerate(inputs):
        begin, end = input_.begin, input_.begin + len(input_.tokens)
        if input_.prefix is not None and segments is not None:
            ids[row, 1 : begin - 1] = input_.prefix.ids
            ids[row, begin - 1] = specials.after
            segments[row, begin : end + 1] = 1
        ids[row, begin:end] = input_.tokens.ids if input_.hidden is None else input_.hidden
        ids[row, end] = specials.after
        mask[row, : end + 1] = 1
        places = input_.tokens.first + (row * length + begin)
        first.append(places)
        if input_.pairs is not None:
            pairs.append(places[input_.pairs].astype(np.int64))
    return Batch(
        ids,
        mask,
        np.concatenate(first).astype(np.int64) if first else np.zeros(0, dtype=np.int64),
        np.array([input_.tokens.words for input_ in inputs], dtype=np.int64),
        np.array(windows, dtype=np.int64),
        segments,
        np.concatenate(pairs) if pairs else None,
        heads,
    )
