"""Label Studio: annotations in, predictions out."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from streams import endless

from biomux import formats
from biomux.document import Argument, Document, Label, Relation, Span
from biomux.formats import labelstudio

if TYPE_CHECKING:
    from biomux.errors import FormatError

TEXT = "🧬 TP53 binds MDM2"


def region(start: int, end: int, text: str | None, *labels: str, **more: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": list(labels)} | ({} if text is None else {"text": text})
    return {"id": "r1", "from_name": "label", "to_name": "text", "type": "labels", "value": value, **more}


def task(*results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": 7, "annotations": [{"id": 1, "result": list(results)}], "data": {"text": TEXT}, **fields}


def read(*tasks: Any, **options: Any) -> list[Document]:
    return list(labelstudio.read(formats.of_bytes("export.json", json.dumps(tasks).encode()), **options))


def written(*documents: Document) -> list[dict[str, Any]]:
    stream = io.BytesIO()
    labelstudio.write(documents, stream, on_loss=lambda loss: pytest.fail(str(loss)))
    found: list[dict[str, Any]] = json.loads(stream.getvalue())
    return found


def test_annotations_become_spans_labels_and_relations() -> None:
    first, second = region(2, 6, "TP53", "gene"), region(13, 17, "MDM2", "gene", "protein") | {"id": "r2"}
    relation = {"type": "relation", "from_id": "r2", "to_id": "r1", "direction": "left", "labels": ["binds"]}
    choice = {"type": "choices", "from_name": "c", "to_name": "text", "value": {"choices": ["relevant"]}}
    rating = {"type": "rating", "from_name": "s", "to_name": "text", "value": {"rating": 4}}
    (document,) = read(task(first, second, relation, choice, rating, data={"text": TEXT, "year": 1998}))
    assert document == Document(
        "7",
        TEXT,
        spans=(Span(2, 6, "gene", id="r1"), Span(13, 17, "gene", id="r2"), Span(13, 17, "protein", id="r2")),
        relations=(Relation("binds", (Argument("from", "r1"), Argument("to", "r2"))),),
        labels=(Label("relevant"),),
        metadata={"year": 1998, "label_studio": [rating]},
    )


def test_json_min_is_read() -> None:
    record = {
        "text": TEXT,
        "id": 9,
        "label": [{"start": 3, "end": 7, "text": "TP53", "labels": ["gene", "protein"]}],
        "topic": {"choices": ["relevant", "new"]},
        "tone": "calm",
        "annotator": 1,
        "annotation_id": 4,
        "lead_time": 2.5,
    }
    expected = Document(
        "9",
        TEXT,
        spans=(Span(2, 6, "gene"), Span(2, 6, "protein")),
        labels=(Label("relevant"), Label("new")),
        metadata={"tone": "calm", "annotator": 1, "annotation_id": 4, "lead_time": 2.5},
    )
    assert read(record) == [expected]
    assert read({"body": TEXT, "id": 2}, text="body") == [Document("2", TEXT)]
    data = json.dumps([record]).encode()
    assert formats.guess(formats.of_bytes("project-1.json", data)).name == "labelstudio"


def test_offsets_in_characters_and_in_utf16_units_are_told_apart_by_the_regions_text() -> None:
    assert read(task(region(2, 6, "TP53", "gene")))[0].spans == (Span(2, 6, "gene", id="r1"),)
    assert read(task(region(3, 7, "TP53", "gene")))[0].spans == (Span(2, 6, "gene", id="r1"),)
    assert read(task(region(2, 6, None, "gene")))[0].spans == (Span(2, 6, "gene", id="r1"),)


def test_regions_marked_by_hand_have_the_text_that_the_browser_showed() -> None:
    """As Label Studio 1.23.2 exports them, marked in Chromium."""
    text = "🧬 was given.\r\nHeLa\tcells\rwere   used."
    marked = [(6, 18, "given.\\n\\nHeLa"), (14, 24, "HeLa cells"), (19, 36, "cells\\nwere used")]
    results = [region(start, end, shown, "x") for start, end, shown in marked]
    (document,) = read(task(*results, data={"text": text}))
    mentions = [document.mention(span) for span in document.spans]
    assert mentions == ["given.\r\nHeLa", "HeLa\tcells", "cells\rwere   used"]
    errors: list[FormatError] = []
    assert read(task(region(13, 18, "HeLa", "x"), data={"text": text}), on_error=errors.append) == []
    assert [error.code for error in errors] == ["BX115"]


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (task(region(4, 8, "TP53", "gene")), "BX115"),
        (task(region(1, 8, "TP53", "gene")), "BX114"),
        (task(region(0, 99, None, "gene")), "BX114"),
        (task(region(-3, 4, None, "gene")), "BX114"),
        (task({"type": "labels"}), "BX116"),
        (task(region(2, 6, "TP53", "gene", score="high")), "BX113"),
        (task({"type": "relation", "from_id": "r8", "to_id": "r9"}), "BX113"),
        ({"id": 1}, "BX116"),
        ({"id": 1, "data": {"body": ""}}, "BX116"),
        ([1], "BX113"),
    ],
)
def test_a_broken_task_is_told_and_passed_over(broken: Any, code: str) -> None:
    errors: list[FormatError] = []
    found = read(task(), broken, task(), on_error=errors.append)
    assert len(found) == 2
    assert [error.code for error in errors] == [code]
    assert "export.json:1" in (errors[0].where or "")


def test_what_all_heads_said_becomes_one_prediction_since_annotators_are_shown_one_version() -> None:
    spans = (
        Span(2, 6, "gene", score=0.5, head="genes", id="T1"),
        Span(2, 6, "protein", score=0.25, head="proteins"),
        Span(13, 17, "gene"),
    )
    document = Document("d1", TEXT, spans=spans, labels=(Label("relevant", head="topics"),))
    (found,) = written(document)
    (prediction,) = found["predictions"]
    assert prediction["model_version"] == "biomux"
    assert [result.get("head") for result in prediction["result"]] == ["genes", "proteins", None, "topics"]
    assert prediction["result"][0] == region(2, 6, "TP53", "gene", score=0.5, head="genes") | {"id": "T1"}
    assert found["data"] == {"id": "d1", "text": TEXT}
    assert "annotations" not in found
    assert read(found) == [document]


def test_an_accepted_prediction_is_the_annotators_own() -> None:
    spans = (Span(2, 6, "gene", score=0.5, head="genes"), Span(13, 17, "gene", score=0.75, head="proteins"))
    (found,) = written(Document("d1", TEXT, spans=spans))
    accepted = {**found, "id": 7, "annotations": [{"id": 1, "result": found["predictions"][0]["result"]}]}
    assert [span.head for span in read(accepted)[0].spans] == [None, None]


def test_gold_becomes_annotations() -> None:
    (found,) = written(Document("d1", TEXT, spans=(Span(2, 6, "gene"),)))
    assert found["predictions"] == []
    assert len(found["annotations"][0]["result"]) == 1


def test_predictions_are_read_where_nobody_has_annotated_or_on_request() -> None:
    predictions = [{"model_version": "m1", "result": [region(2, 6, "TP53", "gene", score=0.5)]}]
    predicted = Span(2, 6, "gene", score=0.5, head="m1", id="r1")
    assert read({"data": {"text": TEXT}, "predictions": predictions})[0].spans == (predicted,)
    both = task(region(13, 17, "MDM2", "gene"), predictions=predictions)
    assert len(read(both)[0].spans) == 1
    assert len(read(both, predictions=True)[0].spans) == 2
    assert read({"data": {"text": TEXT}, "predictions": predictions}, predictions=False)[0].spans == ()


def test_skipped_annotations_do_not_count() -> None:
    skipped = {"was_cancelled": True, "result": [region(2, 6, "TP53", "gene")]}
    assert read({"data": {"text": TEXT}, "annotations": [skipped]})[0].spans == ()


def test_another_field_may_hold_the_text() -> None:
    (document,) = read({"data": {"body": "TP53", "id": "x"}}, text="body")
    assert document == Document("x", "TP53")


def test_exports_are_recognised() -> None:
    for data in (b'[{"id":1,"annotations":[', b'[\n  {\n "data": {', b'[{"predictions": []'):
        assert labelstudio.sniff("export.json", data)
    assert not labelstudio.sniff("a.json", b'[{"id": "GSE1", "text": ""')
    assert not labelstudio.sniff("a.json", b"[]")


def test_documents_come_before_the_file_has_been_read() -> None:
    source = endless("a.json", b"[", b'{"data": {"text": "TP53"}},\n')
    assert next(labelstudio.read(source)).text == "TP53"
