"""Input and output of bytes: files, folders, globs, archives, standard input; gzip is transparent in both directions."""

from __future__ import annotations

import glob
import gzip
import io
import os
import sys
import zlib
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.errors import BiomuxError, DocumentError, FormatError, UnreadableError, UsageError
from biomux.files import whole_file, whole_folder
from biomux.formats._archive import SUFFIXES, open_archive
from biomux.formats._walk import LeftOut, Unread, folder_files, listed_files, stop_unread, unreadable, why_not_a_file
from biomux.formats._wide_encoding import refuse_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from biomux.formats._archive import Archive

GZIP_MAGIC = b"\x1f\x8b"
MAX_LINE = 64 * 1024 * 1024
"""Maximum bytes of one line: the longest record of a line-based format."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, wherever its bytes come from.

    `name` is its name in messages; an archive's member is `archive!member`. `open` returns the decompressed bytes from the beginning
    each time it is called (for a pipe, only until it has been read); the caller closes them. `companion` finds a file beside it (brat's `.ann`,
    ChemProt's entities), plain or with `.gz`.
    """

    name: str
    open: Callable[[], BinaryIO]
    companion: Callable[[str], Source | None]
    size: int | None = None
    """Bytes as stored (compressed), if known: for progress."""
    called: str | None = None
    """A stem other than that of the name."""

    @property
    def plain_name(self) -> str:
        """The last part of the name, without `.gz`."""
        return PurePosixPath(self.name.replace("\\", "/").rpartition("!")[2]).name.removesuffix(".gz")

    @property
    def stem(self) -> str:
        """`called`, or else the plain name without its suffix: the id of a document whose format has none."""
        return self.called or PurePosixPath(self.plain_name).stem or "document"

    def head(self, size: int = 4096) -> bytes:
        """The first bytes, for recognising the format."""
        with self.open() as stream:
            return stream.read(size)


def of_path(path: Path) -> Source:
    """A file on disk."""

    def companion(name: str) -> Source | None:
        for candidate in (path.parent / name, path.parent / (name + ".gz")):
            if candidate.is_file():
                return of_path(candidate)
        return None

    return Source(str(path), lambda: _checked(str(path), _open_file(path)), companion, stored_size(path))


def of_bytes(name: str, data: bytes) -> Source:
    """Bytes in memory, which may be gzipped."""
    return Source(name, lambda: _checked(name, io.BytesIO(data)), lambda _: None, len(data))


def of_stdin() -> Source:
    """Standard input, streamed."""
    return _of_pipe("<stdin>", lambda: sys.stdin.buffer)


def _of_pipe(name: str, take: Callable[[], BinaryIO]) -> Source:
    """Bytes that can be read only once. The first are kept, so that the format can be recognised before the rest is read."""
    opened: list[tuple[bytes, BinaryIO]] = []

    def open_pipe() -> BinaryIO:
        if not opened:
            stream = take()
            opened.append((_first_bytes(stream), stream))
        first, stream = opened[0]
        replay = _Replay(first, stream)
        raw: io.RawIOBase = _Unzipped(name, io.BufferedReader(replay)) if first.startswith(GZIP_MAGIC) else replay
        return io.BufferedReader(raw, 1 << 16)

    return Source(name, open_pipe, lambda _: None)


def sources(
    where: str | Path,
    *,
    on_left_out: LeftOut | None = None,
    on_unread: Unread = stop_unread,
    unique_members: bool = False,
) -> Iterator[Source]:
    """Every file behind a path: the file itself, a folder's files at any depth, a glob's matches, an archive's members.

    Files are in sorted order; `biomux.formats._walk` says which are skipped. A readme or licence among data is reported to
    `on_left_out`, a folder or link that cannot be read to `on_unread`. A file or member that cannot be read is a source that cannot be
    opened. Pipes ("-" and the shell's `<(...)`) are streamed. With `unique_members`, no two members of an archive have the same stem.
    """
    if where == "-":
        yield of_stdin()
        return
    for path in files(where, on_left_out=on_left_out, on_unread=on_unread):
        yield from _file_sources(path, on_left_out, unique_members)


def files(where: str | Path, *, on_left_out: LeftOut | None = None, on_unread: Unread = stop_unread) -> Iterator[Path]:
    """The paths of `sources`: an archive is one path, and standard input is left out."""
    text = str(where)
    path = Path(text)
    if where == "-":
        return
    if not text:
        raise UsageError(
            "BX002", "the name of a file or folder must not be empty", hint="write . for the current folder"
        )
    if path.is_dir():
        yield from folder_files(path, on_left_out=on_left_out, on_unread=on_unread)
    elif path.exists():
        yield path
    elif path.is_symlink() and (error := why_not_a_file(path)):
        on_unread(error)
    elif glob.has_magic(text):
        matches = sorted(glob.glob(text, recursive=True))
        if not matches:
            raise UsageError(
                "BX002",
                f"no file matches {text!r}",
                hint="check the pattern, and quote it so that the shell does not expand it",
            )
        names: dict[str, None] = {}
        for name in matches:
            error = why_not_a_file(Path(name))
            if error is None:
                names[name] = None
            elif not os.path.isdir(name):  # noqa: PTH112  # folders that a glob matches are skipped; this never raises
                on_unread(error)
        yield from map(Path, listed_files(names, on_left_out=on_left_out))
    else:
        raise UsageError("BX002", f"no such file or folder: {text!r}", hint="check the path")


