"""Names of files for documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux import formats
from biomux.document import Document

if TYPE_CHECKING:
    from pathlib import Path


def test_ids_with_a_colon_or_slash_give_names_that_people_can_read(tmp_path: Path) -> None:
    documents = [Document("notes:4", "a"), Document("x/notes", "b")]
    formats.write(documents, tmp_path / "out", format="brat", on_loss=formats.ignore)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.ann")) == ["notes_4.ann", "x_notes.ann"]


def test_ids_that_would_get_the_same_name_are_escaped(tmp_path: Path) -> None:
    documents = [Document(name, name) for name in ("a_1", "a:1", "a/1")]
    formats.write(documents, tmp_path / "out", format="text", on_loss=formats.ignore)
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts == {"a_1.txt": "a_1", "a%3A1.txt": "a:1", "a%2F1.txt": "a/1"}
