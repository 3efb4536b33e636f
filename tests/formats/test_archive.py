"""Archives: files beside each other find each other, in whatever order they were packed; damage is told."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from biomux import formats
from biomux.errors import FormatError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAIR = {"set/b.ann": "T1\tGene 0 4\tTP53\n", "set/a.txt": "BRCA1", "set/b.txt": "TP53 it is", "set/a.ann": ""}


def packed(path: Path, files: dict[str, str]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return path
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("name", ["pairs.zip", "pairs.tar", "pairs.tar.gz", "pairs.tgz"])
def test_pairs_of_files_in_an_archive_are_read_together(tmp_path: Path, name: str) -> None:
    documents = list(formats.read(packed(tmp_path / name, PAIR)))

    assert [(document.id, document.text) for document in documents] == [("a", "BRCA1"), ("b", "TP53 it is")]
    assert documents[1].mention(documents[1].spans[0]) == "TP53"


@pytest.mark.parametrize("spelled", ["./{}", "set//{}", "set/./{}", "/set/{}"])
@pytest.mark.parametrize("name", ["pairs.zip", "pairs.tar"])
def test_files_find_each_other_however_their_folder_is_spelled(tmp_path: Path, name: str, spelled: str) -> None:
    pair = {spelled.format(PurePosixPath(member).name): text for member, text in PAIR.items()}

    assert [document.text for document in formats.read(packed(tmp_path / name, pair))] == ["BRCA1", "TP53 it is"]


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, gzip.compress])
@pytest.mark.parametrize("name", ["pairs.tar", "pairs.tar.gz"])
def test_a_tar_packed_otherwise_than_its_name_says_is_read(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = packed(tmp_path / name, PAIR)
    path.write_bytes(pack(path.read_bytes()))

    if name.endswith(".gz") and pack is not gzip.compress:  # gzip inside of it
        with pytest.raises(FormatError, match="BX112"):
            list(formats.read(path))
    else:
        assert [document.text for document in formats.read(path)] == ["BRCA1", "TP53 it is"]


def test_a_sparse_file_is_read_with_its_holes(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "sparse.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = 4
        member.pax_headers = {"GNU.sparse.size": "6", "GNU.sparse.map": "2,4", "GNU.sparse.name": "a.txt"}
        archive.addfile(member, io.BytesIO(b"TP53"))

    assert [document.text for document in formats.read(tmp_path / "sparse.tar", format="text")] == ["\0\0TP53"]


def test_a_header_damaged_after_the_first_is_told(tmp_path: Path) -> None:
    path = packed(tmp_path / "damaged.tar", {"a.txt": "a", "b.txt": "b", "c.txt": "c"})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"b.txt")] ^= 1
    path.write_bytes(raw)

    with pytest.raises(FormatError, match=r"BX112: .*damaged\.tar: the archive is damaged: there is no header"):
        list(formats.read(path))


@pytest.mark.parametrize("name", ["twice.zip", "twice.tar"])
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_name_stored_twice_is_the_later_file_once(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, {"a.txt": "first"})
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("a.txt", "second")
    else:
        with tarfile.open(path, "a") as appended:
            member = tarfile.TarInfo("a.txt")
            member.size = 6
            appended.addfile(member, io.BytesIO(b"second"))

    assert [document.text for document in formats.read(path)] == ["second"]


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_members_are_found_however_their_headers_are_written(tmp_path: Path, kind: int) -> None:
    names = [f"{'deep/' * 19}{letter * length}.txt" for length in (1, 40) for letter in "bé"]
    with tarfile.open(tmp_path / "set.tar", "w", format=kind, pax_headers={"comment": "about all"}) as archive:
        for name in [*names, "other.txt"]:
            member = tarfile.TarInfo(name)
            member.size = len(name.encode())
            archive.addfile(member, io.BytesIO(name.encode()))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, names[0]
        archive.addfile(link)

    assert [document.text for document in formats.read(tmp_path / "set.tar")] == [*sorted(names), "other.txt"]


@pytest.mark.parametrize("name", ["cut.zip", "cut.tar", "cut.tar.gz", "empty.zip", "empty.tar", "empty.tar.gz"])
def test_a_damaged_archive_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, PAIR)
    path.write_bytes(b"" if name.startswith("empty") else path.read_bytes()[:100])

    with pytest.raises(FormatError) as told:
        list(formats.read(path))

    assert told.value.code == "BX112"
    assert "\n" not in str(told.value)


def test_a_member_behind_a_password_is_told(tmp_path: Path) -> None:
    path = packed(tmp_path / "secret.zip", {"a.txt": "text"})
    raw = bytearray(path.read_bytes())
    raw[6] |= 1  # the flag of encryption, in the member's own header
    raw[raw.index(b"PK\x01\x02") + 8] |= 1  # and in the directory's
    path.write_bytes(raw)

    with pytest.raises(FormatError, match=r"BX112: .*secret\.zip!a\.txt: cannot read the archive"):
        list(formats.read(path))


@pytest.mark.parametrize("room", [9_000, 100_000])
def test_no_room_to_unpack_is_told(tmp_path: Path, room: int) -> None:
    resource = pytest.importorskip("resource", reason="a limit on the size of files is Unix's")
    path = packed(tmp_path / "large.tar.gz", {"a.txt": "TP53\n" * (room // 5)})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(UsageError, match=r"BX002: cannot write a temporary file: .*TMPDIR"):
            next(formats.read(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_folder_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "pairs.tar.gz", PAIR)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))

    with pytest.raises(UsageError, match="BX002: cannot write a temporary file: No such file"):
        next(formats.read(path))
