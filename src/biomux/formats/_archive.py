"""Zip and tar archives: the names of their files, and each file's bytes in any order; damage raises FormatError."""

from __future__ import annotations

import gzip
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol

from biomux.errors import FormatError, UsageError
from biomux.formats._walk import Names, unreadable, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


class Archive(Names, Protocol):
    """An open archive: the names of its files, and their bytes. If a name is stored twice, the later file counts, as in unpacking."""

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        ...


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The files of an archive, by its suffix; links, folders, devices and hidden files are left out."""
    with ExitStack() as stack:
        with _format_errors(str(path)):
            archive: Archive
            if path.name.endswith(".zip"):
                archive = _Zip(path, stack.enter_context(zipfile.ZipFile(path)))
            else:
                archive = _Tar(path, stack.enter_context(_plain(path)))
        yield archive


def each_member(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members of a tar file from its current position, one at a time; unlike iterating over it, this does not keep every member in memory."""
    while (member := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined]  # Python has no documented way to avoid this list
        yield member


class _Zip:
    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path = path
        self._archive = archive
        names = (member.filename for member in archive.infolist() if not member.is_dir())
        self._names = dict.fromkeys(sorted(filter(wanted, names)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object, /) -> bool:
        return name in self._names

    def read(self, name: str) -> bytes:
        with _format_errors(f"{self._path}!{name}"):
            return self._archive.read(name)


class _Tar:
    def __init__(self, path: Path, plain: BinaryIO) -> None:
        self._path = path
        self._archive = tarfile.open(fileobj=plain)  # noqa: SIM115  # holds nothing that needs closing but `plain`
        places: dict[str, tuple[int, int | None]] = {}
        for member in each_member(self._archive):
            if member.isfile() and wanted(member.name):
                sparse = member.issparse()
                places[member.name] = (member.offset, None) if sparse else (member.offset_data, member.size)
        self._places = dict(sorted(places.items()))
        """Where the bytes of each file begin, and how many there are; for a sparse file, where its header begins."""
        if self._at(self._archive.offset, tarfile.BLOCKSIZE).strip(b"\0"):
            raise tarfile.ReadError("there is no header where the next file should begin")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, name: object, /) -> bool:
        return name in self._places

    def read(self, name: str) -> bytes:
        with _format_errors(f"{self._path}!{name}"):
            start, size = self._places[name]
            if size is None:
                self._at(start, 0)
                content = self._archive.extractfile(tarfile.TarInfo.fromtarfile(self._archive))
                return content.read() if content is not None else b""
            data = self._at(start, size)
            if len(data) < size:
                raise tarfile.ReadError("unexpected end of data")
            return data

    def _at(self, start: int, size: int) -> bytes:
        stream = self._archive.fileobj  # not `plain`, which may be compressed
        assert stream is not None
        stream.seek(start)
        return stream.read(size)


@contextmanager
def _plain(path: Path) -> Iterator[BinaryIO]:
    """The tar file without gzip: decompressed to a temporary file, since gzip allows no random access."""
    with path.open("rb") as raw:
        gzipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not gzipped:
            yield raw
            return
        with _unpacked(raw) as unpacked:
            yield unpacked


def _unpacked(raw: BinaryIO) -> BinaryIO:
    with _room():
        unpacked = tempfile.TemporaryFile()  # noqa: SIM115  # for the caller to close
    try:
        with gzip.GzipFile(fileobj=raw) as packed:
            while data := packed.read(1 << 20):
                with _room():
                    unpacked.write(data)
                    unpacked.flush()
        unpacked.seek(0)
    except BaseException:
        with suppress(OSError):  # closing tries once more to write what could not be written
            unpacked.close()
        raise
    return unpacked


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            "BX002",
            f"cannot write a temporary file: {error.strerror or error}",
            hint="free some space in the temporary folder, or set TMPDIR to another one",
        ) from error


@contextmanager
def _format_errors(where: str) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, NotImplementedError) as error:  # raised by zipfile for a password and an unknown compression
        message = f"cannot read the archive: {error}"
        raise FormatError("BX112", message, where=where, hint="unpack it yourself") from error
    except _DAMAGE as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise FormatError(
            "BX112", f"the archive is damaged: {reason}", where=where, hint="download it again"
        ) from error
    except OSError as error:
        raise unreadable(where, error) from error
