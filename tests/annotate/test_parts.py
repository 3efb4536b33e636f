"""Inputs and how they are cut: by documents alone, nothing lost between parts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux import formats
from biomux.annotate.inputs import Inputs, is_text
from biomux.annotate.parts import Failures, cut
from biomux.annotate.tally import JobTally
from biomux.document import Document, Span
from biomux.errors import FormatError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=30)


@given(texts, st.integers(1, 80), st.integers(1, 10))
def test_parts_hold_every_document_once_and_in_order(texts_: list[str], characters: int, most: int) -> None:
    documents = [Document(str(number), text) for number, text in enumerate(texts_)]
    parts = list(cut(documents, Failures(), characters=characters, most=most))
    assert [part.index for part in parts] == list(range(len(parts)))
    read = [
        document
        for part in parts
        for document in formats.read_source(formats.of_bytes("part", part.documents), format="jsonl")
    ]
    assert read == documents
    assert all(part.documents.count(b"\n") <= most for part in parts)


def test_nothing_at_all_is_one_empty_part() -> None:
    parts = list(cut([], Failures()))
    assert [(part.name, part.documents) for part in parts] == [("part-00000", b"")]


def test_failures_go_with_the_part_in_which_they_happened() -> None:
    failures = Failures()

    def documents() -> list[Document]:
        failures(FormatError("BX113", "bad", where="a.jsonl:3"))
        return [Document("1", "one"), Document("2", "half \ud800"), Document("3", "three")]

    parts = list(cut(documents(), failures, characters=3))
    told = [[(failure["id"], failure["code"]) for failure in part.failures] for part in parts]
    assert told == [[(None, "BX113")], [("2", "BX120")], []]
    assert json.loads(json.dumps(parts[1].failures))


def test_parts_of_other_documents_differ() -> None:
    one, two = (next(iter(cut([Document("1", text)], Failures()))).sha256 for text in ("a", "b"))
    assert one != two


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("Aspirin for mice.", True),
        ("aspirin", False),
        ("-", False),
        ("What is p53? It is *that*.", True),
        ("x " * 5000, True),
        ("a b\0c", True),
        ("data/*.txt", False),
    ],
)
def test_a_text_has_white_space_and_is_no_place(argument: str, expected: bool) -> None:
    assert is_text(argument) is expected


def test_a_file_with_a_blank_in_its_name_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "my text.txt"
    path.write_text("aspirin")
    assert not is_text(str(path))
    assert not is_text(str(tmp_path / "my *.txt"))
    assert [document.text for document in Inputs([str(path)]).documents()] == ["aspirin"]


def test_texts_files_and_folders_come_in_the_order_given(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("bee")
    (tmp_path / "sub").mkdir()
    formats.write([Document("x", "ex"), Document("y", "why")], tmp_path / "sub" / "a.jsonl.gz")
    inputs = Inputs(["one text", str(tmp_path), "two texts", str(tmp_path / "b.txt")])
    assert [document.id for document in inputs.documents()] == ["text", "b", "x", "y", "text-2", "b"]
    assert inputs.formats == {"text": 2, "jsonl": 1}
    assert inputs.done == inputs.size()


def test_a_file_that_is_not_there_is_told_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match="BX002"):
        Inputs(["text here", "nowhere.txt"]).places()


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no files found"):
        Inputs([str(tmp_path)]).places()


def test_standard_input_once() -> None:
    with pytest.raises(UsageError, match="only once"):
        Inputs(["-", "-"])
    assert Inputs(["-", "-"], texts=True).size() == 0


def test_a_malformed_record_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"biomux":1,"id":"1","text":"one"}\nnonsense\n{"biomux":1,"id":"2","text":"two"}\n'
    )
    (tmp_path / "b.unknown").write_text("?")
    (tmp_path / "c.txt").write_text("three")
    told: list[str] = []
    inputs = Inputs([str(tmp_path)], on_error=lambda error: told.append(error.code))
    assert [document.text for document in inputs.documents()] == ["one", "two", "three"]
    assert told == ["BX117", "BX110"]


def test_a_fingerprint_changes_with_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    before = Inputs([str(path)]).fingerprint()
    assert Inputs([str(path)]).fingerprint() == before
    path.write_text("another")
    assert Inputs([str(path)]).fingerprint() != before
    assert Inputs(["a b"]).fingerprint() != Inputs(["a c"]).fingerprint()


def test_tallies_add_up_and_come_back() -> None:
    one = JobTally()
    one.add(Document("1", "two words", spans=(Span(0, 3, "gene"),), coverage=((0, 3),)))
    two = JobTally()
    two.add(Document("2", "word", coverage=((0, 4),)))
    both = one + two
    assert (both.documents, both.words, both.characters, both.read) == (2, 3, 12, 7)
    assert both.entities == {"gene": 1}
    assert JobTally.of_json(json.loads(json.dumps(both.to_json()))) == both
    assert JobTally().coverage == 1.0
