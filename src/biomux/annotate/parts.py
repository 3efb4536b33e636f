"""How the input is cut into parts: by its documents alone, whatever the number of workers, so that parts can be made in any order or again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.errors import AnnotateError, FormatError
from biomux.formats import jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document
    from biomux.errors import BiomuxError

CHARACTERS = 1_000_000
"""Characters of text after which a part is closed: some seconds of work, which is what a stopped run loses."""

DOCUMENTS = 10_000
"""Documents after which a part is closed."""

Failure = dict[str, Any]
"""A document or record that failed: `id` (None where there was none to read), `where`, `code`, `message`."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some documents of the input, as Biomux JSON lines, and the records between them that could not be read.

    `reached` says how many stored bytes of the input had been read when it was cut: for progress.
    """

    index: int
    documents: bytes
    failures: tuple[Failure, ...] = ()
    reached: int = 0
    characters: int = 0
    """Characters of text in it: for progress."""
    stretch: int | None = None
    """Of an input that is read in stretches, the one in which it is part `index`."""

    @property
    def name(self) -> str:
        """What its files are called, without suffix.

        >>> Part(7, b"").name, Part(7, b"", stretch=2).name
        ('part-00007', 'part-00002-00007')
        """
        return f"part-{self.index:05d}" if self.stretch is None else f"part-{self.stretch:05d}-{self.index:05d}"

    @property
    def sha256(self) -> str:
        """What it is made of."""
        return hashlib.sha256(self.documents + repr(self.failures).encode("utf-8", "backslashreplace")).hexdigest()


class Failures:
    """An `on_error` that keeps failures until a part takes them."""

    def __init__(self) -> None:
        self._kept: list[Failure] = []

    def __call__(self, error: BiomuxError) -> None:
        self._kept.append(failure(error))

    def add(self, document: Document, error: BiomuxError) -> None:
        """Keep the failure of a document."""
        self._kept.append(failure(error, document.id))

    def extend(self, failures: Iterable[Failure]) -> None:
        """Keep what was noted elsewhere."""
        self._kept.extend(failures)

    def take(self) -> tuple[Failure, ...]:
        """All kept so far; they are kept no longer."""
        taken, self._kept = tuple(self._kept), []
        return taken


def failure(error: BiomuxError, document: str | None = None) -> Failure:
    """An error as it is written to the error file."""
    return {"id": document, "code": error.code, "message": error.message, "where": error.where}


def error_of(failure: Failure) -> AnnotateError:
    """The error again, from what was noted of it."""
    where = failure["where"] or (None if failure["id"] is None else f"document {failure['id']!r}")
    return AnnotateError(failure["code"], failure["message"], where=where)


def cut(
    documents: Iterable[Document],
    failures: Failures,
    *,
    characters: int = CHARACTERS,
    most: int = DOCUMENTS,
    reached: Callable[[], int] = lambda: 0,
    stretch: int | None = None,
) -> Iterator[Part]:
    """The parts of a stream of documents, which may be one `stretch` of several. At least one, even of nothing."""
    lines: list[bytes] = []
    size = index = 0
    for document in documents:
        try:
            lines.append(jsonl.line(document))
        except FormatError as error:
            failures.add(document, error)
        size += len(document.text)
        if size >= characters or len(lines) >= most:
            yield Part(index, b"".join(lines), failures.take(), reached(), size, stretch)
            lines, size, index = [], 0, index + 1
    failed = failures.take()
    if lines or failed or not index:
        yield Part(index, b"".join(lines), failed, reached(), size, stretch)
