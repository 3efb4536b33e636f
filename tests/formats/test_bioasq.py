"""BioASQ golden JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from biomux import formats
from biomux.document import Answer, Document, Passage, Question
from biomux.errors import FormatError
from biomux.formats import of_bytes
from biomux.formats._conformance import check_reader
from biomux.formats.bioasq import FORMAT, read

SNIPPETS = [
    {"text": "The p53 gene guards; P53 again.", "document": "u1", "offsetInBeginSection": 3},
    {"text": "Mdm2 binds p53.", "document": "u2"},
]


def golden(kind: str, exact: Any = None, **more: Any) -> bytes:
    question = {"id": "5a", "type": kind, "body": "Which?", "documents": ["u1"], "snippets": SNIPPETS, **more}
    if exact is not None:
        question["exact_answer"] = exact
    return json.dumps({"questions": [question]}).encode()


def one(data: bytes) -> Document:
    (document,) = read(of_bytes("gold.json", data))
    return document


def test_snippets_are_passages_of_one_text() -> None:
    document = one(golden("summary", ideal_answer=["It guards."]))
    assert document.text == "The p53 gene guards; P53 again.\nMdm2 binds p53."
    assert document.passages == (
        Passage(0, 31, "snippet", {"document": "u1", "offsetInBeginSection": 3}),
        Passage(32, 47, "snippet", {"document": "u2"}),
    )
    assert document.metadata == {"documents": ["u1"]}
    assert document.questions == (Question("5a", "Which?", kind="summary", extra={"ideal_answer": ["It guards."]}),)


@pytest.mark.parametrize("exact", ["P53", ["P53"], [["P53"]]])
def test_a_factoid_answer_is_placed_where_it_first_stands_in_each_snippet(exact: Any) -> None:
    question = one(golden("factoid", exact)).questions[0]
    assert question.answers == (Answer("p53", 4, 7), Answer("p53", 43, 46))


def test_synonyms_of_a_list_are_placed_or_kept_without_place() -> None:
    question = one(golden("list", [["MDM2", "HDM2"], ["p5"]])).questions[0]
    assert question.kind == "list"
    assert question.answers == (Answer("Mdm2", 32, 36), Answer("HDM2"), Answer("p5"))


def test_yes_and_no_have_no_place() -> None:
    assert one(golden("yesno", "yes")).questions[0].answers == (Answer("yes"),)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (golden("factoid", {"a": 1}), "BX113: gold.json:1 (question '5a'): the field 'exact_answer' must hold only"),
        (golden("factoid", snippets=[{"document": "u"}]), "BX116: gold.json:1 (question '5a'): the field 'text'"),
        (b'{"questions": [{"id": "1", "type": "list"}]}', "BX116: gold.json:1 (question '1'): the field 'body'"),
        (b'{"questions": [{"type": "list"}]}', "BX116: gold.json:1: the field 'id' is missing"),
        (b'{"questions": [', "BX117: gold.json:1"),
        (b'{"other": []}', "BX113: gold.json: expected a JSON object with an array under 'questions'"),
    ],
)
def test_malformed_json_is_told_in_one_sentence(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as told:
        one(data)
    assert str(told.value).startswith(message)


def test_it_is_recognised() -> None:
    assert formats.guess(of_bytes("BioASQ-training9b.json", golden("yesno", "no"))).name == "bioasq"


@pytest.mark.parametrize("exact", ["yes", ["p53", "MDM2"], [["p53", "TP53"], ["MDM2"]]])
def test_it_keeps_the_promises_of_a_reader(exact: Any) -> None:
    check_reader(FORMAT, {"gold.json": golden("list", exact, ideal_answer="x", triples=[{"p": "q"}])})
