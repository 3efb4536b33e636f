"""A task's main figure, document by document: rows whose sums give it (`biomux.scoring.document_rows`), for tests over documents.

A task of another package may have a method `rows(gold, predicted)` of its own. For one that has none, and is of no kind known here, there are
no rows: its figures are shown, and not tested.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.scoring.document_rows import Rows, numbers
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.classification import Classification
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.question_answering import Answers
from biomux.tasks.relation import Relations
from biomux.tasks.similarity import Similarity
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from biomux.document import Document
    from biomux.tasks.task import Task

Pairs = list[tuple["Document", "Document"]]


def rows_of(task: Task, gold: Sequence[Document], predicted: Sequence[Document]) -> Rows | None:
    """The rows of the task's main figure, in the order of the documents; None for a task whose figure has none."""
    if hasattr(task, "rows"):
        own: Rows | None = task.rows(gold, predicted)
        return own
    pairs = list(zip(gold, predicted, strict=True))
    if isinstance(task, Tagging):
        return _spans(pairs)
    if isinstance(task, Auxiliary):
        return _auxiliary(task, pairs)
    if isinstance(task, Relations):
        return _made(
            "f1", pairs, [_overlap(task._links(left, None), task._links(right, task.name)) for left, right in pairs]
        )
    if isinstance(task, Classification):
        return _classes(task, pairs)
    if isinstance(task, Similarity):
        return _made("pearson", pairs, [_number(task, left, right) for left, right in pairs])
    if isinstance(task, Answers):
        return _answers(task, pairs)
    if isinstance(task, MaskedWords):
        return _made("mean", pairs, [_guessed(task, right) for _, right in pairs])
    return None


def _made(figure: str, pairs: Pairs, values: Any, classes: tuple[str, ...] = ()) -> Rows:
    return Rows(figure, tuple(gold.id for gold, _ in pairs), np.array(values, dtype=np.float64), classes)


def _spans(pairs: Pairs) -> Rows:
    from biomux.scoring.spans import score_each

    found = [scores["strict"].micro for _, scores in score_each(pairs, matchings=("strict",))]
    return _made("f1", pairs, [[one.tp, one.fp, one.fn] for one in found])


def _auxiliary(task: Auxiliary, pairs: Pairs) -> Rows:
    if task.which == "extent":
        derived = [
            (
                replace(left, spans=task._extents(left), relations=()),
                replace(right, spans=tuple(one for one in right.spans if one.head == task.name), relations=()),
            )
            for left, right in pairs
        ]
        return _spans(derived)
    values = []
    for left, right in pairs:
        said = {(one.start, one.end): one.name for one in right.labels if one.head == task.name}
        hits, asked = 0, 0
        for start, end in task._ranges(left):
            inside = sum(start <= span.start and span.end <= end for span in left.spans if span.type in task.types)
            hits += said.get((start, end)) == task.labels[min(inside, len(task.labels) - 1)]
            asked += 1
        values.append([hits, asked])
    return _made("mean", pairs, values)


def _overlap(wanted: Collection[Any], given: Collection[Any]) -> list[int]:
    left, right = set(wanted), set(given)
    return [len(left & right), len(right - left), len(left - right)]


def _classes(task: Classification, pairs: Pairs) -> Rows | None:
    main = task.main or ("f1" if task.several else "accuracy")
    each = [list(_answered(task, left, right)) for left, right in pairs]
    if main == "document_f1":
        unions = [
            tuple(
                {name for names in side for name in names}
                for side in (zip(*answered, strict=True) if answered else ((), ()))
            )
            for answered in each
        ]
        return _made("f1", pairs, [_overlap(*one) for one in unions])
    if main in ("accuracy", "exact"):
        counted = [[(set(a) == set(b), 1) for a, b in answered if a or task.several] for answered in each]
        return _made("mean", pairs, [[sum(hit for hit, _ in one), len(one)] for one in counted])
    negative = set() if task.several else set(task.negative)
    classes = tuple(name for name in task.classes if name not in negative)
    values = np.zeros((len(pairs), len(classes), 3))
    for number, answered in enumerate(each):
        for wanted, given in answered:
            if not wanted and not task.several:
                continue
            for place, name in enumerate(classes):
                values[number, place] += _overlap({name} & set(wanted), {name} & set(given))
    if main == "macro_f1":
        return _made("macro-f1", pairs, values, classes)
    return _made("f1", pairs, values.sum(axis=1)) if main == "f1" else None


def _answered(task: Classification, gold: Document, predicted: Document) -> Iterable[tuple[list[str], list[str]]]:
    """Gold and predicted classes of each text; of one class each, the first counts."""
    said = [label for label in predicted.labels if label.head == task.name]
    for part in task._parts(gold):
        place = part if task.of == "sentence" else (None, None)
        names = [label.name for label in said if (label.start, label.end) == place]
        wanted = task._gold(gold, part)
        yield (wanted, names) if task.several else (wanted[:1], names[:1])


def _number(task: Similarity, gold: Document, predicted: Document) -> list[float]:
    left, right = task._value(gold, None), task._value(predicted, task.name)
    return [0.0] * 6 if left is None or right is None else numbers(left, right)


def _answers(task: Answers, pairs: Pairs) -> Rows:
    from biomux.scoring.answers import score_answers

    values = []
    for left, right in pairs:
        given = {question.id: question for question in right.questions}
        found = score_answers(
            (
                [one.text for one in question.answers],
                [one.text for one in given[question.id].answers if one.head == task.name],
            )
            for question in left.questions
        ).f1
        values.append([found.value * found.number, found.number])
    return _made("mean", pairs, values)


def _guessed(task: MaskedWords, predicted: Document) -> list[float]:
    own = [label for label in predicted.labels if label.head == task.name]
    return [sum(one.value or 0 for one in own if one.name == name) for name in ("right", "asked")]
