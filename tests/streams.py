"""Sources for tests that ask when bytes are read and how many."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from biomux.formats import Source

if TYPE_CHECKING:
    from collections.abc import Iterator


class Endless(io.RawIOBase):
    """Bytes from an iterator, made as they are read; `served` counts them."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""
        self.served = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._left:
            try:
                self._left = next(self._chunks)
            except StopIteration:
                return 0
        data, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(data)] = data
        self.served += len(data)
        return len(data)


def endless(name: str, start: bytes, item: bytes) -> Source:
    """A source that begins with `start` and repeats `item` for ever: only a lazy reader gets a document out of it."""

    def chunks() -> Iterator[bytes]:
        yield start
        while True:
            yield item

    return Source(name, lambda: io.BufferedReader(Endless(chunks())), lambda _: None)
