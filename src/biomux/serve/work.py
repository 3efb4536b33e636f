"""What a request wants done with its documents. The values can be compared: requests for the same work may share a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.query import Query
    from biomux.engine.questions import FoundAnswer
    from biomux.errors import BiomuxError

    OnError = Callable[[Document, BiomuxError], None]


class Work(Protocol):
    """Something to do with documents: hashable, and the answer about one document depends on no other."""

    def check(self, annotator: Annotator) -> None:
        """Raise an error for a bad request before it enters the queue."""

    def run(self, annotator: Annotator, documents: Sequence[Document], on_error: OnError) -> Iterable[object]:
        """The result for each document, in order, without those that failed and went to `on_error`."""


@dataclass(frozen=True)
class Annotate:
    """What the heads find, as `query` asks for it."""

    query: Query

    def check(self, annotator: Annotator) -> None:
        annotator.annotate_query((), self.query)

    def run(self, annotator: Annotator, documents: Sequence[Document], on_error: OnError) -> Iterable[Document]:
        return annotator.annotate_query(documents, self.query, on_error=on_error)


@dataclass(frozen=True)
class ComparePairs:
    """What the heads for pairs of texts predict for documents with a pair."""

    heads: tuple[str, ...] | None = None
    threshold: float | None = None

    def check(self, annotator: Annotator) -> None:
        annotator.pairs((), heads=self.heads, threshold=self.threshold)

    def run(self, annotator: Annotator, documents: Sequence[Document], on_error: OnError) -> Iterable[Document]:
        return annotator.pairs(documents, heads=self.heads, threshold=self.threshold, on_error=on_error)


@dataclass(frozen=True)
class AnswerQuestion:
    """The best answers of each document to a question. The best of all documents together are among them."""

    question: str
    n: int = 5
    heads: tuple[str, ...] | None = None
    threshold: float | None = None

    def check(self, annotator: Annotator) -> None:
        self._ask(annotator, (), None)

    def run(
        self, annotator: Annotator, documents: Sequence[Document], on_error: OnError
    ) -> Iterable[Sequence[FoundAnswer]]:
        failed: list[BiomuxError] = []

        def keep(_: Document, error: BiomuxError) -> None:
            failed.append(error)

        for document in documents:
            failed.clear()
            answers = self._ask(annotator, [document], keep)
            if failed:
                on_error(document, failed[0])
            else:
                yield answers

    def _ask(self, annotator: Annotator, documents: Sequence[Document], on_error: OnError | None) -> list[FoundAnswer]:
        return annotator.ask(
            self.question, documents, n=self.n, heads=self.heads, threshold=self.threshold, on_error=on_error
        )
