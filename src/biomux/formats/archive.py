"""Zip and tar archives: the names of their files, and each file's bytes in any order; what is damaged is told as FormatError."""

from __future__ import annotations

import gzip
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from biomux.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive. A name that was stored twice stands for the later one, as when it is unpacked."""

    names: frozenset[str]
    read: Callable[[str], bytes]


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The files of an archive, by its suffix; links, folders and devices are no files."""
    opened = _open_zip if path.name.endswith(".zip") else _open_tar
    with ExitStack() as stack:
        with _telling(str(path)):
            archive = stack.enter_context(opened(path))
        yield archive


@contextmanager
def _open_zip(path: Path) -> Iterator[Archive]:
    with zipfile.ZipFile(path) as archive:
        names = [member.filename for member in archive.infolist() if not member.is_dir()]

        def read(name: str) -> bytes:
            with _telling(f"{path}!{name}"):
                return archive.read(name)

        yield Archive(frozenset(names), read)


@contextmanager
def _open_tar(path: Path) -> Iterator[Archive]:
    with ExitStack() as stack:
        archive = stack.enter_context(tarfile.open(fileobj=stack.enter_context(_plain(path))))
        members = {member.name: member for member in archive if member.isfile()}

        def read(name: str) -> bytes:
            with _telling(f"{path}!{name}"):
                stream = archive.extractfile(members[name])
                return stream.read() if stream is not None else b""

        yield Archive(frozenset(members), read)


@contextmanager
def _plain(path: Path) -> Iterator[BinaryIO]:
    """The tar file without its gzip: in a temporary file, since gzip cannot be read in any order but the first."""
    with path.open("rb") as raw:
        gzipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not gzipped:
            yield raw
            return
        with tempfile.TemporaryFile() as unpacked:
            with gzip.GzipFile(fileobj=raw) as packed:
                shutil.copyfileobj(packed, unpacked, 1 << 20)
            unpacked.seek(0)
            yield unpacked


@contextmanager
def _telling(where: str) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, NotImplementedError) as error:  # zipfile's words for a password and an unknown compression
        told = f"the archive cannot be read: {error}"
        raise FormatError("BX112", told, where=where, hint="unpack it by hand") from error
    except _DAMAGE as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise FormatError("BX112", f"the archive is damaged: {reason}", where=where, hint="fetch it again") from error
