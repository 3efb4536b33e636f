"""Which files of a folder, a glob or an archive are read."""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.document import Document
from biomux.errors import UnreadableError, UsageError
from biomux.formats import files, named_files

if TYPE_CHECKING:
    from pathlib import Path

LINE = '{"biomux":1,"id":"%s","text":"TP53"}\n'


def fill(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(LINE % name if name.endswith(".jsonl") else "TP53")
    return folder


def read(folder: Path, pattern: str = "") -> tuple[list[str], list[str]]:
    """Names of the files that are read, and of those that are left out, below the folder."""
    left: list[str] = []
    where = folder / pattern if pattern else folder
    found = [path.relative_to(folder).as_posix() for path in files(where, on_left_out=left.append)]
    return found, [os.path.relpath(name, folder) for name in left]


@pytest.mark.parametrize("name", ["README", "README.md", "readme.txt", "LICENSE.txt", "Licence.rst", "COPYING"])
@pytest.mark.parametrize("data", ["a.jsonl", "a.tsv", "deep/a.xml", "a.ann"])
def test_files_about_data_are_left_out_and_told(tmp_path: Path, name: str, data: str) -> None:
    fill(tmp_path, name, data)
    assert read(tmp_path) == ([data], [name])


def test_a_folder_of_texts_may_have_one_called_readme(tmp_path: Path) -> None:
    documents = [Document("README", "Read me."), Document("a", "TP53"), Document("license", "MIT")]
    formats.write(documents, tmp_path / "texts", format="text")
    assert [document.text for document in formats.read(tmp_path / "texts")] == ["Read me.", "TP53", "MIT"]


def test_among_texts_what_no_text_is_called_is_left_out(tmp_path: Path) -> None:
    assert read(fill(tmp_path, "a.txt", "README.md", "LICENSE")) == (["a.txt"], ["LICENSE", "README.md"])


def test_alone_or_named_a_readme_is_read(tmp_path: Path) -> None:
    fill(tmp_path, "README.txt", "LICENSE.txt")
    assert read(tmp_path) == (["LICENSE.txt", "README.txt"], [])
    fill(tmp_path, "a.jsonl")
    assert [document.id for document in formats.read(tmp_path / "README.txt")] == ["README"]


def test_other_names_are_not_taken_for_readmes(tmp_path: Path) -> None:
    names = ["README.jsonl", "a.jsonl", "license-plates.txt", "my readme.txt"]
    assert read(fill(tmp_path, *names)) == (names, [])


def test_globs_and_archives_follow_the_same_rule(tmp_path: Path) -> None:
    fill(tmp_path, "a.jsonl", "README.txt")
    assert read(tmp_path, "*") == (["a.jsonl"], ["README.txt"])
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("data/a.jsonl", LINE % "a")
        archive.writestr("LICENSE.txt", "MIT")
    left: list[str] = []
    found = list(formats.sources(tmp_path / "all.zip", on_left_out=left.append))
    assert [source.plain_name for source in found] == ["a.jsonl"]
    assert left == [f"{tmp_path / 'all.zip'}!LICENSE.txt"]


def test_files_come_in_the_order_of_their_names_folder_by_folder(tmp_path: Path) -> None:
    names = ["a/z.jsonl", "a.jsonl", "b/a/a.jsonl", "b/b.jsonl", "c.jsonl"]
    fill(tmp_path, *reversed(names), ".hidden/d.jsonl", "__MACOSX/e.jsonl", "a/.f.jsonl")
    assert read(tmp_path)[0] == names


def test_files_of_folders_are_sorted_and_texts_of_pairs_are_passed_over(tmp_path: Path) -> None:
    names = [
        f"{folder}/{letter}.{suffix}" for folder in "ab" for letter in "é𝒜z" for suffix in ("ann", "txt.gz", "tsv")
    ]
    fill(tmp_path, *names, "a/alone.txt", "README.md", "a/.hidden.ann")
    assert read(tmp_path)[0] == sorted([*(name for name in names if not name.endswith("txt.gz")), "a/alone.txt"])


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="whoever may read everything is refused nothing")
def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    fill(tmp_path, "a.jsonl", "closed/b.jsonl")
    (tmp_path / "closed").chmod(0)
    with pytest.raises(UsageError, match="BX002"):
        list(files(tmp_path))
    (tmp_path / "closed").chmod(0o700)


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fill(tmp_path, "a.jsonl"))
    with pytest.raises(UsageError, match="must not be empty"):
        list(formats.read(""))


def test_of_files_named_one_by_one_brats_texts_and_settings_are_left_out(tmp_path: Path) -> None:
    names = ["a.ann", "a.txt", "annotation.conf", "b.txt", "README.txt"]
    paths = [str(fill(tmp_path, *names) / name) for name in names]
    left: list[str] = []
    assert named_files(paths, on_left_out=left.append) == [paths[0], *paths[3:]]
    assert left == [paths[2]]
    assert named_files(paths[2:3]) == paths[2:3]
    assert named_files([paths[0], "no.conf"]) == [paths[0], "no.conf"]


def test_a_named_link_that_points_at_nothing_goes_to_on_unread(tmp_path: Path) -> None:
    (tmp_path / "gone.txt").symlink_to("nowhere")
    errors: list[UnreadableError] = []
    assert list(files(tmp_path / "gone.txt", on_unread=errors.append)) == []
    assert [error.message for error in errors] == ["cannot read: the target of the link does not exist"]
