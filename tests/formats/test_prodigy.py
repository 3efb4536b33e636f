"""Prodigy JSON lines."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from streams import endless

from biomux import formats
from biomux.document import Document, Label, Span
from biomux.formats import prodigy

if TYPE_CHECKING:
    from biomux.errors import FormatError


def read(*records: Any, **options: Any) -> list[Document]:
    data = "\n".join(map(json.dumps, records)).encode()
    return list(prodigy.read(formats.of_bytes("db.jsonl", data), **options))


def written(document: Document) -> dict[str, Any]:
    stream = io.BytesIO()
    prodigy.write([document], stream, on_loss=lambda loss: pytest.fail(str(loss)))
    found: dict[str, Any] = json.loads(stream.getvalue())
    return found


RECORD: dict[str, Any] = {
    "text": "TP53 binds",
    "tokens": [
        {"text": "TP53", "start": 0, "end": 4, "id": 0, "ws": True},
        {"text": "binds", "start": 5, "end": 10, "id": 1},
    ],
    "spans": [
        {"start": 0, "end": 4, "label": "gene", "score": 0.5, "source": "genes", "token_start": 0, "token_end": 0}
    ],
    "meta": {"year": 1998},
    "_input_hash": 123,
    "answer": "accept",
    "accept": ["relevant"],
}


def test_spans_tokens_labels_and_metadata_are_read() -> None:
    assert read(RECORD) == [
        Document(
            "db:1",
            "TP53 binds",
            tokens=((0, 4), (5, 10)),
            spans=(Span(0, 4, "gene", score=0.5, head="genes"),),
            labels=(Label("relevant"),),
            metadata={"year": 1998, "prodigy": {"_input_hash": 123, "answer": "accept"}},
        )
    ]


def test_what_was_read_is_written_as_it_was() -> None:
    (document,) = read(RECORD | {"id": "1"})
    expected = RECORD | {"id": "1", "tokens": [RECORD["tokens"][0], RECORD["tokens"][1] | {"ws": False}]}
    assert written(document) == expected


def test_fields_of_spans_and_tokens_are_kept() -> None:
    token = {"text": "TP53", "start": 0, "end": 4, "id": 0, "ws": False, "disabled": True}
    span = {"start": 0, "end": 4, "label": "gene", "token_start": 7, "token_end": 7, "kb_id": "7157"}
    record = {"id": "1", "text": "TP53", "tokens": [token], "spans": [span], "relations": [{"head": 0, "child": 0}]}
    (document,) = read(record)
    assert document.spans[0].extra == {"token_start": 7, "token_end": 7, "kb_id": "7157"}
    assert document.metadata["prodigy"] == {
        "relations": [{"head": 0, "child": 0}],
        "token fields": {"0": {"disabled": True}},
    }
    without = {key: value for key, value in record.items() if key != "tokens"}
    (bare,) = read(without)
    assert written(bare) == without


def test_tokens_of_a_span_are_told_by_their_numbers() -> None:
    tokens = ((0, 4), (5, 10), (10, 11))
    document = Document("1", "TP53 binds.", tokens=tokens, spans=(Span(0, 10, "x"), Span(5, 11, "x"), Span(1, 4, "x")))
    spans = written(document)["spans"]
    assert [(span.get("token_start"), span.get("token_end")) for span in spans] == [(0, 1), (1, 2), (None, None)]


def test_new_spans_take_the_place_of_rejected_ones_and_that_is_told() -> None:
    (document,) = read(RECORD | {"answer": "reject"})
    losses: list[formats.Loss] = []
    stream = io.BytesIO()
    prodigy.write([replace(document, spans=(Span(5, 10, "verb"),))], stream, on_loss=losses.append)
    assert [loss.feature for loss in losses] == ["metadata"]
    found = json.loads(stream.getvalue())
    assert [span["label"] for span in found["spans"]] == ["verb"]
    assert "answer" not in found


@pytest.mark.parametrize("answer", ["reject", "ignore"])
def test_what_was_not_accepted_is_no_annotation_but_is_kept(answer: str) -> None:
    (document,) = read(RECORD | {"answer": answer})
    assert (document.spans, document.labels) == ((), ())
    assert document.metadata["prodigy"]["answer"] == answer
    assert document.metadata["prodigy"]["spans"] == RECORD["spans"]
    assert read(written(document)) == [
        Document("db:1", "TP53 binds", tokens=document.tokens, metadata=document.metadata)
    ]


def test_tokens_are_written_with_what_follows_them() -> None:
    found = written(Document("1", "TP53 binds.", tokens=((0, 4), (5, 10), (10, 11))))
    assert [token["ws"] for token in found["tokens"]] == [True, False, False]


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"spans": []}, "BX116"),
        ({"text": "TP53", "spans": [{"start": 0, "end": 4}]}, "BX116"),
        ({"text": "TP53", "spans": [{"start": 0, "end": 9, "label": "gene"}]}, "BX114"),
        ({"text": "TP53", "spans": [{"start": 0, "end": 2, "label": "gene", "text": "TP53"}]}, "BX115"),
        ({"text": "TP53", "spans": [{"start": 0, "end": 2, "label": "gene", "score": "1"}]}, "BX113"),
        ({"text": "TP53", "tokens": [{"start": 2, "end": 4}, {"start": 0, "end": 2}]}, "BX114"),
        ({"text": "TP53", "meta": 7}, "BX113"),
        ([], "BX113"),
    ],
)
def test_a_broken_record_is_told_and_passed_over(record: Any, code: str) -> None:
    errors: list[FormatError] = []
    assert len(read({"text": "a"}, record, {"text": "b"}, on_error=errors.append)) == 2
    assert [(error.code, (error.where or "").split(" ")[0]) for error in errors] == [(code, "db.jsonl:2")]


def test_its_lines_are_recognised() -> None:
    for record in (RECORD, RECORD | {"config": {"labels": ["gene"]}}, {"label": ["x"], **RECORD}):
        assert formats.guess(formats.of_bytes("db.jsonl", json.dumps(record).encode())).name == "prodigy"


def test_documents_come_before_the_file_has_been_read() -> None:
    assert next(prodigy.read(endless("a.jsonl", b"", b'{"text": "TP53"}\n'))).text == "TP53"
