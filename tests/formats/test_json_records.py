"""JSON objects with a text each: lines, arrays, one object."""

from __future__ import annotations

from typing import Any

import pytest
from streams import endless

from biomux import formats
from biomux.document import Document, Passage
from biomux.errors import FormatError
from biomux.formats import json_records
from biomux.formats._conformance import check_reader

LINES = b'{"id": 1, "text": "TP53 binds."}\n{"id": "b", "text": "MDM2.", "year": 1998}\n'
ARRAY = b'[{"id": 1, "text": "TP53 binds."},\n {"id": "b", "text": "MDM2.", "year": 1998}]'
WANTED = [Document("1", "TP53 binds."), Document("b", "MDM2.", metadata={"year": 1998})]


def read(data: bytes, name: str = "set.jsonl", **options: Any) -> list[Document]:
    return list(formats.read_source(formats.of_bytes(name, data), **options))


@pytest.mark.parametrize(
    ("data", "name"), [(LINES, "set.jsonl"), (LINES, "set.ndjson"), (LINES, "<stdin>"), (ARRAY, "set.json")]
)
def test_objects_with_an_id_and_a_text_are_read_at_once(data: bytes, name: str) -> None:
    assert formats.guess(formats.of_bytes(name, data)).name == "json"
    assert read(data, name) == WANTED
    assert read(b"\xef\xbb\xbf" + data, name) == WANTED


def test_one_object_over_several_lines_is_a_document() -> None:
    assert read(b'{\n  "id": 1,\n  "text": "TP53 binds."\n}\n', "one.json") == WANTED[:1]


def test_title_and_abstract_are_joined() -> None:
    (document,) = read(b'{"pmid": 7, "title": "Aspirin", "abstract": "It helps.", "authors": ["A"]}\n')
    assert document == Document(
        "7",
        "Aspirin\nIt helps.",
        passages=(Passage(0, 7, "title"), Passage(8, 17, "abstract")),
        metadata={"authors": ["A"]},
    )


def test_keys_are_named_by_options_and_one_of_several_may_be_missing() -> None:
    first, second = read(
        b'{"k": 1, "ti": "A", "ab": "B"}\n{"k": 2, "ti": null, "ab": "C"}\n', format="json", text="ti,ab", id="k"
    )
    assert [(one.id, one.text) for one in (first, second)] == [("1", "A\nB"), ("2", "C")]


def test_an_object_without_an_id_is_called_by_its_line() -> None:
    assert [document.id for document in read(b'{"text": "a"}\n\n{"text": "b"}\n')] == ["set:1", "set:3"]


def test_a_long_text_is_recognised_by_its_beginning() -> None:
    data = b'{"meta": {"text": 1}, "text": "' + b'x {[: \\" ' * 2000 + b'"}\n'
    assert formats.guess(formats.of_bytes("a.jsonl", data)).name == "json"


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b'{"text": 3}\n', {}, "BX113: set.jsonl:1: the text in 'text' must be a string"),
        (b'{"a": "b", "c": 1}\n', {}, "BX116: set.jsonl:1: cannot find the key with the text among 'a', 'c'"),
        (b'{"a": "b"}\n', {"text": "x"}, "BX116: set.jsonl:1: there is no key 'x' among 'a'"),
        (b'{"text": "b", "id": []}\n', {}, "BX113: set.jsonl:1: the key 'id' must be a string or an integer"),
        (b"7\n", {}, "BX113: set.jsonl:1: expected a JSON object"),
    ],
)
def test_what_is_wrong_with_an_object(data: bytes, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(data, format="json", **options)
    assert str(caught.value).startswith(message)
    errors: list[FormatError] = []
    assert [one.text for one in read(data + b'{"text": "b"}\n', format="json", on_error=errors.append)] == ["b"]


def test_objects_come_before_the_file_has_been_read() -> None:
    objects = json_records.read(endless("a.jsonl", b"", b'{"text": "TP53"}\n'))
    assert [next(objects).text for _ in range(3)] == ["TP53"] * 3


def test_broken_objects_give_documents_or_errors() -> None:
    for files in ({"a.jsonl": LINES}, {"a.json": ARRAY}):
        check_reader(json_records.FORMAT, files)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a.jsonl",
            b'{"pmid": "7", "ab": "x"}\n',
            "BX110: a.jsonl: cannot recognise the format: its objects have the keys 'pmid', 'ab'; "
            "name those of the text and the id with --text and --id, or name the format with --from ",
        ),
        (
            "a.csv",
            b"nr,ab\n1,x\n",
            "BX110: a.csv: cannot recognise the format: it has the columns 'nr', 'ab'; name those of the text and the id with --text and --id, or",
        ),
        (
            "a.tsv",
            b"document\tstart\tend\ttype\tmention\tscore\thead\tidentifiers\n",
            "BX110: a.tsv: cannot recognise the format: it is a table of entities, without their texts; use",
        ),
    ],
)
def test_an_unknown_format_is_told_with_what_was_seen(name: str, data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(data, name)
    assert str(caught.value).startswith(message)


def test_lines_that_are_not_biomux_own_lead_to_this_format() -> None:
    with pytest.raises(FormatError, match="--from json"):
        read(LINES, format="jsonl")
