"""The conformance check finds what it is there to find."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny

from biomux.document import Answer, Document, Label, Question
from biomux.tasks.classification import Classification
from biomux.tasks.conformance import check_task
from biomux.tasks.examples import Labels, ModelInput
from biomux.tasks.question_answering import Answers
from biomux.tasks.text_inputs import Sentences

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from biomux.tasks.task import Evaluation

QUESTIONS = [
    Document("1", "high dose given after", questions=(Question("q", "when?", (Answer("after", 16, 21),)),)),
]
DOCUMENTS = [Document(str(number), tiny.text(30, seed=number), labels=(Label("yes"),)) for number in range(3)]


@dataclass(frozen=True, slots=True)
class Peeks(Classification):
    """Reads the answer."""

    def inputs(self, document: Document, tokenizer: Any, *, limit: int, counts: Counter[str]) -> Iterator[ModelInput]:
        text = document.text + "".join(f" {label.name}" for label in document.labels)
        return Classification.inputs(self, Document("1", text), tokenizer, limit=limit, counts=counts)


@dataclass(frozen=True, slots=True)
class TooLong(Classification):
    """Reads more than the limit."""

    def inputs(self, document: Document, tokenizer: Any, *, limit: int, counts: Counter[str]) -> Iterator[ModelInput]:
        return Classification.inputs(self, document, tokenizer, limit=10 * limit, counts=counts)


@dataclass(frozen=True, slots=True)
class Otherwise(Classification):
    """Reads something else than it says."""

    def inputs(self, document: Document, tokenizer: Any, *, limit: int, counts: Counter[str]) -> Iterator[ModelInput]:
        return Sentences().inputs(document, tokenizer, limit=limit, counts=counts)


@dataclass(frozen=True, slots=True)
class TwoLabels(Classification):
    """Labels a window twice."""

    def targets(self, document: Document, inputs: Any, *, counts: Counter[str]) -> list[Labels | None]:
        return [Labels("window", np.zeros(2, dtype=np.int32)) for _ in inputs]


@dataclass(frozen=True, slots=True)
class Rewrites(Classification):
    """Changes the text."""

    def decode(self, document: Document, inputs: Any, outputs: Any) -> Document:
        return replace(document, text=document.text.upper())


@dataclass(frozen=True, slots=True)
class OtherRows(Classification):
    """Its rows are those of another figure."""

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        found = Classification.evaluate(self, gold, predicted)
        return replace(found, figures={**found.figures, found.main: 2.0})


@dataclass(frozen=True, slots=True)
class AnswersAt(Answers):
    """Says that every answer is at these words."""

    place: tuple[int, int] = (0, 0)

    def targets(self, document: Document, inputs: Any, *, counts: Counter[str]) -> list[Labels | None]:
        return [Labels("answer", np.array(self.place, dtype=np.int32)) for _ in inputs]


@dataclass(frozen=True, slots=True)
class AnotherClass(Classification):
    """Says that every text is of this class."""

    number: int = 0

    def targets(self, document: Document, inputs: Any, *, counts: Counter[str]) -> list[Labels | None]:
        return [Labels("window", np.array([self.number], dtype=np.int32)) for _ in inputs]


@pytest.mark.parametrize("place", [(-1, -1), (0, 0), (0, 3), (3, 3)])
def test_an_answer_may_be_at_any_words_or_nowhere(place: tuple[int, int]) -> None:
    check_task(AnswersAt("x", place=place), QUESTIONS, tiny.tokenizer())


@pytest.mark.parametrize("place", [(-2, 0), (1, 0), (0, 4), (4, 4)])
def test_an_answer_outside_the_words_is_named(place: tuple[int, int]) -> None:
    with pytest.raises(AssertionError, match=f"an answer is at words {place[0]} to {place[1]}"):
        check_task(AnswersAt("x", place=place), QUESTIONS, tiny.tokenizer())


@pytest.mark.parametrize("number", [-1, 2])
def test_a_label_outside_the_label_space_is_named(number: int) -> None:
    check_task(AnotherClass("x", ("no", "yes"), number=1), DOCUMENTS, tiny.tokenizer())
    with pytest.raises(AssertionError, match="outside the label space"):
        check_task(AnotherClass("x", ("no", "yes"), number=number), DOCUMENTS, tiny.tokenizer())


def test_documents_with_nothing_to_learn_from_are_named() -> None:
    with pytest.raises(AssertionError, match="no example"):
        check_task(Classification("x", ("no", "yes")), [Document("1", "")], tiny.tokenizer())


def test_a_good_task_passes() -> None:
    check_task(Classification("x", ("no", "yes")), DOCUMENTS, tiny.tokenizer())


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Peeks, "depends on the answer"),
        (TooLong, "40 are allowed"),
        (Otherwise, "differ from what it says it reads"),
        (TwoLabels, "2 labels for 1 windows"),
        (Rewrites, "more than annotations changed"),
        (OtherRows, "do not give the main figure"),
    ],
)
def test_a_broken_promise_is_named(kind: type[Classification], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_task(
            kind("x", ("no", "yes")),
            [replace(one, text=one.text + " dose" * 20) for one in DOCUMENTS],
            tiny.tokenizer(),
        )
