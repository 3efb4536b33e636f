"""Rows of words by their characters alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from biomux.text.word_features import GRAMS, LONGEST, TableSizes, WordFeatures, of_words

ROWS = TableSizes(words=1 << 40, grams=1 << 40, shapes=1 << 40)
"""So many that no two differ by chance alone."""
WORDS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=60))


def grams(word: str) -> list[int]:
    return [int(row) for row in of_words([word], ROWS).grams]


def shape(word: str) -> int:
    return int(of_words([word], ROWS).shapes[0])


def split(found: WordFeatures) -> list[list[int]]:
    return [part.tolist() for part in np.split(found.grams, np.cumsum(found.sizes)[:-1])]


@given(WORDS)
def test_a_word_is_the_same_alone_and_among_others(words: list[str]) -> None:
    together = of_words(words, ROWS)
    assert len(together.words) == len(together.shapes) == len(together.sizes) == len(words)
    assert len(together.grams) == together.sizes.sum()
    for word, row, sign, own in zip(words, together.words, together.shapes, split(together), strict=False):
        alone = of_words([word], ROWS)
        assert (alone.words[0], alone.shapes[0], alone.grams.tolist()) == (row, sign, own)


@given(WORDS, st.integers(1, 50))
def test_every_row_is_in_its_table_and_every_word_has_a_gram(words: list[str], size: int) -> None:
    found = of_words(words, TableSizes(size, size + 1, size + 2))
    assert (found.sizes >= 1).all()
    for rows, limit in ((found.words, size), (found.grams, size + 1), (found.shapes, size + 2)):
        assert ((rows >= 0) & (rows < limit)).all()


def test_rows_stay_what_they_are() -> None:
    """A trained table means nothing with other rows."""
    found = of_words(["IL", "p53"], TableSizes(1000, 1000, 1000))
    assert found.words.tolist() == [546, 408]
    assert found.grams.tolist() == [289, 455, 838, 171, 971, 572, 65, 394, 893]
    assert found.shapes.tolist() == [392, 248]


def test_grams_are_three_to_five_characters_with_the_edges() -> None:
    assert GRAMS == (3, 4, 5)
    assert len(grams("p53")) == 3 + 2 + 1  # <p5 p53 53>, <p53 p53>, <p53>
    assert len(set(grams("kinase")) & set(grams("kinases"))) == 5 + 4 + 3  # all but those with the edge
    assert not set(grams("abc")) & set(grams("xyz"))


def test_grams_have_no_case_and_the_word_has() -> None:
    assert grams("Aspirin") == grams("aspirin")
    assert of_words(["Aspirin"], ROWS).words != of_words(["aspirin"], ROWS).words


def test_a_shape_tells_letters_capitals_and_digits_apart() -> None:
    assert shape("kinase") == shape("receptors") != shape("Kinase")
    assert shape("BRCA") == shape("EGFR") != shape("BR1")
    assert shape("p5") != shape("p53") == shape("p5391")
    assert shape("α") == shape("a") != shape("Α")
    assert shape("-") != shape("+")


def test_of_a_very_long_word_beginning_and_end_are_read() -> None:
    long = "a" * 100
    assert len(grams(long)) == sum(LONGEST + 2 - size + 1 for size in GRAMS)
    assert grams("b" + long) != grams(long)
    assert grams(long + "b") != grams(long)
    assert grams(long) == grams(long + "a")


def test_no_words_have_no_rows() -> None:
    found = of_words([], ROWS)
    assert len(found.words) == len(found.grams) == len(found.sizes) == len(found.shapes) == 0
