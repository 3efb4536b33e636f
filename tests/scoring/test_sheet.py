"""The score sheet takes whatever the documents have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from scoring.strategies import pairs as span_pairs

from biomux.document import Answer, Document, Label, Question, Span
from biomux.errors import ScoreError
from biomux.scoring.document_counts import document_counts
from biomux.scoring.score_sheet import Sheet
from biomux.scoring.spans import score

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = "Aspirin causes ulcers."


def sheet_of(pairs: Sequence[tuple[Document, Document]], **options: object) -> Sheet:
    sheet = Sheet(**options)  # type: ignore[arg-type]
    for gold, predicted in pairs:
        sheet.add(gold, predicted)
    return sheet


@given(span_pairs())
def test_spans_are_scored_as_by_score_and_rows_add_up(pairs: list[tuple[Document, Document]]) -> None:
    sheet = Sheet()
    rows = [sheet.add(gold, predicted) for gold, predicted in pairs]
    scores = score(pairs)
    if pairs and any(gold.spans or predicted.spans for gold, predicted in pairs):
        assert sheet.to_json()["spans"]["matchings"] == {
            **scores.to_json()["matchings"],
            "strict": sheet.to_json()["spans"]["matchings"]["strict"],
        }
    for matching, table in scores.tables.items():
        summed = document_counts(rows, matching=matching).counts.sum(axis=(0, 1)).tolist()
        assert summed == [table.micro.tp, table.micro.fp, table.micro.fn]


def test_documents_without_anything_have_span_scores_of_zero() -> None:
    made = sheet_of([(Document("1", TEXT), Document("1", TEXT))]).to_json()
    assert made["spans"]["matchings"]["strict"]["micro"]["f1"] == 0
    assert "labels" not in made


def test_confidence_knows_right_from_wrong() -> None:
    gold = Document("1", TEXT, spans=(Span(0, 7, "drug"),))
    said = Document("1", TEXT, spans=(Span(0, 7, "drug", score=0.9), Span(15, 21, "drug", score=0.3)))
    made = sheet_of([(gold, said)]).to_json()["spans"]["confidence"]
    assert (made["number"], made["accuracy"]) == (2, 0.5)
    assert made["ece"] == pytest.approx(0.2)


def test_a_score_that_is_no_probability_is_refused() -> None:
    said = Document("1", TEXT, spans=(Span(0, 7, "drug", score=3.5),))
    with pytest.raises(ScoreError, match="BX705"):
        sheet_of([(said, said)])


def labelled(*names: str, id: str = "1") -> Document:
    return Document(id, TEXT, labels=tuple(Label(name) for name in names))


def test_one_class_a_document_is_scored_by_accuracy() -> None:
    pairs = [(labelled("yes"), labelled("yes")), (labelled("none"), labelled("yes")), (labelled("no"), labelled())]
    made = sheet_of(pairs, negative=["none"]).to_json()["labels"]
    assert (made["kind"], made["accuracy"]) == ("one", pytest.approx(1 / 3))
    assert [made["micro"][name] for name in ("tp", "fp", "fn")] == [1, 1, 1]


def test_several_classes_are_scored_as_sets() -> None:
    pairs = [(labelled("a", "b"), labelled("a")), (labelled(), labelled("c"))]
    made = sheet_of(pairs).to_json()["labels"]
    assert (made["kind"], made["documents"]) == ("sets", 2)
    assert [made["micro"][name] for name in ("tp", "fp", "fn")] == [1, 1, 1]


def test_documents_without_classes_count_where_sets_are_scored() -> None:
    pairs = [(labelled("a", "b"), labelled("a")), (labelled(), labelled())]
    assert sheet_of(pairs).to_json()["labels"]["exact"]["value"] == 0.5


def test_labels_of_places_are_items_of_their_own() -> None:
    gold = Document("1", TEXT, labels=(Label("AIM", start=0, end=7), Label("END", start=8, end=22)))
    said = Document("1", TEXT, labels=(Label("AIM", start=0, end=7), Label("AIM", start=8, end=22)))
    assert sheet_of([(gold, said)]).to_json()["labels"]["accuracy"] == 0.5


def test_numbers_are_paired_by_name_and_must_be_there() -> None:
    def rated(value: float) -> Document:
        return Document("1", TEXT, labels=(Label("similarity", value=value),))

    made = sheet_of([(rated(1), rated(2)), (rated(2), rated(3)), (rated(3), rated(4))]).to_json()["numbers"]
    assert made["similarity"]["pearson"] == pytest.approx(1)
    assert made["similarity"]["mse"] == 1
    with pytest.raises(ScoreError, match="BX701"):
        sheet_of([(rated(1), Document("1", TEXT))])


def asked(*answers: Answer, kind: str = "factoid") -> Document:
    return Document("1", TEXT, questions=(Question("q", "Which drug?", answers, kind=kind),))


def test_answers_are_ranked_by_their_scores() -> None:
    said = asked(Answer("ulcers", score=0.1), Answer("aspirin", score=0.9))
    made = sheet_of([(asked(Answer("Aspirin")), said)]).to_json()["answers"]
    assert (made["questions"], made["strict"]["value"]) == (1, 1.0)


def test_a_question_that_was_not_answered_is_wrong_and_lists_are_left_out() -> None:
    sheet = sheet_of([(asked(Answer("Aspirin")), Document("1", TEXT)), (asked(kind="list"), Document("1", TEXT))])
    made = sheet.to_json()
    assert made["answers"]["exact"] == {"value": 0.0, "error": None, "number": 1}
    assert made["left_out"] == {"list questions": 1}


def test_rows_of_classes_begin_with_nothing() -> None:
    rows = Sheet().add(labelled("a", "b"), labelled("b", "c"))["counts"]
    assert rows["labels"] == {"a": [0, 0, 1], "b": [1, 0, 0], "c": [0, 1, 0]}