def stored_size(path: Path) -> int:
    """Bytes of a file as stored; 0 if the system does not say."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def of_source(error: Exception, source: Source) -> FormatError | DocumentError | UnreadableError:
    """The error to report for a source that could not be read to its end. Errors of the command itself are raised."""
    if isinstance(error, FormatError | DocumentError | UnreadableError):
        return error
    if isinstance(error, BiomuxError) and error.code != "BX003":
        raise error
    if isinstance(error, BiomuxError):  # one file of a format whose reader is not installed
        return FormatError(error.code, error.message, where=source.name, hint=error.hint)
    report = FormatError(
        "BX113",
        f"cannot read the file: {type(error).__name__}: {error}",
        where=source.name,
        hint="check that the file is what you expect",
    )
    report.__cause__ = error
    return report


def is_archive(path: Path) -> bool:
    """Whether it is a zip or tar file, by its name; `sources` reads its members."""
    return path.name.endswith(SUFFIXES)


def position(stream: BinaryIO) -> int:
    """Stored bytes (compressed, for gzip) read so far from the stream of a file's `Source.open`; for progress."""
    raw = getattr(stream, "raw", None)
    return raw.stored() if isinstance(raw, _Unzipped) else stream.tell()


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """Each line with its number, without its line break (LF or CR LF); strict UTF-8, without a leading byte-order mark.

    Only LF ends a line: form feeds, U+2028 and the like are ordinary characters.
    """
    number = 0
    for block in _whole_lines(source):
        if number == 0:
            refuse_wide(block, source.name)
        raw = block.removeprefix(b"\xef\xbb\xbf") if number == 0 else block
        try:
            block_lines = raw.removesuffix(b"\n").decode("utf-8").split("\n")
        except UnicodeDecodeError:
            for line in raw.removesuffix(b"\n").split(b"\n"):
                number += 1
                yield number, decode(line.removesuffix(b"\r"), f"{source.name}:{number}")
            continue
        if b"\r" in raw:
            block_lines = [line.removesuffix("\r") for line in block_lines]
        yield from enumerate(block_lines, number + 1)
        number += len(block_lines)


def _whole_lines(source: Source) -> Iterator[bytes]:
    """The bytes in blocks of whole lines: decoding a block is much faster than decoding each line."""
    with source.open() as stream:
        waiting: list[bytes] = []
        size = ended = 0
        take = getattr(stream, "read1", stream.read)  # for a pipe, what is available already
        while data := take(1 << 16):
            end = data.rfind(b"\n") + 1
            size += data.find(b"\n") if end else len(data)
            if size > MAX_LINE:
                where = f"{source.name}:{ended + 1}"
                raise FormatError("BX121", f"the line is longer than {MAX_LINE:,} bytes", where=where, hint="split it")
            if not end:
                waiting.append(data)
                continue
            block = b"".join([*waiting, data[:end]])
            ended += block.count(b"\n")
            yield block
            waiting = [data[end:]]
            size = len(data) - end
        if last := b"".join(waiting):
            yield last


