"""A tokenizer of whole words: each word of `biomux.text.words` is one token."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from biomux.text import words
from biomux.text.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokenizers import Tokenizer

    from biomux.document import Range


def as_tokenizer(numbers: Callable[[Sequence[str]], Sequence[int]]) -> Tokenizer:
    """A splitter, typed as a tokenizer: all text goes through `biomux.text.tokens`, which handles both."""
    return cast("Tokenizer", WordSplitter(numbers))


class WordSplitter:
    """Splits text into words; `numbers` returns the id of each."""

    def __init__(self, numbers: Callable[[Sequence[str]], Sequence[int]]) -> None:
        self.numbers = numbers

    def split_all(self, texts: Iterable[tuple[str, Sequence[Range]]]) -> list[Tokens]:
        """The tokens of ranges of several texts, one after the other, with offsets into their text."""
        strings: list[str] = []
        ranges_of_each: list[list[Range]] = []
        for text, ranges in texts:
            for start, end in ranges:
                word_ranges = [(start + low, start + high) for low, high in words.split(text[start:end])]
                strings += [text[low:high] for low, high in word_ranges]
                ranges_of_each.append(word_ranges)
        ids = np.array(self.numbers(strings), dtype=np.int32)
        ends = np.cumsum([len(word_ranges) for word_ranges in ranges_of_each]).tolist()
        return [
            _tokens(ids[end - len(word_ranges) : end], word_ranges)
            for word_ranges, end in zip(ranges_of_each, ends, strict=True)
        ]


def _tokens(ids: np.ndarray[tuple[int], np.dtype[np.int32]], word_ranges: Sequence[Range]) -> Tokens:
    edges = np.array(word_ranges, dtype=np.int32).reshape(-1, 2)
    return Tokens(ids, np.arange(len(ids), dtype=np.int32), edges[:, 0].copy(), edges[:, 1].copy())
