"""Tokens: what an encoder reads, each with its place in the text.

Each token belongs to a word as the tokenizer splits them (at white space and punctuation for BERT). Taggers label words:
a word is represented by its first token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Range


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one stretch of a text, without special tokens.

    `ids` are vocabulary indices; `first` are the indices of the tokens that begin a word; `starts` and `ends` are the characters
    of each word in the document's text.
    """

    ids: NDArray[np.int32]
    first: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def words(self) -> int:
        """How many words there are."""
        return len(self.first)

    def window(self, start: int, end: int) -> Tokens:
        """Tokens `start` to `end`, end exclusive; words that begin among them."""
        chosen = slice(*np.searchsorted(self.first, (start, end)))
        return Tokens(self.ids[start:end], self.first[chosen] - start, self.starts[chosen], self.ends[chosen])


@runtime_checkable
class Splitter(Protocol):
    """A tokenizer that does not use the `tokenizers` library; `split` and `split_all` accept it like any other."""

    def split_all(self, texts: Iterable[tuple[str, Sequence[Range]]]) -> list[Tokens]:
        """The tokens of ranges of several texts, one after the other, with offsets into their text."""


SPACES = re.compile("[\x00\x0b\x0c\x1c-\x1f\x85]")
"""White space and NUL that BERT's tokenizers delete as control characters, which would join the words on either side."""


def split(tokenizer: Tokenizer, text: str, ranges: Sequence[Range]) -> list[Tokens]:
    """The tokens of each range (usually a sentence) of a text, with offsets into that text."""
    return split_all(tokenizer, [(text, ranges)])


def split_all(tokenizer: Tokenizer, texts: Iterable[tuple[str, Sequence[Range]]]) -> list[Tokens]:
    """The tokens of ranges of several texts, one after the other, in a single call of the tokenizer: a call costs as much as many sentences."""
    candidate: object = tokenizer
    if isinstance(candidate, Splitter):
        return candidate.split_all(texts)
    if (remembered := getattr(tokenizer, "split", None)) is not None:  # `biomux.text.token_cache`
        return [tokens for text, ranges in texts for tokens in remembered(text, ranges)]
    parts: list[str] = []
    starts: list[int] = []
    for text, ranges in texts:
        spaced = SPACES.sub(" ", text)
        parts += [spaced[start:end] for start, end in ranges]
        starts += [start for start, _ in ranges]
    return _tokens(tokenizer.encode_batch(parts, add_special_tokens=False), starts)


def _tokens(encodings: Sequence[Any], shifts: Sequence[int]) -> list[Tokens]:
    """The tokens of each encoding; `shifts` say where in the text it begins. All go through numpy together: one call for a sentence is slow."""
    ids_of_each = [encoding.ids for encoding in encodings]
    bounds = np.cumsum([0, *map(len, ids_of_each)])
    size = int(bounds[-1])
    ids = np.fromiter(chain.from_iterable(ids_of_each), np.int32, size)
    words = np.fromiter(chain.from_iterable(encoding.word_ids for encoding in encodings), np.int32, size)
    places = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    offsets = np.fromiter(places, np.int32, 2 * size).reshape(-1, 2)
    begins = np.ones(size + 1, dtype=bool)
    begins[1:-1] = words[1:] != words[:-1]
    begins[bounds] = True
    edges = np.flatnonzero(begins)
    word_bounds = np.searchsorted(edges, bounds)
    counts = np.diff(word_bounds)
    shift = np.repeat(np.array(shifts, dtype=np.int32), counts)
    first = (edges[:-1] - np.repeat(bounds[:-1], counts)).astype(np.int32)
    starts, ends = offsets[edges[:-1], 0] + shift, offsets[edges[1:] - 1, 1] + shift
    token_slices = [slice(*pair) for pair in pairwise(bounds.tolist())]
    word_slices = [slice(*pair) for pair in pairwise(word_bounds.tolist())]
    return [
        Tokens(ids[own], first[inner], starts[inner], ends[inner])
        for own, inner in zip(token_slices, word_slices, strict=True)
    ]
