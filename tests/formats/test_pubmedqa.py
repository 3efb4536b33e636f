"""PubMedQA JSON, and the streaming of an object's members."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from biomux import formats
from biomux.document import Document, Label, Passage
from biomux.errors import FormatError
from biomux.formats import of_bytes, of_path
from biomux.formats._conformance import check_reader
from biomux.formats._json_object import members
from biomux.formats.pubmedqa import FORMAT, read

if TYPE_CHECKING:
    from pathlib import Path

RECORD: dict[str, Any] = {
    "QUESTION": "Do mice sleep?",
    "CONTEXTS": ["We looked.", "They slept."],
    "LABELS": ["METHODS", "RESULTS"],
    "MESHES": ["Mice"],
    "YEAR": "2011",
    "final_decision": "yes",
    "LONG_ANSWER": "Mice sleep.",
}


def one(record: Any, **more: Any) -> Document:
    (document,) = read(of_bytes("ori_pqal.json", json.dumps({"21": record, **more}, indent=1).encode()))
    return document


def test_contexts_are_passages_and_the_conclusion_is_not_in_the_text() -> None:
    assert one(RECORD) == Document(
        "21",
        "We looked.\nThey slept.",
        passages=(Passage(0, 10, "METHODS"), Passage(11, 22, "RESULTS")),
        pair="Do mice sleep?",
        labels=(Label("yes"),),
        metadata={"MESHES": ["Mice"], "YEAR": "2011", "LONG_ANSWER": "Mice sleep."},
    )


def test_the_unlabelled_set_has_no_decision() -> None:
    assert one({"QUESTION": "?", "CONTEXTS": ["x"]}).labels == ()


def test_the_file_of_test_answers_marks_the_split(tmp_path: Path) -> None:
    (tmp_path / "ori_pqal.json").write_text(json.dumps({"21": RECORD, "22": RECORD}))
    answers = tmp_path / "test_ground_truth.json"
    answers.write_text('{"22": "yes"}')
    assert [document.metadata.get("split") for document in formats.read(tmp_path)] == [None, "test"]
    answers.write_text('{"22": "no"}')
    with pytest.raises(FormatError, match="the decision is 'yes', but test_ground_truth"):
        list(formats.read(tmp_path))
    (tmp_path / "ori_pqal.json").unlink()
    with pytest.raises(FormatError, match="BX119"):
        list(read(of_path(answers)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"1": {"CONTEXTS": []}}', "BX116: a.json:1: the field 'QUESTION' is missing"),
        (b'{"1": {"QUESTION": "?", "CONTEXTS": "x"}}', "BX113: a.json:1: the field 'CONTEXTS' must be an array"),
        (b'{"1": {"QUESTION": "?", "CONTEXTS": [1]}}', "BX113: a.json:1: an element of 'CONTEXTS' must be a string"),
        (
            b'{"1": {"QUESTION": "?", "CONTEXTS": ["x"], "LABELS": []}}',
            "BX113: a.json:1: there are 1 contexts and 0 LABELS",
        ),
        (b'{"1": []}', "BX113: a.json:1: '1' must be an object"),
        (b'{\n"1": {"QUESTION": }}', "BX117: a.json:2: not valid JSON"),
        (b'{"1": {"QUESTION": "?"', "BX117: a.json:1: the file ends inside its object"),
        (b'{"1": {"QUESTION": "\xff"}}', "BX111: a.json:1"),
        (b"[]", "BX113: a.json: expected a JSON object"),
        (b'{"1": {"QUESTION": "?", "CONTEXTS": []}} x', "BX117: a.json: something follows the end"),
    ],
)
def test_malformed_json_is_told_in_one_sentence(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as told:
        list(read(of_bytes("a.json", data)))
    assert str(told.value).startswith(message)


def test_a_broken_member_does_not_take_the_others_with_it() -> None:
    errors: list[FormatError] = []
    data = b'{"1": {"a": 1},\n"2": {"a": },\n"3": {"a": "}{"}, "4": 5}'
    assert list(members(of_bytes("a.json", data), on_error=errors.append)) == [
        (1, "1", {"a": 1}),
        (3, "3", {"a": "}{"}),
    ]
    assert [error.where for error in errors] == ["a.json:2", "a.json:3"]


@pytest.mark.parametrize("size", [0, 1, 3])
def test_members_larger_than_the_window_are_read(size: int) -> None:
    wanted = {str(n): {"text": 'x"\\{' * 400_000} for n in range(size)}
    data = json.dumps(wanted).encode()
    assert {key: value for _, key, value in members(of_bytes("a.json", data))} == wanted


def test_it_is_recognised() -> None:
    assert formats.guess(of_bytes("ori_pqal.json", json.dumps({"21": RECORD}).encode())).name == "pubmedqa"


def test_it_keeps_the_promises_of_a_reader() -> None:
    questions = json.dumps({"21": RECORD, "22": {**RECORD, "final_decision": "no"}}).encode()
    check_reader(FORMAT, {"ori_pqal.json": questions})
    check_reader(FORMAT, {"ori_pqal.json": questions, "test_ground_truth.json": b'{"22": "no"}'})
