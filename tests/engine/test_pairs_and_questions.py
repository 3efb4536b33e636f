"""`Annotator.pairs` and `Annotator.ask`, around sessions that answer by rule."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import stub
import tiny

from biomux.document import Document, Question
from biomux.engine import questions
from biomux.engine.text_pairs import UNREAD
from biomux.errors import AnnotateError, UsageError
from biomux.tasks.classification import Classification
from biomux.tasks.question_answering import Answers
from biomux.tasks.similarity import Similarity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from biomux.engine.annotator import Annotator
    from biomux.engine.packing import Batch

SAME = Classification("same", ("other", "same"), "pair")
DOSE, HIGH, LOW = (tiny.PIECES.index(word) for word in ("dose", "high", "low"))


class Session(stub.RuleSession):
    """Pairs are the same as far as they share tokens; the answer is "high" (5) or "low" (4), and nothing else is likely."""

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        segments = np.zeros_like(batch.ids) if batch.segments is None else batch.segments
        shared = []
        for ids, mask, segment in zip(batch.ids, batch.mask, segments, strict=True):
            first, second = ({int(one) for one in ids[(mask > 0) & (segment == side)] if one > 4} for side in (0, 1))
            shared.append(len(first & second) / max(1, len(first | second)))
        alike = np.array(shared, dtype=np.float32)[:, None]
        points = np.where(batch.ids == HIGH, 5.0, np.where(batch.ids == LOW, 4.0, -9.0))
        points[:, 0] = 0.0
        return {
            **super().run(batch),
            "alike": alike,
            "same": np.concatenate([np.zeros_like(alike), 8 * alike - 4], axis=1),
            "doses": np.stack([points, points], axis=2).astype(np.float32),
        }


def annotator(**changes: Any) -> Annotator:
    made = replace(stub.annotator(limit=24), session=Session(), asking=(SAME, Similarity("alike"), Answers("doses")))
    return replace(made, **changes)


def test_each_pair_gets_its_labels_in_order() -> None:
    found = list(annotator().pairs([("Aspirin given", "aspirin given"), ("fever", "mice")]))
    assert [(one.id, one.text, one.pair) for one in found] == [
        ("pair-1", "Aspirin given", "aspirin given"),
        ("pair-2", "fever", "mice"),
    ]
    said = [[(label.head, label.name, label.value, label.score) for label in one.labels] for one in found]
    assert said == [
        [("same", "same", None, 0.982), ("alike", "similarity", 1.0, None)],
        [("same", "other", None, 0.982), ("alike", "similarity", 0.0, None)],
    ]


def test_heads_and_a_threshold_choose() -> None:
    half = ("Aspirin given", "aspirin level mice")
    (found,) = annotator().pairs([half], heads=["alike"])
    assert [label.head for label in found.labels] == ["alike"]
    (found,) = annotator().pairs([half], threshold=0.99)
    assert [label.head for label in found.labels] == ["alike"]  # a number has no score


def test_documents_with_a_pair_are_pairs() -> None:
    (found,) = annotator().pairs([Document("7", "fever", pair="fever", metadata={"year": 1998})])
    assert (found.id, dict(found.metadata)) == ("7", {"year": 1998})


def test_what_was_not_read_of_a_long_pair_is_stated() -> None:
    (found,) = annotator().pairs([("aspirin " * 30, "fever")])
    assert found.metadata[UNREAD] == 31 - 23
    assert found.coverage == ((0, 22 * 8 - 1),)
    (again,) = annotator(limit=60).pairs([found])
    assert UNREAD not in again.metadata
    with pytest.raises(AnnotateError, match=r"BX613: document 'pair-1': 8 tokens of the pair were not read"):
        list(annotator(strict=True).pairs([("aspirin " * 30, "fever")]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("fever", "BX001: pairs() takes a list of pairs"),
        ([("fever",)], "BX001: pair 1: a pair must be two strings or a Document, got tuple"),
        ([("a", "b"), "ab"], "BX001: pair 2: a pair must be two strings or a Document, got str"),
        ([Document("1", "fever")], "BX611: document '1': there is no second text"),
    ],
)
def test_what_is_no_pair_is_refused(given: Any, message: str) -> None:
    with pytest.raises((UsageError, AnnotateError)) as error:
        list(annotator().pairs(given))
    assert str(error.value).startswith(message)


def test_answers_come_from_all_documents_best_first() -> None:
    texts = ["The dose was low. The liver.", "Mice. The dose was high (aspirin)."]
    found = annotator().ask("Which dose?", texts, n=2)
    assert [(one.text, one.document, one.sentence) for one in found] == [
        ("high", "text-2", "The dose was high (aspirin)."),
        ("low", "text-1", "The dose was low."),
    ]
    for one in found:
        whole = texts[int(one.document[-1]) - 1]
        assert whole[one.start : one.end] == one.text
        assert whole[one.sentence_start :].startswith(one.sentence)
    assert found[0].score > found[1].score > 0.99


def test_answers_of_one_document_do_not_overlap() -> None:
    found = annotator().ask("Which dose?", "dose high and low and mice", n=10)
    places = sorted((one.start, one.end) for one in found)
    assert len(places) > 1
    assert all(left[1] <= right[0] for left, right in pairwise(places))


def test_a_sign_alone_is_no_answer() -> None:
    assert annotator().ask("Which dose?", ". ; (") == []


def test_a_threshold_leaves_out_answers() -> None:
    assert annotator().ask("Which dose?", ["mice"], threshold=0.5) == []
    assert len(annotator().ask("Which dose?", ["dose high"], threshold=0.5, n=1)) == 1


def test_a_documents_own_questions_are_not_answered() -> None:
    given = Document("1", "dose high", questions=(Question("asked", "Who?"), Question("q2", "Where?")))
    (found,) = annotator().ask("Which dose?", given, n=1)
    assert (found.text, found.document) == ("high", "1")


def test_how_much_of_a_question_is_not_read() -> None:
    assert questions.unread(annotator(), "dose " * 12) == 0
    assert questions.unread(annotator(), "dose " * 20) == 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.ask("", ["x"]), "BX001: the question must not be empty"),
        (lambda model: model.ask("dose", ["x"], n=0), "BX001: n must be at least 1, got 0"),
        (lambda model: model.ask("dose", [3]), "BX001: document 1: ask() takes texts or documents, got int"),
        (lambda model: model.ask("dose", ["x"], heads=["same"]), "BX001: no head for questions is called 'same'"),
        (lambda model: model.pairs([], heads="dose"), "BX001: no head for pairs is called 'dose'"),
        (lambda model: replace(model, asking=()).pairs([]), "BX610: the model has no head for pairs; it has: entities"),
        (lambda model: replace(model, asking=()).ask("dose", []), "BX610: the model has no head for questions"),
    ],
)
def test_what_cannot_be_asked_is_told(call: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        call(annotator())
    assert str(error.value).startswith(message)
