"""A conformance check that any format can be put to, from inside the house or from outside it.

>>> from biomux.document import Document
>>> from biomux.formats import jsonl
>>> check_format(jsonl.FORMAT, [Document("1", "TP53")])

It raises AssertionError with a sentence about the first promise that is broken:

- what is written and read again is equal, or each difference was told to `on_loss`, or the document was refused (BX120);
- the same documents give the same bytes; gzip changes nothing, and gzip cut short is refused;
- empty, cut and scrambled input gives documents or FormatError, never another exception;
- the format recognises what it has written, under its own suffix.

A format that is only read is put to `check_reader` with files of yours in place of documents. Of a format that is `one_way` nothing is read again.

A reader may add passages, sentences, tokens and span ids where a document had none. The order of spans, relations and labels is
free. What a loss excuses is its feature, in that document; `Loss.feature` may also be a phrase that begins with a part's name
("relation scores", "passage extra", "label places"), which excuses that part, or "id" or "text".
"""

from __future__ import annotations

import gzip
import io
import random
import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from biomux.errors import FormatError
from biomux.formats._format import features
from biomux.formats._source import of_bytes, sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document, Span
    from biomux.formats._format import Format, Loss
    from biomux.formats._source import Source

Files = dict[str, bytes]
"""What a format has written: names and contents."""

CUTS = 5
"""At how many places a written file is cut, and how many times it is scrambled."""


def check_format(format: Format, documents: Iterable[Document]) -> None:
    """Put a format that is written to the whole check with these documents; AssertionError says what is broken."""
    files = check_round_trip(format, documents)
    check_garbage(format, [files])


def check_round_trip(format: Format, documents: Iterable[Document]) -> Files:
    """The part of the check about what is written and read again; gives what was written."""
    if not format.writable:
        return {}
    held = _held(format, list(documents))
    losses: list[Loss] = []
    files = _written(format, held, losses.append)
    again = _written(format, held, lambda _: None)
    _require(files == again, format, "the same documents gave other bytes the second time")
    if format.one_way:
        return files
    try:
        back = _read_files(format, files)
    except FormatError as error:
        raise AssertionError(f"format {format.name!r} cannot read what it has written: {error}") from error
    _check_same(format, held, back, losses)
    for name, data in files.items():
        if held and (format.write is not None or len(files) == 1):
            _require(format.sniff(name, data[:4096]), format, f"does not recognise {name}, which it has written")
    if format.write is not None:
        _check_gzip(format, files)
    return files


def check_reader(format: Format, files: Files) -> list[Document]:
    """The check of a format that is only read, on sample files; gives what it reads from them."""
    documents = _read_files(format, files)
    _require(documents == _read_files(format, files), format, "reads the same files otherwise the second time")
    recognised = [name for name, data in files.items() if format.sniff(name, data[:4096])]
    _require(bool(recognised), format, f"does not recognise any of {', '.join(files)}")
    unsaid = {feature for document in documents for feature in features(document)} - format.holds
    _require(not unsaid, format, f"reads {', '.join(sorted(unsaid))}, which `holds` does not name")
    if len(files) == 1:
        _check_gzip(format, files)
    check_garbage(format, [files])
    return documents


def check_garbage(format: Format, written: Iterable[Files]) -> None:
    """Empty, random, cut and scrambled bytes are refused with FormatError, or read; nothing else may be raised."""
    noise = random.Random(0)
    name = _name(format)
    for data in (b"", b"\n", b"\0", b"\xff\xfe", b"{", b"<", b"[]", noise.randbytes(100), noise.randbytes(5000)):
        _must_not_crash(format, {name: data})
    for files in written:
        for name, data in files.items():
            for harmed in islice(_harmed(data, noise), 0, None, len(files)):
                _must_not_crash(format, {**files, name: harmed})


def differences(wrote: Document, read: Document, lost: frozenset[str] = frozenset()) -> list[str]:
    """The fields that differ although no loss excuses it."""
    left, right = _comparable(wrote, wrote, lost), _comparable(read, wrote, lost)
    return [field for field in left if left[field] != right[field]]


def _held(format: Format, documents: list[Document]) -> list[Document]:
    """Those that the format does not refuse."""
    held = []
    for document in documents:
        try:
            _written(format, [document], lambda _: None)
        except FormatError as error:
            _require(error.code == "BX120", format, f"refuses a document with {error.code} in place of BX120: {error}")
        else:
            held.append(document)
    return held


def _check_same(format: Format, wrote: list[Document], read: list[Document], losses: list[Loss]) -> None:
    lost: dict[str, set[str]] = {}
    for loss in losses:
        lost.setdefault(loss.document, set()).add(loss.feature)
    if format.write is None:
        wrote, read = sorted(wrote, key=_id), sorted(read, key=_id)
    _require(len(wrote) == len(read), format, f"wrote {len(wrote)} documents and read {len(read)}")
    for before, after in zip(wrote, read, strict=True):
        excused = frozenset(lost.get(before.id, ()))
        if found := differences(before, after, excused):
            left, right = _comparable(before, before, excused), _comparable(after, before, excused)
            shown = "; ".join(f"{field}: wrote {left[field]!r}, read {right[field]!r}" for field in found)
            _require(False, format, f"document {before.id!r} came back changed, and no loss was told: {shown}")


