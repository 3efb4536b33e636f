"""Words that are remembered: numbers stay good, vectors are right, memory is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.engine.word_memory import WordMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALWAYS = ("[PAD]", "[CLS]", "[SEP]")


def vectors(words: Sequence[str]) -> NDArray[np.float32]:
    """A word's length, and the number of its first letter."""
    return np.array([[len(word), ord(word[0])] for word in words], dtype=np.float32).reshape(-1, 2)


class Counting:
    """Computes, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, words: Sequence[str]) -> NDArray[np.float32]:
        self.asked += words
        return vectors(words)


def test_a_word_is_computed_once() -> None:
    compute = Counting()
    memory = WordMemory(compute, always=ALWAYS)
    numbers = memory.numbers(["kinase", "p53", "kinase", "[CLS]"])
    assert numbers == [3, 4, 3, 1]
    assert memory.numbers(["p53", "new"]) == [4, 5]
    assert compute.asked == [*ALWAYS, "kinase", "p53", "new"]


def test_padding_is_zero_and_vectors_have_the_shape_of_the_numbers() -> None:
    memory = WordMemory(vectors, always=ALWAYS)
    grid = np.array([memory.numbers(["[CLS]", "ab", "[SEP]", "[PAD]"])])
    found = memory.take(grid)
    assert found.shape == (1, 4, 2)
    assert found[0].tolist() == [[5, 91], [2, 97], [5, 91], [0, 0]]


@given(st.lists(st.lists(st.text("abc", min_size=1, max_size=3), max_size=6), max_size=12), st.integers(1, 9))
def test_numbers_are_good_until_as_many_more_words_have_come(groups: list[list[str]], most: int) -> None:
    memory = WordMemory(vectors, always=ALWAYS, most=most)
    for group in groups:
        numbers = np.array(memory.numbers(group), dtype=np.int64)
        np.testing.assert_array_equal(memory.take(numbers), vectors(group))
        more = memory.numbers([f"z{place}" for place in range(most)][: max(0, most - len(set(group)))])
        np.testing.assert_array_equal(memory.take(numbers), vectors(group))
        assert not set(more) & set(numbers.tolist())


def test_memory_is_bounded_and_a_number_that_was_forgotten_is_noticed() -> None:
    memory = WordMemory(vectors, always=ALWAYS, most=10)
    first = np.array(memory.numbers(["early"]))
    for place in range(100):
        memory.numbers([f"w{place}"])
    assert len(memory._rows) <= 2 * (2 * 10 + len(ALWAYS))
    with pytest.raises(IndexError, match="forgotten"):
        memory.take(first)
    with pytest.raises(IndexError, match="never"):
        memory.take(np.array([10_000]))
    assert memory.take(np.array(memory.numbers(["early", "[SEP]"]))).tolist() == [[5, 101], [5, 91]]
