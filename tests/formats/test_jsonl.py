"""Biomux's JSON lines, as docs/reference/jsonl.md specifies them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from strategies import ODD_NAMES, TEXT, documents

from biomux import formats
from biomux.document import Argument, Document, Label, Question, Relation, Span
from biomux.document.record_read import _FIELDS
from biomux.errors import FormatError
from biomux.formats import jsonl

SPECIFICATION = Path(__file__).parents[2] / "docs" / "reference" / "jsonl.md"


def written(*documents: Document) -> bytes:
    stream = io.BytesIO()
    jsonl.write(documents, stream, on_loss=lambda loss: pytest.fail(str(loss)))
    return stream.getvalue()


def read(data: bytes) -> list[Document]:
    return list(jsonl.read(formats.of_bytes("a.jsonl", data), on_error=formats.stop))


def refused(data: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read(data)
    assert caught.value.where
    assert caught.value.hint
    return caught.value


def a_line(**fields: Any) -> bytes:
    return json.dumps({"biomux": 1, "id": "1", "text": "TP53", **fields}).encode() + b"\n"


@settings(max_examples=200, deadline=None)
@given(documents(names=ODD_NAMES, ids=TEXT))
def test_any_document_comes_back_equal_in_every_field_and_order(document: Document) -> None:
    assert read(written(document)) == [document]


def test_what_is_at_its_default_is_left_out() -> None:
    assert written(Document("1", "TP53")) == b'{"biomux":1,"id":"1","text":"TP53"}\n'
    spans = (Span(0, 4, "gene"), Span(0, 4, "gene", score=0.5, head="genes"))
    assert json.loads(written(Document("1", "TP53", spans=spans)))["spans"] == [
        {"start": 0, "end": 4, "type": "gene"},
        {"start": 0, "end": 4, "type": "gene", "score": 0.5, "head": "genes"},
    ]


def test_no_sentences_and_unknown_sentences_are_two_things() -> None:
    none, unknown = Document("1", "TP53", sentences=(), tokens=(), coverage=()), Document("2", "TP53")
    assert read(written(none, unknown)) == [none, unknown]


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (b'{"biomux": 2, "id": "1"}\n', "BX122", "version 2"),
        (b'{"id": "1", "text": ""}\n', "BX116", "'biomux'"),
        (b'{"biomux": true, "id": "1", "text": ""}\n', "BX113", "True"),
        (b'{"biomux": 1, "text": ""}\n', "BX116", "'id'"),
        (b'{"biomux": 1, "id": 7, "text": ""}\n', "BX113", "'id'"),
        (b"[1]\n", "BX113", "object"),
        (b'{"biomux": 1, "id"', "BX117", "JSON"),
        (b'{"biomux": 1, "id": "\\ud800", "text": ""}\n', "BX117", "JSON"),
        (b'{"biomux": 1, "id": "1", "text": "\xff"}\n', "BX111", "UTF-8"),
        (a_line(spans=[{"start": 0, "end": 5, "type": "gene"}]), "BX114", "0..5"),
        (a_line(spans=[{"start": -1, "end": 2, "type": "gene"}]), "BX114", "-1..2"),
        (a_line(spans=[{"start": 0, "end": 4}]), "BX116", "'type'"),
        (a_line(spans=[{"start": 0, "end": 4.0, "type": "gene"}]), "BX113", "integers"),
        (a_line(spans=[{"start": 0, "end": 4, "type": "gene", "colour": "red"}]), "BX113", "'colour'"),
        (a_line(spans=[{"start": 0, "end": 4, "type": "gene", "score": "high"}]), "BX113", "'score'"),
        (a_line(spans=[1]), "BX113", "'spans'"),
        (a_line(spans=None), "BX113", "'spans'"),
        (a_line(sentences=[[0, 1, 2]]), "BX113", "'sentences'"),
        (a_line(sentences=[[0, True]]), "BX113", "'sentences'"),
        (a_line(sentences=[[2, 4], [0, 2]]), "BX114", "out of order"),
        (a_line(metadata=[]), "BX113", "'metadata'"),
        (a_line(relations=[{"type": "x", "arguments": [{"role": "a", "target": "T9"}]}]), "BX113", "T9"),
        (a_line(relations=[{"type": "x", "arguments": [{"role": "a", "target": "b", "kind": "c"}]}]), "BX113", "'c'"),
        (a_line(questions=[{"id": "q", "text": "?", "impossible": 1}]), "BX113", "'impossible'"),
    ],
)
def test_what_the_specification_refuses_is_refused_with_its_place(line: bytes, code: str, says: str) -> None:
    error = refused(written(Document("0", "")) + line)
    assert error.code == code
    assert says in error.message
    assert (error.where or "").startswith("a.jsonl:2")


def test_a_broken_line_does_not_take_the_others_with_it() -> None:
    errors: list[FormatError] = []
    data = written(Document("1", "a")) + b"{broken\n\n" + a_line(spans=7) + written(Document("2", "b"))
    found = list(jsonl.read(formats.of_bytes("a.jsonl", data), on_error=errors.append))
    assert [document.id for document in found] == ["1", "2"]
    assert [error.where for error in errors] == ["a.jsonl:2", "a.jsonl:4"]


def test_a_later_version_ends_the_reading_even_where_errors_are_skipped() -> None:
    source = formats.of_bytes("a.jsonl", b'{"biomux": 2}\n')
    with pytest.raises(FormatError, match="newer Biomux"):
        list(jsonl.read(source, on_error=lambda _: None))


@pytest.mark.parametrize(
    "document",
    [
        Document("1", "half \ud800"),
        Document("1", "", metadata={"x": float("nan")}),
        Document("1", "", metadata={"x": 2**70}),
        Document("1", "", metadata={"x": {1, 2}}),
        Document("1", "", metadata={"x": (1, 2)}),
        Document("1", "", metadata={1: "x"}),  # type: ignore[dict-item]
        Document("1", "a", spans=(Span(0, 1, "gene", score=float("inf")),)),
        Document("1", "", labels=(Label("x", value=float("-inf")),)),
    ],
)
def test_what_would_come_back_as_something_else_is_not_written(document: Document) -> None:
    with pytest.raises(FormatError) as caught:
        jsonl.line(document)
    assert caught.value.code == "BX120"
    assert "'1'" in str(caught.value)


def test_metadata_that_lie_too_deep_are_not_written() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(FormatError, match="deep"):
        jsonl.line(Document("1", "", metadata={"x": deep}))


def test_a_byte_order_mark_and_windows_line_ends_are_taken() -> None:
    data = b"\xef\xbb\xbf" + written(Document("1", "a")).replace(b"\n", b"\r\n")
    assert read(data) == [Document("1", "a")]


def test_relations_keep_their_roles_and_kinds() -> None:
    document = Document(
        "1",
        "TP53 and MDM2",
        spans=(Span(0, 4, "gene", id="T1"), Span(9, 13, "gene", id="T2")),
        relations=(
            Relation("binds", (Argument("agent", "T1"), Argument("theme", "T2")), id="R1"),
            Relation("negated", (Argument("of", "R1", "relation"), Argument("about", "7157", "concept"))),
        ),
        questions=(Question("q", "What binds MDM2?", kind="list"),),
    )
    assert read(written(document)) == [document]


def test_the_specification_names_every_field() -> None:
    named = set(re.findall(r"`(\w+)`", SPECIFICATION.read_text(encoding="utf-8")))
    assert {name for fields in _FIELDS.values() for name in fields} <= named


def test_the_example_of_the_specification_is_read() -> None:
    found = re.search(r"```json\n(.+?)```", SPECIFICATION.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    assert [document.id for document in read(found[1].encode())] == ["12345"]
