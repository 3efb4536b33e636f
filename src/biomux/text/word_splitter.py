"""A tokenizer of whole words: each word of `biomux.text.words` is one token, whatever it is."""

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
    """A splitter, to be given where a tokenizer is: all text goes through `biomux.text.tokens`, which knows both."""
    return cast("Tokenizer", WordSplitter(numbers))


class WordSplitter:
    """Splits text into words; `numbers` gives the number of each."""

    def __init__(self, numbers: Callable[[Sequence[str]], Sequence[int]]) -> None:
        self.numbers = numbers

    def split_all(self, texts: Iterable[tuple[str, Sequence[Range]]]) -> list[Tokens]:
        """The tokens of ranges of several texts, one after the other; offsets are of the text."""
        found: list[str] = []
        places: list[list[Range]] = []
        for text, ranges in texts:
            for start, end in ranges:
                own = [(start + low, start + high) for low, high in words.split(text[start:end])]
                found += [text[low:high] for low, high in own]
                places.append(own)
        ids = np.array(self.numbers(found), dtype=np.int32)
        ends = np.cumsum([len(own) for own in places]).tolist()
        return [_tokens(ids[end - len(own) : end], own) for own, end in zip(places, ends, strict=True)]


def _tokens(ids: np.ndarray[tuple[int], np.dtype[np.int32]], own: Sequence[Range]) -> Tokens:
    edges = np.array(own, dtype=np.int32).reshape(-1, 2)
    return Tokens(ids, np.arange(len(ids), dtype=np.int32), edges[:, 0].copy(), edges[:, 1].copy())
