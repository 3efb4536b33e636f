"""Relations and labels in the formats that users take them away in: tables, BioC, PubTator, brat."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.document import Argument, Document, Label, Relation, Span
from biomux.errors import FormatError
from biomux.formats import Loss

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "Aspirin treats\tfever. It is old."
DOCUMENT = Document(
    "1",
    TEXT,
    spans=(
        Span(0, 7, "chemical", 0.9, "drugs", ("mesh:D001241",), id="T1"),
        Span(15, 20, "disease", 0.8, "drugs", ("mesh:D005334",), id="T2"),
    ),
    relations=(Relation("treats", (Argument("Arg1", "T1"), Argument("Arg2", "T2")), 0.98765, "links"),),
    labels=(Label("yes", score=0.5, head="topic"), Label("Old", start=22, end=32, head="roles"), Label("age", 3.25)),
)


def written(document: Document, name: str) -> tuple[str, list[Loss]]:
    losses: list[Loss] = []
    stream = io.BytesIO()
    write = formats.get(name).write
    assert write is not None
    write([document], stream, on_loss=losses.append)
    return stream.getvalue().decode(), losses


def test_a_table_of_relations() -> None:
    text, losses = written(DOCUMENT, "relations")
    header, row = (line.split("\t") for line in text.splitlines())
    cells = dict(zip(header, row, strict=True))
    assert cells == {
        "document": "1",
        "type": "treats",
        "first": "Aspirin",
        "first_start": "0",
        "first_end": "7",
        "first_type": "chemical",
        "second": "fever",
        "second_start": "15",
        "second_end": "20",
        "second_type": "disease",
        "score": "0.9877",
        "head": "links",
    }
    assert losses == [Loss("1", "labels", 3)]


def test_concepts_roles_and_further_arguments_in_a_table_of_relations() -> None:
    ends = (Argument("drug", "mesh:D1", "concept"), Argument("ill", "T2"), Argument("dose", "T1"))
    text, losses = written(replace(DOCUMENT, relations=(Relation("x", ends),), labels=()), "relations")
    assert text.splitlines()[1].split("\t") == ["1", "x", "mesh:D1", "", "", "", "fever", "15", "20", "disease", "", ""]
    assert losses == [Loss("1", "relation arguments"), Loss("1", "relation roles")]
    alone = replace(DOCUMENT, relations=(Relation("y", (Argument("", "T1"),)),), labels=())
    assert written(alone, "relations")[0].splitlines()[1].split("\t")[6:10] == ["", "", "", ""]
    assert Loss("1", "spans", 1) in written(alone, "relations")[1]


def test_a_table_of_labels() -> None:
    text, losses = written(DOCUMENT, "labels")
    assert [line.split("\t") for line in text.splitlines()] == [
        ["document", "start", "end", "label", "value", "score", "head", "text"],
        ["1", "", "", "yes", "", "0.5000", "topic", ""],
        ["1", "22", "32", "Old", "", "", "roles", "It is old."],
        ["1", "", "", "age", "3.25", "", "", ""],
    ]
    assert losses == [Loss("1", "spans", 2), Loss("1", "relations", 1)]


@pytest.mark.parametrize("name", ["relations", "labels"])
def test_a_table_without_texts_is_not_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(written(DOCUMENT, name)[0])
    with pytest.raises(FormatError, match=f"BX110: .*: it is a table of {name}, without their texts"):
        list(formats.read(tmp_path / "a.tsv"))


@pytest.mark.parametrize("name", ["bioc-xml", "bioc-json"])
def test_bioc_holds_relations_and_labels_with_score_and_head(name: str) -> None:
    text, losses = written(DOCUMENT, name)
    (back,) = formats.read_source(formats.of_bytes("a", text.encode()), format=name)
    assert back.labels == DOCUMENT.labels
    assert [replace(one, id=None) for one in back.relations] == list(DOCUMENT.relations)
    assert {loss.feature for loss in losses} <= {"relation ids"}


def test_an_infon_that_only_looks_like_labels_stays_metadata() -> None:
    for value in ("none", '[{"start": 3}]', '[{"name": "x", "start": 0, "end": 99}]', "3"):
        text, _ = written(replace(DOCUMENT, labels=(), metadata={"biomux labels": value}), "bioc-json")
        (back,) = formats.read_source(formats.of_bytes("a", text.encode()), format="bioc-json")
        assert (back.labels, back.metadata["biomux labels"]) == ((), value)


def test_pubtator_links_the_identifiers_of_mentions() -> None:
    text, losses = written(DOCUMENT, "pubtator")
    assert "1\ttreats\tmesh:D001241\tmesh:D005334\n" in text
    assert {"relation arguments", "relation scores", "relation heads", "labels"} <= {loss.feature for loss in losses}
    bare = replace(DOCUMENT, spans=tuple(replace(span, identifiers=()) for span in DOCUMENT.spans))
    text, losses = written(bare, "pubtator")
    assert "treats\tT1" not in text
    assert "relations" in {loss.feature for loss in losses}


def test_brat_holds_relations_and_reports_the_rest(tmp_path: Path) -> None:
    losses: list[Loss] = []
    formats.write([DOCUMENT], tmp_path / "out", format="brat", on_loss=losses.append)
    assert "R1\ttreats Arg1:T1 Arg2:T2\n" in (tmp_path / "out" / "1.ann").read_text()
    assert {"labels", "relation scores", "relation heads"} <= {loss.feature for loss in losses}
