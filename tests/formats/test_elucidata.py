"""Elucidata JSON."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from biomux.document import Document, Span
from biomux.formats import guess, of_bytes, of_path
from biomux.formats._conformance import check_reader
from biomux.formats.elucidata import FORMAT, read

if TYPE_CHECKING:
    from biomux.errors import FormatError

SAMPLE = """[
{"id": "GSE1", "text": "HeLa cells 𝛼", "spans": [{"start": 0, "end": 4, "keyword": "HeLa", "label": "CELLLINE"}]},
{"spans": [{"label": "STRAIN", "end": 12, "start": 11, "keyword": "𝛼"}], "text": "C57BL/6 and 𝛼"},
{"text": "none ", "spans": []}
]"""


def test_a_paragraph_is_a_document() -> None:
    first, second, third = read(
        of_bytes("tissue.json", SAMPLE.replace('"end": 12, "start": 11', '"end": 13, "start": 12').encode())
    )
    assert first == Document("GSE1", "HeLa cells 𝛼", spans=(Span(0, 4, "CELLLINE"),))
    assert (second.id, second.mention(second.spans[0])) == ("tissue:2", "𝛼")
    assert third == Document("tissue:3", "none ")


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ('{"spans": []}', "BX116"),
        ('{"text": "a"}', "BX116"),
        ('{"text": 1, "spans": []}', "BX113"),
        ('{"text": "ab", "spans": [{"start": 0, "label": "X"}]}', "BX116"),
        ('{"text": "ab", "spans": [1]}', "BX113"),
        ('{"text": "ab", "spans": [{"start": 0, "end": 3, "keyword": "ab", "label": "X"}]}', "BX114"),
        ('{"text": "ab", "spans": [{"start": -1, "end": 2, "keyword": "b", "label": "X"}]}', "BX114"),
        ('{"text": "ab", "spans": [{"start": 1, "end": 1, "keyword": "", "label": "X"}]}', "BX114"),
        ('{"text": "ab", "spans": [{"start": 0, "end": 1, "keyword": "b", "label": "X"}]}', "BX115"),
        ("[]", "BX113"),
    ],
)
def test_a_malformed_record_is_told_and_the_next_is_read(record: str, code: str) -> None:
    errors: list[FormatError] = []
    source = of_bytes("x.json", f'[\n{record},\n{{"text": "ok", "spans": []}}]'.encode())
    assert [document.id for document in read(source, on_error=errors.append)] == ["x:2"]
    assert [(error.code, (error.where or "").split(" ")[0]) for error in errors] == [(code, "x.json:2")]


def test_it_is_recognised_even_where_the_first_paragraph_is_long() -> None:
    assert guess(of_bytes("a.json", SAMPLE.encode())) is FORMAT
    assert FORMAT.sniff("a.json", b'[{"text": "' + b"long " * 800)


@pytest.mark.skipif(not os.environ.get("BIOMUX_CORPORA"), reason="BIOMUX_CORPORA does not name the corpora's folder")
@pytest.mark.parametrize(
    ("kind", "paragraphs", "mentions"), [("strain", 3560, 3476), ("tissue", 2607, 1804), ("cell_line", 3059, 1541)]
)
def test_counts_of_corpora(kind: str, paragraphs: int, mentions: int) -> None:
    folder = Path(os.environ["BIOMUX_CORPORA"]) / "ner" / "elucidata"
    found = [document for split in ("train", "test") for document in read(of_path(folder / f"{split}_{kind}.json.gz"))]
    assert (len(found), sum(len(document.spans) for document in found)) == (paragraphs, mentions)


def test_it_keeps_the_promises_of_a_reader() -> None:
    check_reader(FORMAT, {"tissue.json": SAMPLE.replace('"end": 12, "start": 11', '"end": 13, "start": 12').encode()})
