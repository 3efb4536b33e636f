"""A conformance check for any format, of Biomux or of another package.

>>> from biomux.document import Document
>>> from biomux.formats import jsonl
>>> check_format(jsonl.FORMAT, [Document("1", "TP53")])

It raises AssertionError that says which of these does not hold:

- a document that is written and read again is equal, or each difference was reported to `on_loss`, or the document was refused (BX120);
- the same documents give the same bytes; gzip changes nothing, and gzip cut short is refused;
- empty, cut and scrambled input gives documents or FormatError, never another exception;
- the format recognises what it has written, under its own suffix.

For a read-only format use `check_reader`, with sample files instead of documents. Output of a `one_way` format is not read again.

A reader may add passages, sentences, tokens and span ids if a document had none. The order of spans, relations and labels does not
matter. A loss excuses differences in its feature, in that document; `Loss.feature` may also be a phrase that begins with a part's
name ("relation scores", "passage extra", "label places"), which excuses that part, or "id" or "text".
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
"""The files that a format has written: names and contents."""

CUTS = 5
"""How many times a written file is cut, and how many times it is scrambled."""


def check_format(format: Format, documents: Iterable[Document]) -> None:
    """Run the whole check of a writable format with these documents; AssertionError says what is broken."""
    files = check_round_trip(format, documents)
    check_garbage(format, [files])


def check_round_trip(format: Format, documents: Iterable[Document]) -> Files:
    """Check that documents survive writing and reading again; returns the written files."""
    if not format.writable:
        return {}
    accepted = _accepted(format, list(documents))
    losses: list[Loss] = []
    files = _written(format, accepted, losses.append)
    second_time = _written(format, accepted, lambda _: None)
    _require(files == second_time, format, "writes the same documents differently the second time")
    if format.one_way:
        return files
    try:
        reread = _read_files(format, files)
    except FormatError as error:
        raise AssertionError(f"format {format.name!r} cannot read what it has written: {error}") from error
    _check_same(format, accepted, reread, losses)
    for name, data in files.items():
        if accepted and (format.write is not None or len(files) == 1):
            _require(format.sniff(name, data[:4096]), format, f"does not recognise {name}, which it has written")
    if format.write is not None:
        _check_gzip(format, files)
    return files


def check_reader(format: Format, files: Files) -> list[Document]:
    """Check a read-only format on sample files; returns the documents in them."""
    documents = _read_files(format, files)
    _require(documents == _read_files(format, files), format, "reads the same files differently the second time")
    recognised = [name for name, data in files.items() if format.sniff(name, data[:4096])]
    _require(bool(recognised), format, f"does not recognise any of {', '.join(files)}")
    undeclared = {feature for document in documents for feature in features(document)} - format.holds
    _require(not undeclared, format, f"reads {', '.join(sorted(undeclared))}, which `holds` does not name")
    if len(files) == 1:
        _check_gzip(format, files)
    check_garbage(format, [files])
    return documents


def check_garbage(format: Format, written: Iterable[Files]) -> None:
    """Check that empty, random, cut and scrambled bytes are read or refused with FormatError; nothing else may be raised."""
    noise = random.Random(0)
    name = _name(format)
    for data in (b"", b"\n", b"\0", b"\xff\xfe", b"{", b"<", b"[]", noise.randbytes(100), noise.randbytes(5000)):
        _must_not_crash(format, {name: data})
    for files in written:
        for name, data in files.items():
            for harmed in islice(_harmed(data, noise), 0, None, len(files)):
                _must_not_crash(format, {**files, name: harmed})


def differences(wrote: Document, read: Document, lost: frozenset[str] = frozenset()) -> list[str]:
    """The fields that differ without a loss that excuses it."""
    written_fields, read_fields = _comparable(wrote, wrote, lost), _comparable(read, wrote, lost)
    return [field for field in written_fields if written_fields[field] != read_fields[field]]


def _accepted(format: Format, documents: list[Document]) -> list[Document]:
    """The documents that the format does not refuse."""
    accepted = []
    for document in documents:
        try:
            _written(format, [document], lambda _: None)
        except FormatError as error:
            _require(error.code == "BX120", format, f"refuses a document with {error.code} instead of BX120: {error}")
        else:
            accepted.append(document)
    return accepted


def _check_same(format: Format, wrote: list[Document], read: list[Document], losses: list[Loss]) -> None:
    lost: dict[str, set[str]] = {}
    for loss in losses:
        lost.setdefault(loss.document, set()).add(loss.feature)
    if format.write is None:
        wrote, read = sorted(wrote, key=_id), sorted(read, key=_id)
    _require(len(wrote) == len(read), format, f"wrote {len(wrote)} documents and read {len(read)}")
    for before, after in zip(wrote, read, strict=True):
        excused = frozenset(lost.get(before.id, ()))
        if fields := differences(before, after, excused):
            written_fields, read_fields = _comparable(before, before, excused), _comparable(after, before, excused)
            shown = "; ".join(
                f"{field}: wrote {written_fields[field]!r}, read {read_fields[field]!r}" for field in fields
            )
            _require(False, format, f"document {before.id!r} came back changed, and no loss was reported: {shown}")


def _comparable(document: Document, wrote: Document, lost: frozenset[str]) -> dict[str, object]:
    """The fields of a document that must agree, given the document that was written and its losses."""

    def gone(*parts: str) -> bool:
        return any(loss == part or loss.startswith(f"{part} ") for loss in lost for part in parts)

    spans = [] if gone("spans") else [_bare(span, wrote, lost) for span in document.spans]
    if "fragments" in lost:
        broken = {(span.start, span.end, span.type) for span in wrote.spans if span.fragments}
        broken |= {(*range_, span.type) for span in wrote.spans for range_ in span.fragments}
        spans = [span for span in spans if (span.start, span.end, span.type) not in broken]
    if "overlaps" in lost:
        spans = [span for span in spans if span in {_bare(written_span, wrote, lost) for written_span in wrote.spans}]
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
    """A span without what was lost, and without an id that only the reader added."""
    had_ids = any(written_span.id is not None for written_span in wrote.spans)
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
    """The spans that overlap no other span of the written document: among the rest, the writer may choose."""
    return [span for span in spans if sum(span.overlaps(written_span) for written_span in wrote.spans) <= 1]


def _id(document: Document) -> str:
    return document.id


def _check_gzip(format: Format, files: Files) -> None:
    for name, data in files.items():
        plain = _read_all(format, of_bytes(name, data))
        packed = gzip.compress(data, mtime=0)
        _require(_read_all(format, of_bytes(f"{name}.gz", packed)) == plain, format, "reads gzipped bytes differently")
        try:
            _read_all(format, of_bytes(f"{name}.gz", packed[:-9]))
        except FormatError:
            continue
        _require(not data, format, "reads truncated gzip as if it were complete")


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
            reason = f"{type(error).__name__}: {error}"
            raise AssertionError(
                f"format {format.name!r} crashes on harmed input: {reason}; {files!r:.2000}"
            ) from error


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
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _read_files(format: Format, files: Files, on_error: Callable[[FormatError], None] = _stop) -> list[Document]:
    """The documents in the files: in a single file as it is; of several, in those that the format recognises."""
    if format.write is not None or len(files) == 1:
        return [
            document for name, data in files.items() for document in _read_all(format, of_bytes(name, data), on_error)
        ]
    with tempfile.TemporaryDirectory() as scratch:
        for name, data in files.items():
            path = Path(scratch, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        recognised = [source for source in sources(scratch) if format.sniff(source.plain_name, source.head())]
        return [document for source in recognised for document in _read_all(format, source, on_error)]


def _read_all(format: Format, source: Source, on_error: Callable[[FormatError], None] = _stop) -> list[Document]:
    return list(format.read(source, on_error=on_error))


def _require(condition: bool, format: Format, message: str) -> None:
    if not condition:
        raise AssertionError(f"format {format.name!r} {message}")
