"""Elucidata JSON: an array of paragraphs with the spans of one type, as in the cell-line, tissue and strain sets.

    [{"id": "GSE1", "text": "HeLa cells", "spans": [{"start": 0, "end": 4, "keyword": "HeLa", "label": "CELLLINE"}]}, …]

`id` may be missing: the document is then named `<stem>:<n>`, n counted from 1 over the records of the file. `keyword` must be the
text at its offsets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from biomux.document import Document, Span
from biomux.errors import FormatError
from biomux.formats._fields import build, field, name_of, optional
from biomux.formats._format import Feature, Format, stop
from biomux.formats._json_array import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"spans", "overlaps"})
_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*(?:\]\s*$|\{\s*"(?:id|text|spans)"\s*:)')


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per paragraph."""
    for number, (line, record) in enumerate(items(source, on_error=on_error), 1):
        try:
            document = _document(record, f"{source.stem}:{number}", f"{source.name}:{line}")
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _sniff(name: str, head: bytes) -> bool:
    if name.endswith(".elucidata.json"):
        return True
    if name.endswith(".jsonl") or not _START.match(head):
        return False
    # The first paragraph may be longer than the head: then its end, and maybe its spans, are not visible.
    return b'"spans"' in head or (b'"text"' in head and b"}" not in head)


def _document(record: Any, default_id: str, where: str) -> Document:
    text = field(record, "text", str, where)
    name = default_id if record.get("id") is None else name_of(record["id"], "the id", where)
    spans = [_span(raw, text, f"{where} (document {name!r})") for raw in field(record, "spans", list, where)]
    return build(where, name, text, spans=tuple(spans))


def _span(raw: Any, text: str, where: str) -> Span:
    start, end = field(raw, "start", int, where), field(raw, "end", int, where)
    label = field(raw, "label", str, where)
    if not 0 <= start < end <= len(text):
        raise FormatError(
            "BX114",
            f"a span is at {start}..{end}, but the text has {len(text)} characters",
            where=where,
            hint="offsets count characters, end exclusive",
        )
    keyword = optional(raw, "keyword", str, where)
    if keyword is not None and keyword != text[start:end]:
        raise FormatError(
            "BX115",
            f"the keyword is {keyword!r:.200}, but the text at {start}..{end} is {text[start:end]!r:.200}",
            where=where,
            hint="offsets count characters, end exclusive",
        )
    return Span(start, end, label)


FORMAT = Format(
    name="elucidata",
    title="Elucidata JSON",
    suffixes=(".elucidata.json",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
