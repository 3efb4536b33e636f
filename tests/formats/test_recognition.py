"""What a format writes is recognised as that format among all the others."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.document import Document, Passage, Span
from biomux.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENT = Document(
    "12345",
    "TP53 binds MDM2.\nCells grew.",
    passages=(Passage(0, 16, "title"), Passage(17, 28, "abstract")),
    spans=(Span(0, 4, "gene"), Span(11, 15, "gene")),
)


@pytest.mark.parametrize("name", ["jsonl", "labelstudio", "doccano", "prodigy", "medline", "jats", "parquet"])
def test_a_written_file_is_guessed_by_its_name_and_content(name: str) -> None:
    chosen = formats.get(name)
    assert chosen.write is not None
    stream = io.BytesIO()
    chosen.write([DOCUMENT], stream, on_loss=formats.ignore)
    for suffix in chosen.suffixes:
        assert formats.guess(formats.of_bytes(f"corpus{suffix}", stream.getvalue())).name == name
    plain = "." + chosen.suffixes[0].rpartition(".")[2]
    assert formats.guess(formats.of_bytes(f"corpus{plain}", stream.getvalue())).name == name


SINGLE = [name for name in formats.names() if formats.get(name).write is not None and not formats.get(name).one_way]


@pytest.mark.parametrize("name", SINGLE)
def test_a_written_file_without_documents_is_known_by_its_name(name: str) -> None:
    chosen = formats.get(name)
    assert chosen.write is not None
    stream = io.BytesIO()
    chosen.write([], stream, on_loss=formats.ignore)
    source = formats.of_bytes(f"none{chosen.suffixes[0]}", stream.getvalue())
    assert formats.guess(source).name == name
    assert list(formats.read_source(source)) == []


@pytest.mark.parametrize("name", [name for name in formats.names() if formats.get(name).write_folder is not None])
def test_a_written_folder_without_documents_holds_none(name: str, tmp_path: Path) -> None:
    formats.write([], tmp_path / "none", format=name)
    assert list(formats.read(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a.json",
            b"[]\n",
            "BX110: a.json: cannot recognise the format: it has no records; name the format with --from ",
        ),
        (
            "a.json",
            b" {} ",
            "BX110: a.json: cannot recognise the format: it has no records; name the format with --from ",
        ),
        (
            "a.tsv",
            b"",
            "BX110: a.tsv: cannot recognise the format: the file is empty; download or write it again, or leave it out",
        ),
    ],
)
def test_a_file_without_records_and_a_common_name_is_not_guessed(name: str, data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        formats.guess(formats.of_bytes(name, data))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("a.tsv", b"text\tpair\tlabel\nTP53 is a gene.\tA gene is TP53.\tsame\n", "pairs"),
        ("a.tsv", b"id\ttext\tlabel\n1\tTP53 is a gene.\tnew;old\n", "tsv"),
        ("a.tsv", b"text\tlabel\n@GENE$ in @DISEASE$\t1\n", "relation-tsv"),
        ("a.tsv", b"index\tsentence\tlabel\n0\tTP53 is a gene.\t1\n", "relation-tsv"),
        ("a.relation.tsv", b"text\tlabel\nTP53 is a gene.\t1\n", "relation-tsv"),
        ("a.conll", b"TP53\nis\tO\n", "conll"),
    ],
)
def test_a_table_of_texts_is_told_by_its_columns_and_its_name(name: str, data: bytes, format: str) -> None:
    assert formats.guess(formats.of_bytes(name, data)).name == format


def test_a_page_is_said_to_be_only_written() -> None:
    with pytest.raises(FormatError, match="can only be written, not read"):
        list(formats.read_source(formats.of_bytes("a.html", b"<p>TP53</p>")))
    assert (formats.get("html").ways, formats.get("hoc").ways, formats.get("brat").ways) == (
        "write",
        "read",
        "read, write",
    )


def test_an_empty_text_file_is_a_document() -> None:
    assert [document.text for document in formats.read_source(formats.of_bytes("a.txt", b""))] == [""]


def test_text_is_guessed_last() -> None:
    assert list(formats.FORMATS)[-1] == "text"
    assert formats.guess(formats.of_bytes("note.txt", b"TP53 binds MDM2.")).name == "text"
