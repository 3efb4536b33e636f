"""Batches: what stands where in a row, how rows are grouped, and that every window is in one batch."""

from __future__ import annotations

import numpy as np
import pytest

from biomux.engine.packing import Specials, lay_out, pack, padded
from biomux.tasks.examples import ModelInput
from biomux.text.tokens import Tokens

SPECIALS = Specials(pad=0, before=2, after=3)


def tokens(size: int, *, base: int = 10, first: tuple[int, ...] = (0,)) -> Tokens:
    """So many tokens, numbered from `base`, with words that begin at `first`."""
    places = np.array(first, dtype=np.int32)
    return Tokens(np.arange(base, base + size, dtype=np.int32), places, places, places + 1)


def inputs(*found: Tokens) -> list[ModelInput]:
    return [ModelInput(one) for one in found]


@pytest.mark.parametrize(
    ("size", "expected"), [(2, 2), (3, 4), (127, 128), (128, 128), (129, 132), (132, 132), (133, 136)]
)
def test_rows_are_padded_by_steps_of_two_then_four(size: int, expected: int) -> None:
    assert padded(size) == expected


def test_a_window_stands_between_its_marks_and_padding_is_masked() -> None:
    (batch,) = pack(inputs(tokens(3, first=(0, 2)), tokens(4, base=20, first=(1,))), specials=SPECIALS, budget=100)
    assert batch.ids.tolist() == [[2, 10, 11, 12, 3, 0], [2, 20, 21, 22, 23, 3]]
    assert batch.mask.tolist() == [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]]
    assert batch.first.tolist() == [1, 3, 6 + 2]
    assert batch.words.tolist() == [2, 1]
    assert batch.windows.tolist() == [0, 1]
    assert batch.segments is None


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(12, [[1], [0, 2], [3]]), (17, [[1], [0, 2], [3]]), (18, [[1], [0, 2, 3]]), (1, [[1], [0], [2], [3]])],
)
def test_the_longest_come_first_and_a_batch_keeps_to_its_budget(budget: int, expected: list[list[int]]) -> None:
    batches = list(pack(inputs(tokens(4), tokens(9), tokens(3), tokens(4)), specials=SPECIALS, budget=budget))
    assert [batch.windows.tolist() for batch in batches] == expected
    assert all(batch.ids.shape == batch.mask.shape == (len(batch.windows), batch.ids.shape[1]) for batch in batches)


def test_a_reading_has_its_prefix_as_first_segment() -> None:
    reading = ModelInput(tokens(3, first=(0, 1)), prefix=tokens(2, base=30))
    assert (reading.begin, reading.size) == (4, 8)
    batch = lay_out([reading], 10, SPECIALS, windows=[7])
    assert batch.ids.tolist() == [[2, 30, 31, 3, 10, 11, 12, 3, 0, 0]]
    assert batch.mask.tolist() == [[1, 1, 1, 1, 1, 1, 1, 1, 0, 0]]
    assert batch.segments is not None
    assert batch.segments.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1, 0, 0]]
    assert batch.first.tolist() == [4, 5]
    assert batch.words.tolist() == [2]
    assert batch.windows.tolist() == [7]


def test_rows_with_and_without_a_prefix_share_a_batch() -> None:
    batch = lay_out(
        [ModelInput(tokens(2)), ModelInput(tokens(1), prefix=tokens(1, base=30))], 6, SPECIALS, windows=[0, 1]
    )
    assert batch.ids.tolist() == [[2, 10, 11, 3, 0, 0], [2, 30, 3, 10, 3, 0]]
    assert batch.mask.tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 0]]
    assert batch.segments is not None
    assert batch.segments.tolist() == [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]]
    assert batch.first.tolist() == [1, 6 + 3]


def test_pairs_of_spans_are_places_in_the_flattened_rows() -> None:
    pairs = np.array([[0, 1, 2, 2]], dtype=np.int32)
    readings = [ModelInput(tokens(4, first=(0, 1, 3)), pairs=pairs) for _ in range(2)]
    batch = lay_out(readings, 6, SPECIALS, windows=[0, 1])
    assert batch.pairs is not None
    assert batch.pairs.tolist() == [[1, 2, 4, 4], [7, 8, 10, 10]]


def test_an_empty_reading_asks_nothing() -> None:
    batch = lay_out([ModelInput(tokens(0, first=()))], 2, SPECIALS, windows=[0])
    assert batch.ids.tolist() == [[2, 3]]
    assert batch.first.tolist() == []
    assert batch.pairs is None
    assert list(pack([], specials=SPECIALS, budget=10)) == []
