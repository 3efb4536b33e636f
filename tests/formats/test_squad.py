"""SQuAD JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import documents

from biomux import formats
from biomux.document import Answer, Document, Question
from biomux.errors import FormatError
from biomux.formats import Loss, of_bytes
from biomux.formats._conformance import check_format
from biomux.formats.squad import FORMAT, HOLDS, place, read, write

CONTEXT = "Zoonotic viruses jump. The viruses of bats jump most."


def squad(*qas: dict[str, Any], **paragraph: Any) -> bytes:
    return json.dumps({"data": [{"paragraphs": [{"context": CONTEXT, "qas": list(qas), **paragraph}]}]}).encode()


def qa(answer: str, start: Any, **more: Any) -> dict[str, Any]:
    return {"id": "q1", "question": "What?", "answers": [{"text": answer, "answer_start": start}], **more}


def one(data: bytes, **options: Any) -> Document:
    (document,) = read(of_bytes("a.json", data), **options)
    return document


def test_a_paragraph_is_a_document_with_its_questions() -> None:
    document = one(squad(qa("bats", 38), {"id": "q2", "question": "Why?", "answers": [], "is_impossible": True}))
    assert (document.id, document.text) == ("a:1", CONTEXT)
    assert document.questions == (
        Question("q1", "What?", (Answer("bats", 38, 42),)),
        Question("q2", "Why?", impossible=True),
    )


def test_ids_that_are_numbers_stay_numbers_when_written() -> None:
    raw = squad({**qa("bats", 38), "id": 304}, document_id=630)
    document = one(raw)
    assert (document.id, document.questions[0].id) == ("630", "304")
    stream = io.BytesIO()
    write([document], stream, on_loss=_never)
    paragraph = json.loads(stream.getvalue())["data"][0]["paragraphs"][0]
    assert (paragraph["document_id"], paragraph["qas"][0]["id"]) == (630, 304)


def test_without_document_id_the_title_names_paragraphs() -> None:
    paragraph = {"context": "x", "qas": []}
    data = {"version": "1.1", "data": [{"title": "Bats", "paragraphs": [paragraph, paragraph]}]}
    found = list(read(of_bytes("a.json", json.dumps(data).encode())))
    assert [(document.id, document.metadata) for document in found] == [
        ("Bats:1", {"title": "Bats"}),
        ("Bats:2", {"title": "Bats"}),
    ]


@pytest.mark.parametrize(("stated", "found"), [(10, 9), (27, 27), (28, 27), (24, 27), (50, 27), (0, 9), (-5, 9)])
def test_an_answer_beside_its_place_is_found_again_at_the_nearest(stated: int, found: int) -> None:
    document = one(squad(qa("viruses", stated)))
    (answer,) = document.questions[0].answers
    assert (answer.start, answer.text) == (found, "viruses")
    repaired = int(stated != found)
    assert document.questions[0].extra.get("repaired", 0) == repaired
    assert document.metadata.get("repaired answers", 0) == repaired


def test_place_prefers_the_nearest_on_either_side() -> None:
    assert place("aXbXc", "X", 0) == 1
    assert place("aXbXc", "X", 4) == 3
    assert place("aXbXc", "Y", 2) is None


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (squad(qa("viruses", 10)), {"repair": False}, "BX115: a.json:1 (document 'a:1'), question 'q1': the answer"),
        (squad(qa("fungi", 10)), {}, "BX115: a.json:1 (document 'a:1'), question 'q1': the answer 'fungi' is nowhere"),
        (squad(qa("bats", "38")), {}, "BX113: a.json:1 (document 'a:1'), question 'q1': the field 'answer_start'"),
        (squad(qa("", 3)), {}, "BX113: a.json:1 (document 'a:1'), question 'q1': an answer must not be empty"),
        (
            squad({"id": "q1", "answers": []}),
            {},
            "BX116: a.json:1 (document 'a:1'), question 'q1': the field 'question'",
        ),
        (squad({"question": "x"}), {}, "BX116: a.json:1 (document 'a:1'): the field 'id' is missing"),
        (
            squad(qa("bats", 38, id=1.5)),
            {},
            "BX113: a.json:1 (document 'a:1'): the field 'id' must be a string or an integer",
        ),
        (b'{"data": [{"title": "x"}]}', {}, "BX116: a.json:1: the field 'paragraphs' is missing"),
        (b'{"data": [{"paragraphs": [{"qas": []}]}]}', {}, "BX116: a.json:1: the field 'context' is missing"),
        (b'{"data": [{"paragraphs": [3]}]}', {}, "BX113: a.json:1: expected a JSON object"),
        (squad()[:-4], {}, "BX117: a.json"),
        (b'{"data": [{"paragraphs": [{"context": "\xff", "qas": []}]}]}', {}, "BX111: a.json:1"),
    ],
)
def test_malformed_json_is_told_in_one_sentence(data: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError) as told:
        one(data, **options)
    assert str(told.value).startswith(message)


def test_a_question_with_a_lost_answer_can_be_skipped() -> None:
    errors: list[FormatError] = []
    data = squad(qa("fungi", 0), {**qa("bats", 38), "id": "q2"})
    document = one(data, on_error=errors.append)
    assert [question.id for question in document.questions] == ["q2"]
    assert [error.code for error in errors] == ["BX115"]


def test_it_is_recognised() -> None:
    assert formats.guess(of_bytes("a.json", squad(qa("bats", 38)))).name == "squad"


def _never(loss: Loss) -> None:
    raise AssertionError(loss)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(documents(HOLDS), max_size=3))
def test_any_document_with_questions_survives(drawn: list[Document]) -> None:
    check_format(FORMAT, drawn)
