"""Elucidata JSON: an array of paragraphs with the spans of one type, as in the cell-line, tissue and strain sets.

    [{"id": "GSE1", "text": "HeLa cells", "spans": [{"start": 0, "end": 4, "keyword": "HeLa", "label": "CELLLINE"}]}, …]

`id` may be missing: the document is then called `<stem>:<n>`, n counted from 1 over the records of the file. `keyword` must be the
text at its offsets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Document, Span
from biomux.errors import BiomuxError, FormatError
from biomux.formats.format import Feature, Format, Loss, report_losses, stop
from biomux.formats.json_array import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.formats.source import Source

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*\{\s*"(?:id|text|spans)"\s*:')
HOLDS: frozenset[Feature] = frozenset({"spans", "overlaps"})


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """A document a paragraph."""
    for number, (line, record) in enumerate(items(source, on_error=on_error), 1):
        where = f"{source.name}:{line}"
        try:
            document = _document(record, f"{source.stem}:{number}", where)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """One object a line, so that two files can be compared line by line."""
    import orjson

    before = b"[\n"
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        record = {
            "id": document.id,
            "text": document.text,
            "spans": [
                {
                    "start": span.start,
                    "end": span.end,
                    "keyword": document.text[span.start : span.end],
                    "label": span.type,
                }
                for span in document.spans
            ],
        }
        try:
            line = orjson.dumps(record)
        except TypeError:
            raise FormatError(
                "BX120",
                "the text or a type has half a surrogate pair, which UTF-8 cannot hold",
                where=f"document {document.id!r}",
                hint="repair the text",
            ) from None
        stream.write(before + line)
        before = b",\n"
    stream.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _sniff(name: str, head: bytes) -> bool:
    if name.endswith(".jsonl") or not _START.match(head):
        return False
    # The first paragraph may be longer than the head: then its end, and maybe its spans, are not in sight.
    return b'"spans"' in head or (b'"text"' in head and b"}" not in head)


def _document(record: Any, default_id: str, where: str) -> Document:
    if not isinstance(record, dict):
        raise FormatError("BX113", "this is not an object", where=where, hint="give objects with text and spans")
    text = _field(record, "text", str, where)
    raw_spans = _field(record, "spans", list, where)
    raw_id = record.get("id")
    name = default_id if raw_id is None else str(raw_id)
    spans = tuple(_span(raw, text, f"{where} (document {name!r})") for raw in raw_spans)
    try:
        return Document(name, text, spans=spans)
    except BiomuxError as error:
        raise FormatError("BX114", error.message, where=where, hint=error.hint) from None


def _span(raw: Any, text: str, where: str) -> Span:
    if not isinstance(raw, dict):
        raise FormatError(
            "BX113", "a span is not an object", where=where, hint="give objects with start, end, keyword, label"
        )
    start, end = _field(raw, "start", int, where), _field(raw, "end", int, where)
    label = _field(raw, "label", str, where)
    if not 0 <= start < end <= len(text):
        raise FormatError(
            "BX114",
            f"a span is at {start}..{end}, but the text has {len(text)} characters",
            where=where,
            hint="offsets count characters, end exclusive",
        )
    keyword = raw.get("keyword")
    if keyword is not None and keyword != text[start:end]:
        raise FormatError(
            "BX115",
            f"the keyword is {keyword!r}, but the text at {start}..{end} is {text[start:end]!r}",
            where=where,
            hint="offsets count characters, end exclusive",
        )
    return Span(start, end, label)


def _field(record: dict[str, Any], name: str, kind: type, where: str) -> Any:
    if name not in record:
        raise FormatError("BX116", f"the field {name!r} is missing", where=where, hint="add it")
    value = record[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FormatError(
            "BX113", f"the field {name!r} is not {_A[kind]}", where=where, hint="check how the file was made"
        )
    return value


_A = {str: "a string", list: "an array", int: "an integer"}

FORMAT = Format(
    name="elucidata",
    title="Elucidata JSON",
    suffixes=(".elucidata.json",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
