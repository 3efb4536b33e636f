"""doccano JSON lines."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from streams import endless

from biomux import formats
from biomux.document import Argument, Document, Label, Relation, Span
from biomux.errors import FormatError, UsageError
from biomux.formats import doccano

TEXT = "🧬 TP53 binds MDM2"


def read(*records: Any, **options: Any) -> list[Document]:
    data = "\n".join(map(json.dumps, records)).encode()
    return list(doccano.read(formats.of_bytes("all.jsonl", data), **options))


def test_spans_and_labels_are_told_apart() -> None:
    found = read({"id": 1, "text": TEXT, "label": [[2, 6, "gene"]], "year": 1998}, {"text": "x", "label": ["relevant"]})
    assert found == [
        Document("1", TEXT, spans=(Span(2, 6, "gene"),), metadata={"year": 1998}),
        Document("all:2", "x", labels=(Label("relevant"),)),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"label": [[2, 6, "gene"]]},
        {"labels": [[2, 6, "gene"]]},
        {"entities": [[2, 6, "gene"]]},
        {"annotations": [{"label": "gene", "start_offset": 2, "end_offset": 6}]},
        {"entities": [{"label": "gene", "start_offset": 2, "end_offset": 6}], "cats": []},
    ],
)
def test_spans_are_read_from_the_fields_of_every_version(fields: dict[str, Any]) -> None:
    assert read({"id": 1, "text": TEXT, **fields}) == [Document("1", TEXT, spans=(Span(2, 6, "gene"),))]
    line = json.dumps({"id": 1, "text": TEXT, **fields}).encode()
    assert formats.guess(formats.of_bytes("all.jsonl", line)).name == "doccano"


@pytest.mark.parametrize(
    "fields",
    [
        {"label": "relevant"},
        {"label": ["relevant"]},
        {"labels": ["relevant"]},
        {"cats": ["relevant"]},
        {"cats": {"relevant": 1, "odd": 0}},
        {"annotations": [{"label": "relevant"}]},
    ],
)
def test_labels_are_read_from_the_fields_of_every_version(fields: dict[str, Any]) -> None:
    assert read({"id": 1, "text": TEXT, **fields}) == [Document("1", TEXT, labels=(Label("relevant"),))]


def test_what_else_is_said_of_annotations_is_kept_or_told() -> None:
    entity = {"id": 4, "label": 3, "start_offset": 2, "end_offset": 6, "user": 1}
    (document,) = read({"id": 1, "text": TEXT, "annotations": [entity, {"label": 7, "user": 2}]})
    assert document.spans == (Span(2, 6, "3", id="4", extra={"user": 1}),)
    assert document.labels == (Label("7"),)
    assert document.metadata == {"label details": [{"label": 7, "user": 2}]}
    losses: list[formats.Loss] = []
    doccano.write([document], io.BytesIO(), on_loss=losses.append)
    assert [loss.feature for loss in losses] == ["span extra"]


def test_metadata_that_would_be_read_as_annotations_are_left_out_and_told() -> None:
    losses: list[formats.Loss] = []
    stream = io.BytesIO()
    doccano.write([Document("1", "TP53", metadata={"labels": ["x"]})], stream, on_loss=losses.append)
    assert [loss.feature for loss in losses] == ["metadata"]
    assert read(json.loads(stream.getvalue())) == [Document("1", "TP53")]


def test_the_export_with_relations_is_read_and_written() -> None:
    record = {
        "id": 5,
        "text": TEXT,
        "entities": [
            {"id": 1, "label": "gene", "start_offset": 2, "end_offset": 6},
            {"id": 2, "label": "gene", "start_offset": 13, "end_offset": 17},
        ],
        "relations": [{"id": 9, "from_id": 1, "to_id": 2, "type": "binds"}],
    }
    (document,) = read(record)
    assert document.relations == (Relation("binds", (Argument("from", "1"), Argument("to", "2")), id="9"),)
    stream = io.BytesIO()
    doccano.write([document], stream, on_loss=lambda loss: pytest.fail(str(loss)))
    assert read(json.loads(stream.getvalue())) == [document]


def test_the_plain_shape_is_what_doccano_imports() -> None:
    stream = io.BytesIO()
    doccano.write([Document("1", "TP53", spans=(Span(0, 4, "gene"),))], stream, on_loss=formats.ignore)
    assert json.loads(stream.getvalue()) == {"id": "1", "text": "TP53", "label": [[0, 4, "gene"]]}


def test_offsets_in_utf16_units_are_read_on_request() -> None:
    assert read({"text": TEXT, "label": [[3, 7, "gene"]]}, offsets="utf16")[0].spans == (Span(2, 6, "gene"),)
    with pytest.raises(FormatError) as caught:
        read({"text": TEXT, "label": [[1, 7, "gene"]]}, offsets="utf16")
    assert caught.value.code == "BX114"
    with pytest.raises(UsageError):
        read(offsets="bytes")


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"label": []}, "BX116"),
        ({"text": 1}, "BX113"),
        ({"text": "TP53", "label": [[0, 4]]}, "BX113"),
        ({"text": "TP53", "label": [[0, "4", "gene"]]}, "BX113"),
        ({"text": "TP53", "label": [[0, 5, "gene"]]}, "BX114"),
        ({"text": "TP53", "label": 7}, "BX113"),
        ({"text": "TP53", "annotations": "gene"}, "BX113"),
        ({"text": "TP53", "annotations": [{"start_offset": 0, "label": "gene"}]}, "BX116"),
        ({"text": "TP53", "entities": [{"label": "gene"}]}, "BX116"),
        ({"text": "TP53", "relations": [{"from_id": 1, "to_id": 2, "type": "x"}]}, "BX113"),
        (7, "BX113"),
    ],
)
def test_a_broken_record_is_told_and_passed_over(record: Any, code: str) -> None:
    errors: list[FormatError] = []
    assert len(read({"text": "a"}, record, {"text": "b"}, on_error=errors.append)) == 2
    assert [(error.code, (error.where or "").split(" ")[0]) for error in errors] == [(code, "all.jsonl:2")]


def test_its_lines_are_recognised() -> None:
    assert formats.guess(formats.of_bytes("all.jsonl", b'{"id":1,"text":"x","label":[]}')).name == "doccano"
    assert formats.guess(formats.of_bytes("a.jsonl", b'{"biomux":1,"id":"1","text":"x","labels":[]}')).name == "jsonl"


def test_documents_come_before_the_file_has_been_read() -> None:
    assert next(doccano.read(endless("a.jsonl", b"", b'{"text": "TP53"}\n'))).text == "TP53"
