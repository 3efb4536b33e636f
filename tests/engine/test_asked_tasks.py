"""What a query asks a model for beyond entities, and which answers are given out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import stub
import tiny

from biomux.document import Argument, Document, Label, Relation, Span
from biomux.engine.asked_tasks import describe, group_of, groups
from biomux.errors import AnnotateError, UsageError
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.classification import Classification
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.question_answering import Answers
from biomux.tasks.relation import Relations
from biomux.tasks.similarity import Similarity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from biomux.engine.annotator import Annotator
    from biomux.engine.packing import Batch

LINKS = Relations("links", ("treats", "causes"), "one-pass", first=("Chemical",), second=("Disease",))
TOPIC = Classification("topic", ("short", "long"))
SAME = Classification("same", ("other", "same"), "pair")
HELPER = Auxiliary("helper", "has", ("Chemical",), of="pair")
TEXT = "Aspirin treated fever. Mice."


class Session(stub.RuleSession):
    """A drug treats an ill for sure (0.88) in a row with "treated", and causes it (0.62) elsewhere; texts are long from 12 tokens on."""

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        treated = (batch.ids == tiny.PIECES.index("treated")).any(axis=1)

        def links(head: str, places: NDArray[np.int64]) -> NDArray[np.float32]:
            assert head == "links"
            rows = treated[batch.first[places[:, 0]] // batch.ids.shape[1]]
            return np.where(rows[:, None], [[0.0, 2.0, -30.0]], [[0.0, -30.0, 0.5]]).astype(np.float32)

        size = batch.mask.sum(axis=1) - 12.0
        two = np.stack([np.zeros(len(size)), size], axis=1).astype(np.float32)
        return stub.Said({**super().run(batch), "topic": two, "same": two, "helper": two}, links)


def annotator(**changes: Any) -> Annotator:
    made = replace(stub.annotator(limit=40), session=Session(), asking=(LINKS, TOPIC, SAME, HELPER))
    return replace(made, **changes)


def said(document: Document) -> list[tuple[str, str, float]]:
    """(first, type, score) of each relation."""
    by_id = {span.id: document.mention(span) for span in document.spans}
    return [(by_id[one.arguments[0].target], one.type, one.score or 0) for one in document.relations]


def test_by_default_everything_that_needs_no_second_text_is_found() -> None:
    document = annotator()(TEXT)
    assert [(document.mention(span), span.type) for span in document.spans] == [
        ("Aspirin", "Chemical"),
        ("fever", "Disease"),
    ]
    assert said(document) == [("Aspirin", "treats", 0.8808)]
    assert [(label.name, label.head) for label in document.labels] == [("short", "topic")]


@pytest.mark.parametrize(
    ("tasks", "spans", "relations", "labels"),
    [
        (("entities",), 2, 0, 0),
        (("relations",), 2, 1, 0),
        (("links",), 2, 1, 0),
        (("classes",), 0, 0, 1),
        (("topic", "entities"), 2, 0, 1),
        ("classes", 0, 0, 1),
    ],
)
def test_tasks_are_named_by_what_they_find_or_by_head(
    tasks: tuple[str, ...], spans: int, relations: int, labels: int
) -> None:
    document = annotator()(TEXT, tasks=tasks)
    assert (len(document.spans), len(document.relations), len(document.labels)) == (spans, relations, labels)


def test_named_heads_are_asked_for_entities_alone() -> None:
    document = annotator()(TEXT, heads=["rule"])
    assert document.spans
    assert not document.relations
    assert not document.labels


def test_documents_may_keep_their_entities() -> None:
    spans = (Span(0, 7, "Chemical", id="a"), Span(23, 27, "Disease", id="b"), Span(16, 21, "Disease", id="c"))
    given = Document("1", TEXT, spans=spans, sentences=((0, 28),))
    (document,) = annotator().annotate([given], tasks=["relations"], keep_entities=True)
    assert document.spans == spans
    assert {one.arguments[1].target for one in document.relations} == {"b", "c"}


def test_keeping_entities_where_nothing_else_is_asked_for_is_refused() -> None:
    with pytest.raises(UsageError, match="there is nothing to find"):
        list(annotator().annotate([Document("1", TEXT)], tasks=["entities"], keep_entities=True))


def test_what_is_not_asked_for_stays_and_what_the_head_said_before_does_not() -> None:
    old = Label("long", head="topic")
    link = Relation("gold", (Argument("a", "x"), Argument("b", "x")))
    given = Document("1", TEXT, spans=(Span(0, 7, "Own", id="x"),), relations=(link,), labels=(Label("gold"), old))
    (document,) = annotator().annotate([given], tasks=["classes"])
    assert document.spans == given.spans
    assert document.relations == (link,)
    assert [label.name for label in document.labels] == ["gold", "short"]


def test_a_threshold_is_for_relations_and_classes_too() -> None:
    text = "Aspirin treated fever. Bexol and ulcer."
    both = [("Aspirin", "treats", 0.8808), ("Bexol", "causes", 0.6225)]
    assert said(annotator()(text)) == both
    assert said(annotator()(text, threshold=0.7)) == both[:1]
    assert said(annotator()(text, threshold={"treats": 0.9})) == both[1:]
    document = annotator()(text, threshold={"treats": 1, "causes": 1, "short": 0.9, "Chemical": 0.5})
    assert len(document.spans) == 4
    assert not document.relations


def test_the_models_own_thresholds_hold_unless_the_call_has_one() -> None:
    model = annotator(thresholds={("links", "treats"): 0.9, ("links", "causes"): None})
    text = "Aspirin treated fever. Bexol and ulcer."
    assert not model(text).relations
    assert [name for _, name, _ in said(model(text, threshold={"treats": 0.5}))] == ["treats"]
    assert len(model(text, threshold=0).relations) == 2


def test_a_precision_chooses_thresholds_and_leaves_out_what_was_not_measured() -> None:
    calibrated = {
        ("rule", "Chemical"): ((0.1, 0.99),),
        ("rule", "Disease"): ((0.1, 0.99),),
        ("links", "treats"): ((0.5, 0.7), (0.8, 0.95)),
        ("links", "causes"): ((0.5, 0.7),),
    }
    model = annotator(curves=calibrated)
    text = "Aspirin treated fever. Bexol and ulcer."
    assert [name for _, name, _ in said(model(text, precision=0.9))] == ["treats"]
    assert [name for _, name, _ in said(model(text, precision=0.6))] == ["treats", "causes"]
    assert model.imprecise(0.9) == ("causes (links)", "short (topic)", "long (topic)")
    assert model.imprecise(0.9, tasks=["relations"]) == ("causes (links)",)


def test_a_document_without_a_second_text_fails_alone() -> None:
    documents = [Document("1", "Fever."), Document("2", "Fever.", pair="Ulcer."), Document("3", "Ulcer.")]
    failed: list[str] = []
    found = list(
        annotator().annotate(
            documents, tasks=["pairs"], on_error=lambda document, error: failed.append(f"{document.id} {error.code}")
        )
    )
    assert [document.id for document in found] == ["2"]
    assert failed == ["1 BX611", "3 BX611"]
    with pytest.raises(AnnotateError, match="BX611: document '1'"):
        list(annotator().annotate(documents, tasks=["same"]))


def test_a_document_without_a_question_fails() -> None:
    model = annotator(asking=(Answers("doses"),))
    with pytest.raises(AnnotateError, match="BX612: document 'text': there is no question for head 'doses'"):
        model(TEXT, tasks=["questions"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": ["questions"]}, "BX610: the model has no head for questions; it has: entities"),
        ({"tasks": ["relation"]}, "BX001: unknown task 'relation'; did you mean 'relations'?"),
        ({"tasks": ["helper"]}, "BX001: unknown task 'helper'"),
        ({"tasks": []}, "BX001: tasks must name at least one"),
        ({"tasks": ["classes"], "types": ["Chemical"]}, "BX001: cannot use types without finding entities"),
        ({"threshold": {"treat": 0.5}}, "BX001: unknown type 'treat'; did you mean 'treats'?"),
        ({"tasks": ["entities"], "threshold": {"treats": 0.5}}, "BX001: unknown type 'treats'"),
        ({"tasks": ["classes"], "threshold": {"short": 2}}, "BX001: threshold must be a number from 0 to 1, got 2"),
    ],
)
def test_what_cannot_be_asked_for_is_told_before_the_first_document(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        annotator().annotate([], **options)
    assert str(error.value).startswith(message)


def test_a_model_that_does_not_tag_leaves_entities_alone() -> None:
    model = annotator(tasks=())
    given = Document("1", TEXT, spans=(Span(0, 7, "Own"),))
    (document,) = model.annotate([given])
    assert document.spans[0].type == "Own"
    assert [label.name for label in document.labels] == ["short"]
    with pytest.raises(UsageError, match="BX610: the model has no head for entities; it has: relations"):
        model.annotate([given], tasks=["entities"])


@pytest.mark.parametrize("budget", [1, 60, 4000])
def test_answers_do_not_depend_on_the_documents_beside(budget: int) -> None:
    documents = [Document(str(number), tiny.text(20, seed=number)) for number in range(12)]
    alone = [next(iter(annotator().annotate([document]))) for document in documents]
    assert list(annotator(budget=budget, chunk=100).annotate(documents)) == alone
    assert any(document.relations for document in alone)


def test_what_serves_training_alone_is_in_no_group() -> None:
    asking: tuple[Any, ...] = (LINKS, TOPIC, SAME, HELPER, MaskedWords("words"), Similarity("alike"), Answers("doses"))
    assert groups(asking, tags=True) == {
        "entities": (),
        "relations": ("links",),
        "classes": ("topic",),
        "pairs": ("same", "alike"),
        "questions": ("doses",),
    }
    assert group_of(HELPER) is None
    assert describe((), ()) == "nothing that can be asked for"
