"""What a format writes is recognised as that format among all the others."""

from __future__ import annotations

import io

import pytest

from biomux import formats
from biomux.document import Document, Passage, Span

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


def test_text_is_guessed_last() -> None:
    assert list(formats.FORMATS)[-1] == "text"
    assert formats.guess(formats.of_bytes("note.txt", b"TP53 binds MDM2.")).name == "text"
