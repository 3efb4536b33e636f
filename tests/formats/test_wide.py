"""UTF-16 and UTF-32, with a byte-order mark or without: told and refused, whatever the format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from biomux import formats
from biomux.document import Document
from biomux.errors import FormatError
from biomux.formats._wide_encoding import wide_encoding

if TYPE_CHECKING:
    from pathlib import Path

ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
TEXT = "TP53 binds α-catenin.\r\nMDM2 does not.\r\n"
SAMPLES: list[tuple[str, str, dict[str, Any]]] = [
    ("text", TEXT, {}),
    ("text", TEXT, {"by": "line"}),
    ("text", TEXT, {"by": "paragraph"}),
    ("conll", "TP53\tB-gene\n\n", {}),
    ("pubtator", "1|t|TP53\n1|a|\n", {}),
    ("jsonl", '{"biomux":1,"id":"1","text":"TP53"}\n', {}),
    ("doccano", '{"text":"TP53","label":[]}\n', {}),
    ("labelstudio", '[{"data":{"text":"TP53"}}]\n', {}),
    ("bioc-json", '{"documents":[]}\n', {}),
    ("csv", "id,text\n1,TP53 binds MDM2\n2,BRCA1\n", {}),
    ("tsv", "id\ttext\n1\tTP53 binds MDM2\n2\tBRCA1\n", {}),
    ("lines", TEXT, {}),
    ("nbib", "PMID- 1\nTI  - TP53\n", {}),
    ("json", '[{"id": 1, "text": "TP53"}]', {}),
    ("prodigy", '{"text":"TP53","spans":[]}\n', {}),
]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("name", "text", "options"), SAMPLES)
def test_every_format_refuses_it(encoding: str, name: str, text: str, options: dict[str, Any]) -> None:
    source = formats.of_bytes("x.txt", text.encode(encoding))
    with pytest.raises(FormatError, match=f"BX111: x.txt.*: the text is {encoding[:6].upper()}, not UTF-8; convert"):
        list(formats.read_source(source, format=name, **options))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_of_a_table_it_is_told_once(encoding: str, name: str) -> None:
    source = formats.of_bytes(name, "id,text\n1,TP53 binds MDM2\n2,BRCA1\n".encode(encoding))
    errors: list[FormatError] = []
    with pytest.raises(FormatError, match=f"{name}: the text is {encoding[:6].upper()}"):
        list(formats.read_source(source, format=name[2:], on_error=errors.append))
    assert errors == []


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_it_is_told_where_the_format_cannot_be(encoding: str) -> None:
    source = formats.of_bytes("x.jsonl", '{"id": "1"}\n'.encode(encoding))
    with pytest.raises(FormatError, match=f"cannot recognise the format: it is {encoding[:6].upper()}"):
        formats.guess(source)


@pytest.mark.parametrize("text", ["", "\0", "\0\0\0\0", "TP53\0binds\0MDM2", "a\0b\f\u2028c"])
def test_nuls_here_and_there_are_characters_like_others(text: str) -> None:
    assert wide_encoding(text.encode()) is None


@pytest.mark.parametrize("text", ["T\0P\0", "T\0P\0" * 9999])
@pytest.mark.parametrize("name", ["text", "brat"])
def test_a_text_that_looks_like_it_is_written_so_that_it_can_be_read(tmp_path: Path, name: str, text: str) -> None:
    formats.write([Document("1", text)], tmp_path / "out", format=name)
    assert [document.text for document in formats.read(tmp_path / "out")] == [text]
