"""The annotator: documents in, the same documents with what the heads say about them out.

    documents → sentences → pieces → windows → packed batches → session → stitched answers → decoded spans → documents

Training scores its development data through this same path, with torch behind the session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from biomux.document import Document
from biomux.engine.packing import Specials, pack
from biomux.errors import UsageError
from biomux.text import pieces as text_pieces
from biomux.text import sentences
from biomux.text.windows import Window, windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Range, Span
    from biomux.engine.session import Session
    from biomux.tasks.tagging import Tagging
    from biomux.text.pieces import Pieces

CHUNK = 400_000
"""Characters of text that are packed together: enough to find windows of like length, little enough for flat memory."""


@dataclass(frozen=True)
class Annotator:
    """A session with the tokenizer, windows and decoders around it.

    `limit` is the longest window in pieces; `budget` the pieces of a batch; `temperatures` divide a head's logits before they
    become probabilities.
    """

    session: Session
    tokenizer: Tokenizer
    specials: Specials
    tasks: tuple[Tagging, ...]
    limit: int = 254
    budget: int = 1024
    temperatures: Mapping[str, float] | None = None

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the heads."""
        return tuple(task.name for task in self.tasks)

    def __call__(self, text: str, *, heads: Sequence[str] | None = None) -> Document:
        """Annotate one text."""
        return next(self.annotate([Document("text", text)], heads=heads))

    def annotate(self, documents: Iterable[Document], *, heads: Sequence[str] | None = None) -> Iterator[Document]:
        """The documents, in order, with what the heads say in place of their spans, and the characters that were read."""
        tasks = self._chosen(heads)
        for chunk in _chunks(documents):
            yield from self._annotate(chunk, tasks)

    def _chosen(self, heads: Sequence[str] | None) -> tuple[Tagging, ...]:
        unknown = set(heads or ()) - set(self.heads)
        if unknown:
            raise UsageError("BX001", f"there is no head {min(unknown)!r}", hint=f"one of: {', '.join(self.heads)}")
        return self.tasks if heads is None else tuple(task for task in self.tasks if task.name in heads)

    def _annotate(self, documents: Sequence[Document], tasks: Sequence[Tagging]) -> Iterator[Document]:
        ranges = [sentences.of(document) for document in documents]
        pieces = [
            text_pieces.split(self.tokenizer, document.text, found)
            for document, found in zip(documents, ranges, strict=True)
        ]
        flat = [piece for group in pieces for piece in group]
        spans = self.tag(flat, tasks)
        at = 0
        for document, found in zip(documents, ranges, strict=True):
            mine = [span for group in spans[at : at + len(found)] for span in group]
            at += len(found)
            yield replace(document, spans=tuple(mine), coverage=_joined(found))

    def tag(self, sentences_pieces: Sequence[Pieces], tasks: Sequence[Tagging] | None = None) -> list[list[Span]]:
        """The spans of each sentence."""
        tasks = self.tasks if tasks is None else tasks
        places, cut = [], []
        for index, piece in enumerate(sentences_pieces):
            for window in windows(len(piece), limit=self.limit):
                if window.end > window.start:
                    places.append((index, window))
                    cut.append(
                        piece if window.end - window.start == len(piece) else piece.window(window.start, window.end)
                    )
        found: list[list[Span]] = [[] for _ in sentences_pieces]
        partial: dict[tuple[int, str], list[tuple[int, NDArray[np.float32]]]] = {}
        for batch in pack(cut, specials=self.specials, budget=self.budget):
            logits = self.session.run(batch)
            ends = np.cumsum(batch.words)
            for task in tasks:
                rows = softmax(logits[task.name], (self.temperatures or {}).get(task.name, 1.0))
                self._decode(task, rows, batch.windows, ends, places, sentences_pieces, found, partial)
        by_name = {task.name: task for task in tasks}
        for (index, head), parts in sorted(partial.items()):
            rows = np.concatenate([part for _, part in sorted(parts, key=lambda part: part[0])])
            found[index] += by_name[head].decode(rows, sentences_pieces[index])
        return [sorted(group, key=lambda span: (span.start, span.end, span.head or "", span.type)) for group in found]

    def _decode(
        self,
        task: Tagging,
        rows: NDArray[np.float32],
        members: NDArray[np.int64],
        ends: NDArray[np.int64],
        places: Sequence[tuple[int, Window]],
        sentences_pieces: Sequence[Pieces],
        found: list[list[Span]],
        partial: dict[tuple[int, str], list[tuple[int, NDArray[np.float32]]]],
    ) -> None:
        busy = (
            np.add.reduceat(rows.argmax(axis=1) > 0, np.append(0, ends[:-1])[ends > np.append(0, ends[:-1])])
            if len(rows)
            else ()
        )
        order = 0
        for member, end, begin in zip(members, ends, np.append(0, ends[:-1]), strict=True):
            index, window = places[member]
            piece = sentences_pieces[index]
            if end == begin:
                continue
            some = bool(busy[order])
            order += 1
            if window.end - window.start == len(piece):
                if some:
                    found[index] += task.decode(rows[begin:end], piece)
                continue
            firsts = piece.first[slice(*np.searchsorted(piece.first, (window.start, window.end)))]
            keep = (firsts >= window.core_start) & (firsts < window.core_end)
            partial.setdefault((index, task.name), []).append((window.start, rows[begin:end][keep]))


def softmax(logits: NDArray[np.float32], temperature: float = 1.0) -> NDArray[np.float32]:
    """Probabilities of each row."""
    scaled = logits / np.float32(temperature)
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True)) if len(scaled) else scaled
    probabilities: NDArray[np.float32] = powers / powers.sum(axis=1, keepdims=True) if len(scaled) else powers
    return probabilities


def _chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    chunk: list[Document] = []
    size = 0
    for document in documents:
        chunk.append(document)
        size += len(document.text) + 1
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _joined(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The characters read: the sentences as they stand."""
    return tuple(ranges)
