"""What can be said of a word from its characters alone: where it, its n-grams and its shape stand in tables of so many rows.

Rows are found by hashing, so that every word has some, whether or not it was ever seen: the same rows on every machine and in every
process. Many words are done at once, with numpy alone, so that an engine without torch reads words as they were learned.

>>> found = of_words(["kinase", "kinases", "p53"], Rows(words=1000, grams=5000, shapes=100))
>>> found.sizes.tolist()
[15, 18, 6]
>>> bool(found.shapes[0] == found.shapes[1]), bool(found.words[0] == found.words[1])
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
"""Characters of a word that are read; of a longer word, the first half of these and the last."""
GRAMS = (3, 4, 5)
"""Characters of an n-gram. A word's edges count as characters: `<p53>` begins with the n-gram `<p5`."""
RUN = 2
"""How many characters of one kind in a row a shape tells apart: `kinase` and `kinases` are alike, `p5` and `p53` are not."""

_EDGES = "\x01\x02"
_PRIME = np.uint64(0x100000001B3)
_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SALTS = {"word": 1, "shape": 2, "gram": 3}
_KINDS = {"upper": 1, "lower": 2, "digit": 3, "letter": 4}


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows the tables of words, of n-grams and of shapes have."""

    words: int
    grams: int
    shapes: int


@dataclass(frozen=True, slots=True)
class WordFeatures:
    """The rows of words: one for each word, one for its shape, and `sizes` of `grams`, word after word."""

    words: NDArray[np.int64]
    grams: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shapes: NDArray[np.int64]


def vector_row(word: str, known: Mapping[str, int]) -> int:
    """The row of a word's vector: as it is written, in lower case, or 0."""
    return known.get(word) or known.get(word.lower(), 0)


def of_words(words: Sequence[str], rows: Rows) -> WordFeatures:
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
    """The characters of words as numbers, a word a row, zero after its end; and how many there are of each."""
    width = max((len(word) for word in words), default=0) or 1
    array = np.array(words, dtype=f"<U{width}")
    return array.view(np.uint32).reshape(len(words), width), np.array([len(word) for word in words], dtype=np.int64)


def _places(codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.arange(codes.shape[1])[None, :]


def _hashed(codes: NDArray[np.uint32], kept: NDArray[np.bool_], salt: int) -> NDArray[np.uint64]:
    """One number for the kept characters of each row."""
    found = np.full(len(codes), salt, dtype=np.uint64)
    for place in range(codes.shape[1]):
        found = np.where(kept[:, place], found * _PRIME + codes[:, place], found)
    return found


def _rows(hashed: NDArray[np.uint64], rows: int) -> NDArray[np.int64]:
    """Places in a table. Mixed first: neighbouring words have neighbouring hashes."""
    for factor in _MIX:
        hashed = (hashed ^ (hashed >> np.uint64(33))) * factor
    return ((hashed ^ (hashed >> np.uint64(33))) % np.uint64(rows)).astype(np.int64)


def _grams(words: Sequence[str], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    codes, sizes = _codes([_EDGES[0] + word + _EDGES[1] for word in words])
    found, there = [], []
    for size in GRAMS:
        spans = codes.shape[1] - size + 1
        if spans < 1:
            continue
        hashed = np.full((len(words), spans), _SALTS["gram"] + size, dtype=np.uint64)
        for shift in range(size):
            hashed = hashed * _PRIME + codes[:, shift : shift + spans]
        found.append(hashed)
        there.append(np.arange(spans)[None, :] + size <= sizes[:, None])
    if not found:  # no words, or empty ones alone
        return np.zeros(0, dtype=np.int64), np.zeros_like(sizes)
    kept = np.concatenate(there, axis=1)
    return _rows(np.concatenate(found, axis=1)[kept], rows), kept.sum(axis=1)


def _shapes(codes: NDArray[np.uint32], sizes: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    characters, index = np.unique(codes, return_inverse=True)
    signs = np.array([_sign(chr(code)) for code in characters], dtype=np.uint32)[index].reshape(codes.shape)
    kept = _places(codes) < sizes[:, None]
    alike = np.zeros_like(kept)
    alike[:, RUN:] = True
    for back in range(1, RUN + 1):
        alike[:, back:] &= signs[:, back:] == signs[:, :-back]
    return _rows(_hashed(signs, kept & ~alike, _SALTS["shape"]), rows)


def _sign(character: str) -> int:
    """What a character is in a shape: one number for all capitals, one for all digits; itself where it is neither letter nor digit."""
    if character.isdigit():
        return _KINDS["digit"]
    if character.isalpha():
        return _KINDS["upper"] if character.isupper() else _KINDS["lower" if character.islower() else "letter"]
    return ord(character) + len(_KINDS) + 1
