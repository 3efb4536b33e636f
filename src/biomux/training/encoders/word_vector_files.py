"""Word vectors from files: word2vec's text format (with or without its first line, so GloVe's too), its binary format, and .npz.

| file | layout |
|---|---|
| text | optionally a line `words width`; then `word number number …`, one word per line; gzipped or not |
| binary | a line `words width`; then for each word its bytes, a space, float32 numbers, and optionally a line end |
| .npz | `words` (strings) and `vectors` (words × width, any float) |

Files are read as a stream; only the wanted words are kept. A word that occurs twice keeps its first vector. Nothing is
unpickled.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import numpy as np

from biomux.errors import TrainingError
from biomux.formats import of_path

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from numpy.typing import NDArray

    Entry = tuple[str, "bytes | NDArray[np.float32]", str]

Kind = Literal["text", "binary", "npz"]

WIDEST = 4096
"""The largest plausible width."""
LONGEST_WORD = 4096
"""Maximum length of a word in bytes; a binary file without a space for longer than this is refused."""
ROWS = 4096
"""Rows of an .npz to read at a time."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Words, and a row for each. `seen` is the number of words in the file."""

    words: tuple[str, ...]
    table: NDArray[np.float32]
    seen: int

    @property
    def width(self) -> int:
        """The size of a vector."""
        return int(self.table.shape[1])


def read(path: str | Path, *, wanted: Container[str] | None = None, most: int = 0, width: int | None = None) -> Vectors:
    """The vectors of the words that are `wanted` (all if None), and of the file's first `most` words.

    Files usually list frequent words first. A `width` other than the file's is an error.
    """
    place = Path(path)
    if not place.is_file():
        raise TrainingError("BX420", "no such file of word vectors", where=str(place), hint="check the path")
    readers = {"text": _text, "binary": _binary, "npz": _npz}
    file_width, entries = readers[kind_of(place)](place)
    if width is not None and file_width != width:
        raise _wrong(f"vectors must have {width} numbers, got {file_width}", str(place))
    words: dict[str, NDArray[np.float32]] = {}
    words_read = 0
    for word, raw, where in entries:
        if (words_read < most or wanted is None or word in wanted) and word not in words:
            words[word] = _numbers(raw, file_width, where)
        words_read += 1
    if not words_read:
        raise TrainingError("BX421", "the file has no vectors", where=str(place), hint="download it again")
    table = np.stack(list(words.values())) if words else np.zeros((0, file_width), dtype=np.float32)
    return Vectors(tuple(words), table, words_read)


def kind_of(path: Path) -> Kind:
    """The format of a file, by its first bytes, whatever its name."""
    source = of_path(path)
    head = source.head(1 << 16)
    if head.startswith(b"PK"):
        return "npz"
    if source.plain_name.endswith(".bin"):
        return "binary"
    first, _, rest = head.partition(b"\n")
    if _first_line(first) is None or source.plain_name.endswith((".txt", ".vec", ".text")):
        return "text"
    line = rest.partition(b"\n")[0].split()
    try:
        return "text" if len([float(number) for number in line[-3:]]) == min(3, len(line)) else "binary"
    except ValueError:
        return "binary"


def _text(path: Path) -> tuple[int, Iterator[Entry]]:
    with of_path(path).open() as stream:
        first = stream.readline(LONGEST_WORD + 32 * WIDEST).removeprefix(b"\xef\xbb\xbf").rstrip()
    header = _first_line(first)
    width = header[1] if header else len(first.split(b" ")) - 1
    if not 1 <= width <= WIDEST:
        raise _wrong(f"a vector must have 1 to {WIDEST:,} numbers, got {width}", f"{path}:1")
    return width, _text_entries(path, width, header[0] if header else None)


def _text_entries(path: Path, width: int, number: int | None) -> Iterator[Entry]:
    entries, line_number = 0, 0
    with of_path(path).open() as stream:
        for line_number, raw in enumerate(stream, 1):
            line = raw.rstrip(b"\r\n ")
            if line_number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
                if number is not None:
                    continue
            where = f"{path}:{line_number}"
            if not line:
                continue
            parts = line.rsplit(b" ", width)
            # A few words in public files contain spaces; but a number before the numbers means that the vector is too long.
            if len(parts) <= width or not parts[0] or _ends_in_number(parts[0]):
                raise _wrong(f"the vector must have {width} numbers, got {len(line.split()) - 1}", where)
            entries += 1
            yield _decoded(parts[0], where), line[len(parts[0]) + 1 :], where
    if number is not None and entries != number:
        raise _short(f"the first line says {number} words, but there are {entries}", str(path))


def _ends_in_number(word: bytes) -> bool:
    _, space, last = word.rpartition(b" ")
    if not space:
        return False
    try:
        float(last)
    except ValueError:
        return False
    return True


