"""Features of a word from its characters alone: the table rows of the word, of its n-grams and of its shape.

Rows are found by hashing, so that every word has some, even if it never occurred in training: the same rows on every machine and in
every process. Many words are handled at once, with numpy alone, so that an engine without torch computes the same features as training.

>>> features = of_words(["kinase", "kinases", "p53"], TableSizes(words=1000, grams=5000, shapes=100))
>>> features.sizes.tolist()
[15, 18, 6]
>>> bool(features.shapes[0] == features.shapes[1]), bool(features.words[0] == features.words[1])
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

LONGEST = 48
"""How many characters of a word are read; of a longer word, half of these from its start and half from its end."""
GRAMS = (3, 4, 5)
"""Lengths of n-grams. A word's edges count as characters: `<p53>` begins with the n-gram `<p5`."""
RUN = 2
"""Up to how many characters of one kind in a row a shape distinguishes: `kinase` and `kinases` are alike, `p5` and `p53` are not."""

_EDGES = "\x01\x02"
_PRIME = np.uint64(0x100000001B3)
_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SALTS = {"word": 1, "shape": 2, "gram": 3}
_KINDS = {"upper": 1, "lower": 2, "digit": 3, "letter": 4}


@dataclass(frozen=True, slots=True)
class TableSizes:
    """The numbers of rows of the tables for words, n-grams and shapes."""

    words: int
    grams: int
    shapes: int


@dataclass(frozen=True, slots=True)
class WordFeatures:
    """The rows of words: one for each word, one for its shape, and `grams` of all words in order, of which word i has `sizes[i]`."""

    words: NDArray[np.int64]
    grams: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shapes: NDArray[np.int64]


def vector_row(word: str, known: Mapping[str, int]) -> int:
    """The row of a word's vector: for the word as written, else in lower case, else 0."""
    return known.get(word) or known.get(word.lower(), 0)


def of_words(words: Sequence[str], rows: TableSizes) -> WordFeatures:
    """The rows of each word. The word and its shape are read as written, n-grams in lower case."""
    codes, sizes = _codes([_shortened(word) for word in words])
    grams, counts = _grams([_shortened(word.lower()) for word in words], rows.grams)
    return WordFeatures(
        _rows(_hashed(codes, _places(codes) < sizes[:, None], _SALTS["word"]), rows.words),
        grams,
        counts,
        _shapes(codes, sizes, rows.shapes),
    )


def _shortened(word: str) -> str:
    return word if len(word) <= LONGEST else word[: LONGEST // 2] + word[-LONGEST // 2 :]


def _codes(words: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The characters of words as numbers, one row per word, zero after its end; and the length of each word."""
    width = max((len(word) for word in words), default=0) or 1
    array = np.array(words, dtype=f"<U{width}")
    return array.view(np.uint32).reshape(len(words), width), np.array([len(word) for word in words], dtype=np.int64)


def _places(codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.arange(codes.shape[1])[None, :]


def _hashed(codes: NDArray[np.uint32], mask: NDArray[np.bool_], salt: int) -> NDArray[np.uint64]:
    """One hash per row, of the characters where `mask` is true."""
    hashes = np.full(len(codes), salt, dtype=np.uint64)
    for place in range(codes.shape[1]):
        hashes = np.where(mask[:, place], hashes * _PRIME + codes[:, place], hashes)
    return hashes


def _rows(hashed: NDArray[np.uint64], rows: int) -> NDArray[np.int64]:
    """Rows in a table. The hashes are mixed first, since similar words have similar hashes."""
    for factor in _MIX:
        hashed = (hashed ^ (hashed >> np.uint64(33))) * factor
    return ((hashed ^ (hashed >> np.uint64(33))) % np.uint64(rows)).astype(np.int64)


def _grams(words: Sequence[str], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    codes, sizes = _codes([_EDGES[0] + word + _EDGES[1] for word in words])
    hashes, masks = [], []
    for size in GRAMS:
        spans = codes.shape[1] - size + 1
        if spans < 1:
            continue
        hashed = np.full((len(words), spans), _SALTS["gram"] + size, dtype=np.uint64)
        for shift in range(size):
            hashed = hashed * _PRIME + codes[:, shift : shift + spans]
        hashes.append(hashed)
        masks.append(np.arange(spans)[None, :] + size <= sizes[:, None])
    if not hashes:  # no words, or only empty ones
        return np.zeros(0, dtype=np.int64), np.zeros_like(sizes)
    mask = np.concatenate(masks, axis=1)
    return _rows(np.concatenate(hashes, axis=1)[mask], rows), mask.sum(axis=1)


def _shapes(codes: NDArray[np.uint32], sizes: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    characters, index = np.unique(codes, return_inverse=True)
    signs = np.array([_sign(chr(code)) for code in characters], dtype=np.uint32)[index].reshape(codes.shape)
    mask = _places(codes) < sizes[:, None]
    repeated = np.zeros_like(mask)
    repeated[:, RUN:] = True
    for back in range(1, RUN + 1):
        repeated[:, back:] &= signs[:, back:] == signs[:, :-back]
    return _rows(_hashed(signs, mask & ~repeated, _SALTS["shape"]), rows)


def _sign(character: str) -> int:
    """A character's number in a shape: one for all capitals, one for all digits; its own if it is neither letter nor digit."""
    if character.isdigit():
        return _KINDS["digit"]
    if character.isalpha():
        return _KINDS["upper"] if character.isupper() else _KINDS["lower" if character.islower() else "letter"]
    return ord(character) + len(_KINDS) + 1
