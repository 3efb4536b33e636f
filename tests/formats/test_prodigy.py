"""Prodigy JSON lines."""

from __future__ import annotations

import io
import json
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
            metadata={"year": 1998, "prodigy": {"_input_hash": 123}},
        )
    ]


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
    assert formats.guess(formats.of_bytes("db.jsonl", json.dumps(RECORD).encode())).name == "prodigy"


def test_documents_come_before_the_file_has_been_read() -> None:
    assert next(prodigy.read(endless("a.jsonl", b"", b'{"text": "TP53"}\n'))).text == "TP53"
