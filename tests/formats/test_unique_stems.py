"""Ids of documents that are called by their file: the stem, and the path where stems collide."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from biomux import cli, formats
from biomux.annotate.inputs import Inputs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("in/a/1.txt", "in/b/1.txt", "in/b/2.txt", "other/1.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("TP53")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("wheres", "ids"),
    [
        (["in"], ["a/1", "b/1", "2"]),
        (["in/b"], ["1", "2"]),
        (["in/*/*.txt"], ["a/1", "b/1", "2"]),
        (["in/a/1.txt", "in/b/1.txt"], ["a/1", "b/1"]),
        (["in/b/1.txt", "in/b/2.txt"], ["1", "2"]),
        (["in/b", "in/b/1.txt"], ["1", "2", "1"]),
        (["in/a", "other"], ["in/a/1.txt", "other/1.txt"]),
    ],
)
def test_ids_keep_the_path_where_stems_collide(folder: Path, wheres: list[str], ids: list[str]) -> None:
    assert [document.id for document in Inputs(wheres).documents()] == ids
    if len(wheres) == 1:
        assert [document.id for document in formats.read(wheres[0])] == ids
    assert cli.run(["convert", *wheres, "all.jsonl"]) == 0
    assert [document.id for document in formats.read(folder / "all.jsonl")] == ids


def test_members_of_an_archive_too(folder: Path) -> None:
    with zipfile.ZipFile("x.zip", "w") as archive:
        for name in ("a/1.txt", "b/1.txt", "b/2.txt"):
            archive.writestr(name, "TP53")
    assert [document.id for document in formats.read("x.zip")] == ["a/1", "b/1", "2"]
    assert [document.id for document in Inputs(["x.zip"]).documents()] == ["a/1", "b/1", "2"]


def test_two_formats_of_one_name_keep_their_suffix(folder: Path) -> None:
    (folder / "in" / "b" / "1.conll").write_text("TP53\tB-gene\n")
    assert [document.id for document in formats.read("in")] == ["a/1", "b/1.conll:1", "b/1.txt", "2"]


def test_such_documents_can_be_written_as_files(folder: Path) -> None:
    assert cli.run(["convert", "in", "out", "--to", "brat"]) == 0
    assert sorted(path.name for path in (folder / "out").glob("*.ann")) == ["2.ann", "a_1.ann", "b_1.ann"]