def decode(raw: bytes, where: str) -> str:
    """Decode UTF-8; the error names the place of the first invalid byte."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse_wide(raw, where)
        raise FormatError(
            "BX111",
            f"byte {error.start} (0x{raw[error.start]:02x}) is not UTF-8",
            where=where,
            hint="convert the file to UTF-8 first, for instance with iconv -f WINDOWS-1252 -t UTF-8, or save a spreadsheet as CSV UTF-8",
        ) from None


def must_be_new(path: Path, *, overwrite: bool, folder: bool = False, ours: Sequence[str] = ()) -> None:
    """Refuse an output, a file or a `folder`, that already exists, unless it may be overwritten. A device or pipe may always be written to.

    A folder is overwritten only if the path of every file in it matches one of the patterns `ours`, those of an output of the same kind,
    so that nothing is lost that we did not write.
    """
    if not path.is_dir() and not path.is_file():
        return
    if not overwrite:
        raise _exists(path, "already exists", hint="replace it with --overwrite, or choose another name")
    if folder is path.is_file():
        raise _exists(path, f"already exists and is a {'file' if folder else 'folder'}", hint="choose another name")
    for file in path.rglob("*") if folder else ():
        name = file.relative_to(path).as_posix()
        if (file.is_symlink() or not file.is_dir()) and not any(fnmatchcase(name, pattern) for pattern in ours):
            message = f"already exists and contains other files: {name}"
            raise _exists(path, message, hint="choose another name, or remove it yourself")


def _exists(path: Path, message: str, *, hint: str) -> UsageError:
    return UsageError("BX004", message, where=str(path), hint=hint)


@contextmanager
def target(path: Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """A file to write, gzipped if its name ends in `.gz`; it appears under its name only when complete.

    The same documents give the same bytes: gzip stores neither name nor time. A link stays a link, and its target is
    replaced. A device or pipe (/dev/null) is written directly: it must not be replaced by a file.
    """
    _parent_must_exist(path)
    if path.is_dir():
        raise UsageError("BX002", "cannot write to a folder", where=str(path), hint="name a file")
    must_be_new(path, overwrite=overwrite)
    direct = path.exists() and not path.is_file()
    place = path.resolve() if path.is_symlink() and not direct else path
    try:
        with nullcontext(path) if direct else whole_file(place) as scratch, scratch.open("wb") as raw:
            if path.name.endswith(".gz"):
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextmanager
def folder_target(path: Path, *, overwrite: bool = False, ours: Sequence[str] = ()) -> Iterator[Path]:
    """A folder to fill; it appears under its name, with its parent folders, only when complete. An existing folder is refused, or replaced as `must_be_new` says."""
    must_be_new(path, overwrite=overwrite, folder=True, ours=ours)
    try:
        with whole_folder(path) as scratch:
            yield scratch
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(
        "BX002",
        f"cannot write: {error.strerror or error}",
        where=str(path),
        hint="check the free space and the permissions",
    )


def _parent_must_exist(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise UsageError("BX002", f"no such folder: {str(path.parent)!r}", hint="create it first")


def _file_sources(path: Path, on_left_out: LeftOut | None, unique_members: bool) -> Iterator[Source]:
    if not path.is_file():
        yield _of_pipe(str(path), lambda: _open_file(path))
    elif is_archive(path):
        yield from _member_sources(path, on_left_out, unique_members)
    else:
        yield of_path(path)


def _member_sources(path: Path, on_left_out: LeftOut | None, unique: bool) -> Iterator[Source]:
    from biomux.formats._unique_stems import unique_names

    def left_out(name: str) -> None:
        if on_left_out is not None:
            on_left_out(f"{path}!{name}")

    with open_archive(path) as archive:
        names = unique_names((name, name) for name in listed_files(archive)) if unique else {}
        for name in listed_files(archive, on_left_out=left_out):
            yield replace(_of_member(path, archive, name), called=names.get(name))


def _of_member(path: Path, archive: Archive, name: str) -> Source:
    def companion(wanted_name: str) -> Source | None:
        folder, slash, _ = name.rpartition("/")
        beside = f"{folder}{slash}{wanted_name}"
        present = [candidate for candidate in (beside, f"{beside}.gz") if candidate in archive]
        return _of_member(path, archive, present[0]) if present else None

    full_name = f"{path}!{name}"
    try:
        return replace(of_bytes(full_name, archive.read(name)), companion=companion)
    except BiomuxError as error:
        return Source(full_name, partial(_refuse, error), companion)


def _refuse(error: BiomuxError) -> BinaryIO:
    """Raise the error of a damaged member when it is opened, so that the members after it can still be read."""
    raise error


def _open_file(path: Path) -> BinaryIO:
    try:
        return io.BufferedReader(_File(path), 1 << 17)
    except OSError as error:
        raise unreadable(path, error) from error


class _File(io.FileIO):
    """A file whose read errors are UnreadableError, whatever reads it."""

    def readinto(self, buffer: Any, /) -> int | None:
        with self._read_errors():
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with self._read_errors():
            return super().readall()

    @contextmanager
    def _read_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unreadable(self.name, error) from error


def _checked(name: str, raw: BinaryIO) -> BinaryIO:
    """The stream itself, or, if it is gzip, its content; damage raises FormatError."""
    try:
        magic = raw.read(2)
        raw.seek(0)
    except BaseException:
        raw.close()
        raise
    return io.BufferedReader(_Unzipped(name, raw), 1 << 17) if magic == GZIP_MAGIC else raw


class _Unzipped(io.RawIOBase):
    def __init__(self, name: str, raw: BinaryIO) -> None:
        self._name = name
        self._raw = raw
        self._packed = gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._packed.read(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(
                "BX112", f"the gzip data is damaged: {error}", where=self._name, hint="download it again"
            ) from error
        buffer[: len(data)] = data
        return len(data)

    def stored(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._raw.close()
        super().close()


class _Replay(io.RawIOBase):
    """Bytes already read from a stream, then the rest of it. The stream is closed only at its end, so it can be replayed before."""

    def __init__(self, kept: bytes, stream: BinaryIO) -> None:
        self._kept = memoryview(kept)
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = bytes(self._kept[: len(buffer)])
        if not data and not self._stream.closed:
            data = self._stream.read1(len(buffer))  # type: ignore[attr-defined]
            if not data and self._stream is not sys.stdin.buffer:
                self._stream.close()
        self._kept = self._kept[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _first_bytes(stream: BinaryIO) -> bytes:
    """Enough bytes to recognise a format, without waiting for more; more for gzip, which is read in large blocks."""
    first = bytearray()
    while len(first) < (1 << 20 if first.startswith(GZIP_MAGIC) else 4096):
        data: bytes = stream.read1(1 << 16)  # type: ignore[attr-defined]
        if not data:
            break
        first += data
    return bytes(first)
