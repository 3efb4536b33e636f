"""One document, file, member or link that cannot be read or written ends no job: it is listed, and the rest goes on."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from stub import RuleSettings

from biomux import formats
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.run import run
from biomux.errors import BiomuxError, FormatError, UnreadableError
from biomux.formats import ReadAs, files

RULES = RuleSettings()
UNREADABLE = Path("/proc/self/mem")
"""A file that is there and whose bytes the system does not give out, whoever asks."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Good documents before, between and after bad ones."""
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    for name in ("a", "m", "z"):
        (folder / f"{name}.txt").write_text("aspirin fever")
    (folder / "deep" / "d.txt").write_text("aspirin")
    return folder


def read(*arguments: Path | str, format: str | None = None) -> tuple[list[str], list[BiomuxError]]:
    errors: list[BiomuxError] = []
    inputs = Inputs([str(argument) for argument in arguments], reads=ReadAs(format), on_error=errors.append)
    return [document.id for document in inputs.documents()], errors


def annotate(source: Path, target: Path | str, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    made = goal(str(target), options.pop("format", None))
    tally = run(Inputs([str(source)]), made, RULES, **options)
    listed = made.errors.read_text().splitlines() if made.errors.exists() else []
    return tally, [json.loads(line) for line in listed]


def test_a_wrong_encoding_in_the_middle_of_a_folder(folder: Path) -> None:
    (folder / "b.txt").write_bytes(b"caf\xe9")
    ids, errors = read(folder)
    assert ids == ["a", "d", "m", "z"]
    assert [error.code for error in errors] == ["BX111"]


def test_all_files_of_a_brat_folder_named_by_the_shell(folder: Path) -> None:
    (folder / "a.ann").write_text("T1\tdrug 0 7\taspirin\n")
    (folder / "annotation.conf").write_text("[entities]\ndrug\n")
    (folder / "gone.txt").symlink_to("nowhere")
    ids, errors = read(*sorted(folder.iterdir()))
    assert ids == ["a", "d", "m", "z"]
    assert [(error.where, error.message) for error in errors] == [
        (str(folder / "gone.txt"), "cannot read: the target of the link does not exist")
    ]


def test_a_link_with_a_blank_in_its_name_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "my notes.txt").symlink_to("nowhere")
    with pytest.raises(UnreadableError, match="the target of the link does not exist"):
        Inputs([str(tmp_path / "my notes.txt")]).places()


def test_a_gzip_that_is_cut_short(folder: Path) -> None:
    (folder / "b.txt.gz").write_bytes(gzip.compress(os.urandom(5000))[:2000])
    ids, errors = read(folder)
    assert ids == ["a", "d", "m", "z"]
    assert [error.code for error in errors] == ["BX112"]


