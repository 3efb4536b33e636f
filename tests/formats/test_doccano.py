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


def written(*documents: Document) -> list[dict[str, Any]]:
    stream = io.BytesIO()
    doccano.write(documents, stream, on_loss=lambda loss: pytest.fail(str(loss)))
    return [json.loads(line) for line in stream.getvalue().split(b"\n") if line]


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
    assert [loss.feature for loss in losses] == ["span extra", "span ids"]


def test_metadata_stand_in_one_field_that_every_line_has() -> None:
    """Doccano 1.8 cannot import a file in which a field is missing on some lines."""
    documents = [Document("1", "TP53", metadata={"labels": ["x"], "year": 1998, "meta": {"a": 1}}), Document("2", "x")]
    lines = written(*documents)
    assert [line["meta"] for line in lines] == [documents[0].metadata, {}]
    assert [line.keys() for line in lines] == [{"id", "text", "label", "offsets", "meta"}] * 2
    assert read(*lines) == documents
    both = {"id": 1, "text": "x", "meta": {"year": 1}, "year": 2}
    assert read(both)[0].metadata == {"meta": {"year": 1}, "year": 2}


def test_characters_beyond_ascii_are_escaped() -> None:
    stream = io.BytesIO()
    document = Document("1", TEXT, spans=(Span(2, 6, "gène"),))
    doccano.write([document], stream, on_loss=formats.ignore)
    assert stream.getvalue().isascii()
    assert list(doccano.read(formats.of_bytes("a.doccano.jsonl", stream.getvalue()))) == [document]


def test_ids_are_numbers_where_there_are_relations_and_lost_elsewhere() -> None:
    spans = (Span(2, 6, "gene", id="T7"), Span(13, 17, "gene", id="1"), Span(7, 12, "verb"))
    relation = Relation("binds", (Argument("from", "1"), Argument("to", "T7")), id="R1")
    document = Document("1", TEXT, spans=spans, relations=(relation,))
    (line,) = written(document)
    assert [(entity.get("id"), entity.get("name")) for entity in line["entities"]] == [
        (0, "T7"),
        (1, None),
        (None, None),
    ]
    assert line["relations"] == [{"name": "R1", "from_id": 1, "to_id": 0, "type": "binds"}]
    assert read(line) == [document]
    losses: list[formats.Loss] = []
    doccano.write([Document("1", TEXT, spans=spans)], io.BytesIO(), on_loss=losses.append)
    assert [(loss.feature, loss.count) for loss in losses] == [("span ids", 2)]


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
    expected = {"id": "1", "text": "TP53", "label": [[0, 4, "gene"]], "offsets": "utf16", "meta": {}}
    assert json.loads(stream.getvalue()) == expected


def test_offsets_count_utf16_units_as_doccano_does() -> None:
    document = Document("1", TEXT, spans=(Span(2, 6, "gene"), Span(13, 17, "gene")))
    (line,) = written(document)
    assert line["label"] == [[3, 7, "gene"], [14, 18, "gene"]]
    assert read(line) == [document]
    exported = {"id": 4, "text": TEXT, "label": [[3, 7, "gene"]], "Comments": []}
    assert read(exported)[0].spans == (Span(2, 6, "gene"),)
    assert read(exported, offsets="characters")[0].spans == (Span(3, 7, "gene"),)
    assert read({"text": TEXT, "label": [[2, 6, "gene"]]})[0].spans == (Span(2, 6, "gene"),)
    assert read({"text": TEXT, "label": [], "offsets": "later"})[0].metadata == {"offsets": "later"}


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