def _comparable(document: Document, wrote: Document, lost: frozenset[str]) -> dict[str, object]:
    """The fields of a document that must agree, given what `wrote` had and what was lost of it."""

    def gone(*parts: str) -> bool:
        return any(loss == part or loss.startswith(f"{part} ") for loss in lost for part in parts)

    spans = [] if gone("spans") else [_bare(span, wrote, lost) for span in document.spans]
    if "fragments" in lost:
        broken = {(span.start, span.end, span.type) for span in wrote.spans if span.fragments}
        broken |= {(*range_, span.type) for span in wrote.spans for range_ in span.fragments}
        spans = [span for span in spans if (span.start, span.end, span.type) not in broken]
    if "overlaps" in lost:
        spans = [span for span in spans if span in {_bare(other, wrote, lost) for other in wrote.spans}]
        spans = _apart(spans, wrote)
    return {
        "id": None if gone("id") else document.id,
        "text": None if gone("text") else document.text,
        "passages": () if gone("passages", "passage") or not wrote.passages else document.passages,
        "sentences": None if gone("sentences", "sentence") or not wrote.sentences else document.sentences,
        "tokens": None if gone("tokens", "token") or not wrote.tokens else document.tokens,
        "spans": sorted(spans, key=repr),
        "relations": [] if gone("relations", "relation") else sorted(document.relations, key=repr),
        "labels": [] if gone("labels", "label") else sorted(document.labels, key=repr),
        "pair": None if gone("pair") else document.pair,
        "questions": () if gone("questions", "question", "answers", "answer") else document.questions,
        "coverage": None if gone("coverage") else document.coverage,
        "metadata": {} if gone("metadata") else dict(document.metadata),
    }


def _bare(span: Span, wrote: Document, lost: frozenset[str]) -> Span:
    """A span without what was lost, and without an id that only the reader gave."""
    had_ids = any(other.id is not None for other in wrote.spans)
    return replace(
        span,
        type="" if "span types" in lost else span.type,
        score=None if "scores" in lost else span.score,
        head=None if "heads" in lost else span.head,
        identifiers=() if "identifiers" in lost else span.identifiers,
        id=None if "span ids" in lost or not had_ids else span.id,
        extra={} if "span extra" in lost else span.extra,
    )


def _apart(spans: list[Span], wrote: Document) -> list[Span]:
    """Those that overlap no other span of the written document: of the rest, the writer chose what to keep."""
    return [span for span in spans if sum(span.overlaps(other) for other in wrote.spans) <= 1]


def _id(document: Document) -> str:
    return document.id


def _check_gzip(format: Format, files: Files) -> None:
    for name, data in files.items():
        plain = _read_all(format, of_bytes(name, data))
        packed = gzip.compress(data, mtime=0)
        _require(_read_all(format, of_bytes(f"{name}.gz", packed)) == plain, format, "reads gzipped bytes otherwise")
        try:
            _read_all(format, of_bytes(f"{name}.gz", packed[:-9]))
        except FormatError:
            continue
        _require(not data, format, "reads gzip that is cut short as if it were whole")


def _harmed(data: bytes, noise: random.Random) -> Iterator[bytes]:
    for part in range(1, CUTS):
        yield data[: len(data) * part // CUTS]
    yield data[:-1]
    for _ in range(CUTS if data else 0):
        at = noise.randrange(len(data))
        yield data[:at] + noise.randbytes(1) + data[at + 1 :]
        yield data[:at] + data[at + noise.randrange(1, 20) :]
    yield data + data


def _must_not_crash(format: Format, files: Files) -> None:
    collected: list[FormatError] = []
    for on_error in (collected.append, _stop):
        try:
            _read_files(format, files, on_error)
        except FormatError:
            continue
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise AssertionError(f"format {format.name!r} crashes on harmed input: {told}; {files!r:.2000}") from error


def _stop(error: FormatError) -> None:
    raise error


def _name(format: Format) -> str:
    return f"check{format.suffixes[0]}" if format.suffixes else "check"


def _written(format: Format, documents: list[Document], on_loss: Callable[[Loss], None]) -> Files:
    if format.write is not None:
        stream = io.BytesIO()
        format.write(documents, stream, on_loss=on_loss)
        return {_name(format): stream.getvalue()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if format.write_folder is not None:
            format.write_folder(documents, folder, on_loss=on_loss)
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def _read_files(format: Format, files: Files, on_error: Callable[[FormatError], None] = _stop) -> list[Document]:
    """What the files hold: one file as it is; of several, those that the format recognises."""
    if format.write is not None or len(files) == 1:
        return [
            document for name, data in files.items() for document in _read_all(format, of_bytes(name, data), on_error)
        ]
    with tempfile.TemporaryDirectory() as scratch:
        for name, data in files.items():
            path = Path(scratch, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        found = [source for source in sources(scratch) if format.sniff(source.plain_name, source.head())]
        return [document for source in found for document in _read_all(format, source, on_error)]


def _read_all(format: Format, source: Source, on_error: Callable[[FormatError], None] = _stop) -> list[Document]:
    return list(format.read(source, on_error=on_error))


def _require(condition: bool, format: Format, message: str) -> None:
    if not condition:
        raise AssertionError(f"format {format.name!r} {message}")
