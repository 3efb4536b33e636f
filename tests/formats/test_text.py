"""Plain text: by file, by line, by paragraph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from streams import endless

from biomux import formats
from biomux.document import Document, Span
from biomux.errors import FormatError, UsageError
from biomux.formats import Loss, text, text_lines

if TYPE_CHECKING:
    from pathlib import Path


def read(data: bytes, **options: object) -> list[Document]:
    return list(text.read(formats.of_bytes("dir/notes.txt.gz", data), **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["", "a\r\nb\r", "\n\n", "\ufeff", "\ufeff\ufeffx", "a\0b\f\u2028c", "🧬e\u0301"])
def test_a_file_is_kept_to_the_character(content: str, tmp_path: Path) -> None:
    document = Document("note", content)
    formats.write([document], tmp_path / "out", format="text")
    assert list(formats.read(tmp_path / "out")) == [document]


def test_a_file_is_called_by_its_stem_and_its_byte_order_mark_is_no_text() -> None:
    assert read(b"\xef\xbb\xbfTP53\r\n") == [Document("notes", "TP53\r\n")]


def test_lines_are_called_by_their_number_and_blank_ones_passed_over() -> None:
    found = read(b"TP53\r\n\n  \n MDM2 \nlast", by="line")
    assert found == [Document("notes:1", "TP53"), Document("notes:4", " MDM2 "), Document("notes:5", "last")]


def test_paragraphs_keep_their_inner_line_ends() -> None:
    found = read(b"\nTP53\r\nbinds\r\n\r\n \nMDM2.", by="paragraph")
    assert found == [Document("notes:2", "TP53\r\nbinds"), Document("notes:6", "MDM2.")]


def test_only_line_feeds_end_lines() -> None:
    assert len(read("a\x0bb\u2028c\x85d\re".encode(), by="line")) == 1


@pytest.mark.parametrize("by", ["line", "paragraph"])
def test_a_line_that_is_not_utf8_is_told_and_passed_over(by: str) -> None:
    errors: list[FormatError] = []
    found = read(b"a\n\n\xff\n\nb", by=by, on_error=errors.append)
    assert [document.text for document in found] == ["a", "b"]
    assert [(error.code, error.where) for error in errors] == [("BX111", "dir/notes.txt.gz:3")]


def test_a_file_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(FormatError, match="0xff"):
        read(b"a\xff")


@pytest.mark.parametrize("by", ["line", "paragraph"])
def test_documents_come_before_the_file_has_been_read(by: str) -> None:
    documents = text.read(endless("a.txt", b"", b"TP53 binds.\n\n"), by=by)  # type: ignore[arg-type]
    assert [next(documents).text for _ in range(3)] == ["TP53 binds."] * 3


def test_a_way_of_reading_that_is_not_there_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="paragraph"):
        read(b"", by="page")


def test_losses_and_changed_names_are_told(tmp_path: Path) -> None:
    losses: list[Loss] = []
    documents = [Document("10.1000/x", "TP53", spans=(Span(0, 4, "gene"),))]
    formats.write(documents, tmp_path / "out", format="text", on_loss=losses.append)
    assert {loss.feature for loss in losses} == {"spans", "id"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["10.1000_x.txt"]


def test_two_documents_are_never_one_file(tmp_path: Path) -> None:
    documents = [Document("a", "1"), Document("A", "2")]
    formats.write(documents, tmp_path / "out", format="text", on_loss=formats.ignore)
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts == {"a.txt": "1", "A~2.txt": "2"}


def test_lines_are_a_format_of_their_own() -> None:
    source = formats.of_bytes("notes.txt", b"TP53.\n\nMDM2.\n")
    found = list(formats.read_source(source, format="lines"))
    assert found == [Document("notes:1", "TP53."), Document("notes:3", "MDM2.")]


@pytest.mark.parametrize(
    ("content", "number"),
    [
        ("Aspirin helps.\n" * 9, 9),
        ("A title " * 30 + "\n" + "Another title " * 20 + "\n" * 1, 0),
        (("A title without an end " * 10 + "\n") * 8, 8),
        (("a line that was wrapped at some column and\ngoes on here without an\n") * 9, 0),
        ("A paragraph.\n\n" * 9, 0),
        ("Word.\n" * 9, 0),
        ("One abstract. Of several sentences.\n", 0),
    ],
)
def test_lines_that_look_like_documents(content: str, number: int) -> None:
    assert text_lines.look_like_documents(content.encode()) == number
