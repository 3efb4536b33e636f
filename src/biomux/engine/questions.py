"""A question about documents: answers from all of them, the best first, each with its place."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from biomux.document import Document, Question
from biomux.engine import asked_tasks
from biomux.engine.query import Query
from biomux.errors import BiomuxError, UsageError
from biomux.tasks.question_answering import QUESTION
from biomux.text import sentences
from biomux.text import tokens as text_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from biomux.document import Range
    from biomux.engine.annotator import Annotator
    from biomux.tasks.task import Task

CANDIDATES = 4
"""Answers that are looked at for each that is wanted: many overlap a better one."""
MOST = 50
"""Answers of one document that are wanted at most."""
ID = "asked"
"""The id of the question among a document's own."""


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """An answer, the document (by id) and the characters of it where it stands, and the sentence around it, with where that begins."""

    text: str
    score: float
    document: str
    start: int
    end: int
    sentence: str
    sentence_start: int
    head: str


def find(
    annotator: Annotator,
    question: str,
    documents: str | Document | Iterable[str | Document],
    *,
    n: int = 5,
    heads: Sequence[str] | None = None,
    threshold: float | None = None,
    on_error: Callable[[Document, BiomuxError], None] | None = None,
    on_document: Callable[[Document], None] = lambda _: None,
) -> list[FoundAnswer]:
    """The `n` best answers. `on_document` is told of each document that has been read."""
    if not isinstance(question, str) or not question.strip():
        raise UsageError(
            "BX001", "the question must not be empty", hint='ask something, such as "Which gene is mutated?"'
        )
    if not isinstance(n, int) or n < 1:
        raise UsageError("BX001", f"n must be at least 1, got {n!r}")
    query = Query(tasks=asked_tasks.of_group(asked_tasks.QUESTIONS, heads), threshold=threshold)
    annotator = replace(annotator, asking=tuple(_with_best(task, n) for task in annotator.asking))
    asked = (replace(document, questions=(Question(ID, question),)) for document in _documents(documents))
    best: list[tuple[float, int, FoundAnswer]] = []
    order = count(0, -1)  # of two with the same score the earlier is better
    for document in annotator.annotate_query(asked, query, on_error=on_error):
        on_document(document)
        for answer in _answers(document):
            entry = (answer.score, next(order), answer)
            (heapq.heappush if len(best) < n else heapq.heappushpop)(best, entry)
    return [answer for _, _, answer in sorted(best, reverse=True)]


def unread(annotator: Annotator, question: str) -> int:
    """How many tokens of a question are not read, since it is too long."""
    (tokens,) = text_tokens.split(annotator.tokenizer, question, [(0, len(question))])
    return max(0, len(tokens) - min(QUESTION, annotator.limit // 2))


def _with_best(task: Task, n: int) -> Task:
    """A task that gives so many answers for a document that `n` are left when those that overlap are not counted."""
    best = getattr(task, "best", None)
    if asked_tasks.group_of(task) != asked_tasks.QUESTIONS or best is None:
        return task
    return replace(task, best=max(best, min(n, MOST) * CANDIDATES))  # type: ignore[type-var]


def _answers(document: Document) -> Iterator[FoundAnswer]:
    """The answers of one document; of those that overlap, the best. One without a letter or digit is none."""
    parts = sentences.of(document)
    answers = [answer for question in document.questions if question.id == ID for answer in question.answers]
    taken: list[Range] = []
    for answer in sorted(answers, key=lambda answer: -(answer.score or 0.0)):
        start, end = answer.start, answer.end
        if start is None or end is None or not any(map(str.isalnum, answer.text)):
            continue
        if any(start < high and low < end for low, high in taken):
            continue
        taken.append((start, end))
        low, high = _around(start, end, parts)
        sentence = document.text[low:high]
        yield FoundAnswer(answer.text, answer.score or 0.0, document.id, start, end, sentence, low, answer.head or "")


def _around(start: int, end: int, parts: Sequence[Range]) -> Range:
    """Where the sentences that a place touches begin and end."""
    touched = [part for part in parts if part[0] < end and start < part[1]]
    return min([start, *(part[0] for part in touched)]), max([end, *(part[1] for part in touched)])


def _documents(texts: str | Document | Iterable[str | Document]) -> Iterator[Document]:
    several = [texts] if isinstance(texts, str | Document) else texts
    for number, text in enumerate(several, 1):
        if isinstance(text, Document):
            yield text
        elif isinstance(text, str):
            yield Document(f"text-{number}", text)
        else:
            raise UsageError(
                "BX001", f"ask() takes texts or documents, got {type(text).__name__}", where=f"document {number}"
            )
