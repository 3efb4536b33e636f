"""What a request asks to be done with its documents. Values that compare: requests that ask for the same may share a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.query import Query
    from biomux.errors import BiomuxError

    OnError = Callable[[Document, BiomuxError], None]


class Work(Protocol):
    """Something to do with documents: hashable, and the answer about one depends on no other."""

    def check(self, annotator: Annotator) -> None:
        """Raise what is wrong with the question, before anything waits."""

    def run(self, annotator: Annotator, documents: Sequence[Document], on_error: OnError) -> Iterable[Document]:
        """The documents, in order, without those that failed and went to `on_error`."""


@dataclass(frozen=True)
class Annotate:
    """What the heads say, as `query` asks for it."""

    query: Query

    def check(self, annotator: Annotator) -> None:
        annotator.annotate_query((), self.query)

    def run(self, annotator: Annotator, documents: Sequence[Document], on_error: OnError) -> Iterable[Document]:
        return annotator.annotate_query(documents, self.query, on_error=on_error)
