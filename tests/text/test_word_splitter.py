"""Tokens that are whole words, numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from biomux.text import tokens as text_tokens
from biomux.text import words
from biomux.text.token_cache import remembering
from biomux.text.word_splitter import WordSplitter, as_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence


def numbering() -> tuple[WordSplitter, dict[str, int]]:
    met: dict[str, int] = {}

    def numbers(found: Sequence[str]) -> list[int]:
        return [met.setdefault(word, len(met)) for word in found]

    return WordSplitter(numbers), met


def test_each_word_is_a_token_with_its_place_in_the_text() -> None:
    splitter, met = numbering()
    text = "IL-2 binds IL-2. Next, p53."
    first, second = text_tokens.split(as_tokenizer(splitter.numbers), text, [(0, 16), (17, len(text))])
    assert list(met) == ["IL", "-", "2", "binds", ".", "Next", ",", "p53"]
    assert first.ids.tolist() == [0, 1, 2, 3, 0, 1, 2, 4]
    assert [text[a:b] for a, b in zip(second.starts, second.ends, strict=True)] == ["Next", ",", "p53", "."]
    assert second.first.tolist() == [0, 1, 2, 3]
    assert second.words == 4


def test_a_range_without_words_has_no_tokens() -> None:
    splitter, _ = numbering()
    empty, some = splitter.split_all([("   ", [(0, 3)]), ("a", [(0, 1)])])
    assert (len(empty), empty.words, len(some)) == (0, 0, 1)


@given(st.lists(st.text(max_size=30), max_size=4))
def test_words_are_those_of_the_text_one_after_the_other(texts: list[str]) -> None:
    splitter, met = numbering()
    tokenizer = as_tokenizer(splitter.numbers)
    found = [text_tokens.split(remembering(tokenizer), text, [(0, len(text))])[0] for text in texts]
    names = list(met)
    assert len(found) == len(texts)
    for text, own in zip(texts, found, strict=True):
        assert list(zip(own.starts.tolist(), own.ends.tolist(), strict=True)) == words.split(text)
        assert [names[number] for number in own.ids] == [text[a:b] for a, b in words.split(text)]
