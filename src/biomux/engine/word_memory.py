"""Words by number, and the vector of each: what depends on a word's characters alone is computed once, however often the word comes.

Memory stays bounded. When `most` new words have come, a new generation begins and the one before the last is forgotten. A number that was
given out is good until at least `most` more words have come, and is never given out again.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MOST = 300_000
"""Words of a generation. A group of documents that is read at once has a fifth of this at most, and each word takes about a kilobyte."""


class WordMemory:
    """Numbers of words, and vectors of numbers.

    `compute` gives the vectors of words, a row each. `always` are words that are never forgotten, numbered from 0 on; the first of them
    is padding, and has a vector of zeros.
    """

    def __init__(self, compute: Callable[[Sequence[str]], Floats], *, always: Sequence[str], most: int = MOST) -> None:
        self._compute, self._most = compute, most
        self._lock = Lock()
        self._always = {word: number for number, word in enumerate(always)}
        self._new: dict[str, int] = {}
        first = np.ascontiguousarray(compute(always), dtype=np.float32)
        first[0] = 0
        self._rows, self._size = first, len(always)
        self._base = 0
        """How many numbers have been forgotten: number n stands in row n − base, unless it is always there."""
        self._edge = len(always)
        """The number with which the present generation begins."""

    def numbers(self, words: Sequence[str]) -> list[int]:
        """The number of each word; one that has none gets the next."""
        with self._lock:
            always = self._always
            distinct = [word for word in dict.fromkeys(words) if word not in always]
            fresh = [word for word in distinct if word not in self._new]
            if self._new and len(self._new) + len(fresh) > self._most:
                self._forget()
                fresh = distinct
            if fresh:
                self._add(fresh)
            new = self._new
            return [always[word] if word in always else new[word] for word in words]

    def take(self, numbers: NDArray[np.int64]) -> Floats:
        """The vectors of numbers: one more axis than they have."""
        with self._lock:
            rows, base, always = self._rows, self._base, len(self._always)
        index = np.where(numbers < always, numbers, numbers - base)
        if index.size and int(index.max()) >= len(rows):
            raise IndexError("a word's number was never given out")
        if base and bool(((numbers >= always) & (index < always)).any()):
            raise IndexError("a word's number is of a generation that was forgotten")
        vectors: Floats = rows[index]
        return vectors

    def _add(self, words: Sequence[str]) -> None:
        vectors = self._compute(words)
        if self._size + len(words) > len(self._rows):
            larger = np.empty(
                (max(2 * len(self._rows), self._size + len(words)), self._rows.shape[1]), dtype=np.float32
            )
            larger[: self._size] = self._rows[: self._size]
            self._rows = larger
        self._rows[self._size : self._size + len(words)] = vectors
        first = self._size + self._base
        self._new |= {word: first + place for place, word in enumerate(words)}
        self._size += len(words)

    def _forget(self) -> None:
        """Begin a generation; of those before, the last alone is kept."""
        always, last = len(self._always), self._edge - self._base
        self._edge = self._size + self._base
        self._rows = np.concatenate([self._rows[:always], self._rows[last : self._size]])
        self._base += last - always
        self._size = len(self._rows)
        self._new = {}