@pytest.mark.skipif(not UNREADABLE.exists(), reason="the system has no such file")
def test_a_file_whose_bytes_the_system_does_not_give_out(folder: Path) -> None:
    (folder / "b.txt").symlink_to(UNREADABLE)
    ids, errors = read(folder)
    assert ids == ["a", "d", "m", "z"]
    assert [str(error) for error in errors] == [
        f"BX002: {folder / 'b.txt'}: cannot read: Input/output error; check the path and the permissions"
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
@pytest.mark.parametrize("name", ["m.txt", "deep"])
def test_a_file_or_folder_without_permission(folder: Path, name: str) -> None:
    (folder / name).chmod(0)
    try:
        ids, errors = read(folder)
    finally:
        (folder / name).chmod(0o700)
    assert ids == [letter for letter in "admz" if letter != name[0]]
    assert [(error.code, error.where) for error in errors] == [("BX002", str(folder / name))]


@pytest.mark.parametrize("name", ["m.txt", "deep"])
def test_the_same_where_nothing_is_forbidden(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = str(folder / name)
    scan, file = os.scandir, io.FileIO.__init__

    def scandir(path: Any) -> Any:
        if str(path) == forbidden:
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    def begin(self: io.FileIO, path: Any, *arguments: Any, **options: Any) -> None:
        if str(path) == forbidden:
            raise PermissionError(13, "Permission denied", path)
        file(self, path, *arguments, **options)

    monkeypatch.setattr("os.scandir", scandir)
    monkeypatch.setattr("biomux.formats._source._File.__init__", begin)
    ids, errors = read(folder)
    assert ids == [letter for letter in "admz" if letter != name[0]]
    assert [str(error) for error in errors] == [
        f"BX002: {forbidden}: cannot read: Permission denied; check the path and the permissions"
    ]


@pytest.mark.parametrize("argument", ["", "/*", "/**"])
def test_links_to_nothing_and_what_is_no_file_are_told(folder: Path, argument: str) -> None:
    (folder / "b.txt").symlink_to("nowhere")
    (folder / "c.txt").symlink_to("c.txt")
    os.mkfifo(folder / "p.txt")
    ids, errors = read(f"{folder}{argument}")
    assert [found for found in ids if found != "d"] == ["a", "m", "z"]
    assert [(Path(str(error.where)).name, error.message) for error in errors] == [
        ("b.txt", "cannot read: the target of the link does not exist"),
        ("c.txt", "cannot read: the target of the link does not exist"),
        ("p.txt", "cannot read: it is not a regular file"),
    ]


def test_a_link_to_a_folder_is_told(folder: Path) -> None:
    (folder / "again").symlink_to("deep")
    ids, errors = read(folder)
    assert ids == ["a", "d", "m", "z"]
    assert [error.message for error in errors] == ["cannot read: links to folders are not followed"]


def test_without_somebody_to_tell_a_link_to_nothing_is_raised(folder: Path) -> None:
    (folder / "b.txt").symlink_to("nowhere")
    with pytest.raises(UnreadableError, match=r"b\.txt: cannot read: the target of the link does not exist"):
        list(files(folder))
    errors: list[FormatError] = []
    assert len(list(formats.read(folder, on_error=errors.append))) == 4
    assert len(errors) == 1


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.txt", "b.txt", "c.txt"):
            archive.writestr(name, f"aspirin {name}")
    data = bytearray(path.read_bytes())
    data[data.index(b"aspirin b.txt")] ^= 1  # its checksum no longer fits
    path.write_bytes(data)


def tarred(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        for name, content in (("a.txt", b"aspirin"), ("b.txt", b"caf\xe9"), ("c.txt", b"fever")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(("name", "make", "code"), [("all.zip", zipped, "BX112"), ("all.tar", tarred, "BX111")])
def test_a_damaged_member_of_an_archive_takes_no_other_with_it(tmp_path: Path, name: str, make: Any, code: str) -> None:
    make(tmp_path / name)
    ids, errors = read(tmp_path / name)
    assert ids == ["a", "c"]
    assert [(error.code, error.where) for error in errors] == [(code, f"{tmp_path / name}!b.txt")]


def test_an_archive_that_is_none(folder: Path) -> None:
    (folder / "b.zip").write_bytes(b"PK\x03\x04 and nothing else")
    ids, errors = read(folder)
    assert ids == ["a", "d", "m", "z"]
    assert [error.code for error in errors] == ["BX112"]


def test_a_reader_that_raises_what_it_should_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from biomux.formats._source import decode

    def raising(raw: bytes, where: str) -> str:
        if where.endswith("m.txt"):
            raise ZeroDivisionError("oh")
        return decode(raw, where)

    monkeypatch.setattr("biomux.formats.text.decode", raising)
    ids, errors = read(folder)
    assert ids == ["a", "d", "z"]
    assert [(error.code, error.message) for error in errors] == [
        ("BX113", "cannot read the file: ZeroDivisionError: oh")
    ]


@pytest.mark.parametrize("target", ["out.bioc.xml", "out/"])
def test_a_form_feed_cannot_be_written_as_xml_and_ends_no_job(folder: Path, tmp_path: Path, target: str) -> None:
    (folder / "b.txt").write_text("aspirin\ffever")
    tally, listed = annotate(folder, f"{tmp_path}/{target}", format="bioc-xml", part_size=20)
    written = [document.id for document in formats.read(tmp_path / target)]
    assert written == ["a", "d", "m", "z"]
    assert (tally.documents, tally.failed) == (4, 1)
    assert [(one["id"], one["code"]) for one in listed] == [("b", "BX120")]