def _binary(path: Path) -> tuple[int, Iterator[Entry]]:
    with of_path(path).open() as stream:
        header = _first_line(stream.readline(64))
    if header is None:
        raise TrainingError(
            "BX420",
            "not a word2vec binary file: its first line does not give the numbers of words and dimensions",
            where=str(path),
            hint="give a word2vec text or binary file, or an .npz with words and vectors",
        )
    if not 1 <= header[1] <= WIDEST:
        raise _wrong(f"a vector must have 1 to {WIDEST:,} numbers, got {header[1]}", str(path))
    return header[1], _binary_entries(path, *header)


def _binary_entries(path: Path, number: int, width: int) -> Iterator[Entry]:
    with of_path(path).open() as stream:
        stream.readline(64)
        buffer = b""
        for index in range(number):
            where = f"{path}, word {index + 1}"
            while b" " not in buffer:
                if len(buffer) > LONGEST_WORD:
                    raise _wrong(f"cannot find the next word: vectors may not have {width} numbers", where)
                more = stream.read(1 << 16)
                if not more:
                    raise _short(f"the first line says {number} words, but the file ends after {index}", str(path))
                buffer += more
            word, _, buffer = buffer.partition(b" ")
            if len(buffer) < 4 * width:
                buffer += stream.read(max(1 << 16, 4 * width))
            if len(buffer) < 4 * width:
                raise _short("the file ends within a vector", where)
            yield _decoded(word.lstrip(b"\n"), where), np.frombuffer(buffer[: 4 * width], dtype="<f4"), where
            buffer = buffer[4 * width :]
        if (buffer + stream.read(1)).strip():
            raise _wrong(f"the file continues after the {number} words of its first line", str(path))


def _npz(path: Path) -> tuple[int, Iterator[Entry]]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if not {"words.npy", "vectors.npy"} <= set(names):
                raise TrainingError(
                    "BX420",
                    f"the .npz must have words and vectors, got {', '.join(names) or 'nothing'}",
                    where=str(path),
                    hint="write it with numpy.savez(words=…, vectors=…)",
                )
            with archive.open("vectors.npy") as member:
                shape, dtype = _header(cast("BinaryIO", member), path)
        with np.load(path, allow_pickle=False) as arrays:
            words = arrays["words"]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise _short(f"the .npz is damaged: {error}", str(path)) from None
    except ValueError as error:
        raise TrainingError(
            "BX420", f"cannot read the words: {error}", where=str(path), hint="write them as an array of strings"
        ) from None
    if len(shape) != 2 or words.ndim != 1 or len(words) != shape[0] or not 1 <= shape[1] <= WIDEST:
        raise _wrong(f"words of shape {words.shape} and vectors of shape {shape}", str(path))
    if words.dtype.kind not in "US" or dtype.kind != "f":
        raise _wrong(f"words and vectors must be strings and floats, got {words.dtype} and {dtype}", str(path))
    return shape[1], _npz_entries(path, words)


def _header(member: BinaryIO, path: Path) -> tuple[tuple[int, ...], np.dtype[np.float32]]:
    version = np.lib.format.read_magic(member)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = reader(member)
    if fortran and len(shape) > 1 and min(shape) > 1:
        raise TrainingError(
            "BX420", "the vectors are stored column by column", where=str(path), hint="save numpy.ascontiguousarray(…)"
        )
    return shape, dtype


def _npz_entries(path: Path, words: NDArray[np.str_]) -> Iterator[Entry]:
    with zipfile.ZipFile(path) as archive, archive.open("vectors.npy") as member:
        (_, width), dtype = _header(cast("BinaryIO", member), path)
        for start in range(0, len(words), ROWS):
            chunk = words[start : start + ROWS]
            size = len(chunk) * width * dtype.itemsize
            try:
                raw = member.read(size)
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise _short(f"the .npz is damaged: {error}", str(path)) from None
            if len(raw) < size:
                raise _short("the vectors end early", str(path))
            rows = np.frombuffer(raw, dtype=dtype).reshape(len(chunk), width)
            for index, (word, row) in enumerate(zip(chunk.tolist(), rows, strict=True), start + 1):
                where = f"{path}, word {index}"
                yield word if isinstance(word, str) else _decoded(word, where), row, where


def _first_line(line: bytes) -> tuple[int, int] | None:
    """The number of words and their width, if that is all the line says."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _decoded(word: bytes, where: str) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        raise TrainingError(
            "BX423", f"the word {word[:40]!r} is not UTF-8", where=where, hint="convert the file to UTF-8"
        ) from None


def _numbers(raw: bytes | NDArray[np.float32], width: int, where: str) -> NDArray[np.float32]:
    try:
        numbers = np.array(raw.split(b" ") if isinstance(raw, bytes) else raw, dtype=np.float32)
    except ValueError:
        raise _wrong("a vector contains something that is not a number", where) from None
    if numbers.shape != (width,) or not np.isfinite(numbers).all():
        raise _wrong("a vector contains something that is not a finite number", where)
    return numbers


def _wrong(message: str, where: str) -> TrainingError:
    return TrainingError("BX422", message, where=where, hint="check that the file is complete and has the right format")


def _short(message: str, where: str) -> TrainingError:
    return TrainingError("BX421", message, where=where, hint="download it again")
