"""JSON objects with a text each: one `{"id": "1", "text": "…"}` per line, an array of such objects, or one object.

The text is under `text`, or under `title` and `abstract`, joined by a line feed as passages, or under `sentence`, `content`, `body`, `passage` or `paragraph`;
the id is under `id`, `pmid`, `doc_id`, `pmcid`, `doi` and the like. `--text NAME` and `--id NAME` choose other keys: `--text title,abstract`. All other keys
become metadata. An object without an id is named `<stem>:<line>`. Objects with a key `biomux` are Biomux's own format, [jsonl](#jsonl).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from biomux.errors import FormatError
from biomux.formats import _columns as columns
from biomux.formats._format import Feature, Format, stop
from biomux.formats._json_array import items, loads
from biomux.formats._json_lines import values
from biomux.formats._source import MAX_LINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Document
    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "metadata"})

_BOM = b"\xef\xbb\xbf"
_SUFFIXES = (".json", ".jsonl", ".ndjson")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}:,]', re.DOTALL)


def sniff(name: str, head: bytes) -> bool:
    """By its suffix (or none), and an object with a string under a known name for a text."""
    if not name.lower().endswith(_SUFFIXES) and "." in name:
        return False
    return columns.has_text(key for key, is_string in keys(head).items() if is_string)


def keys(head: bytes) -> dict[str, bool]:
    """The keys of the first object, as far as the first bytes contain it, and whether each has a string.

    >>> keys(b'[{"id": 7, "text": "TP53", "meta": {"year": "1998"}}, {"a": 1}]')
    {'id': False, 'text': True, 'meta': False}
    """
    start = head.removeprefix(_BOM).lstrip()
    start = start[1:].lstrip() if start.startswith(b"[") else start
    has_string: dict[str, bool] = {}
    depth, before, name = 0, b"", b""
    for match in _TOKEN.finditer(start if start.startswith(b"{") else b""):
        token = match[0]
        if token == b":" and depth == 1:
            name = before
            has_string[_string(name)] = start[match.end() :].lstrip()[:1] == b'"'
        elif token == b'"':
            break  # truncated
        depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
        if depth == 0:
            break
        before = token
    return has_string


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    text: str | None = None,
    id: str | None = None,
) -> Iterator[Document]:
    """One document per object."""
    for number, value in objects(source, on_error):
        where = f"{source.name}:{number}"
        try:
            if not isinstance(value, dict):
                raise FormatError("BX113", "expected a JSON object", where=where, hint="give objects with a text each")
            document = columns.document(
                value, default=f"{source.stem}:{number}", where=where, text=text, id=id, what="key"
            )
        except FormatError as error:
            on_error(error)
            continue
        yield document


def objects(source: Source, on_error: Callable[[FormatError], None]) -> Iterator[tuple[int, Any]]:
    """The values of the lines, of the array, or of the whole file, with their line numbers."""
    head = source.head().removeprefix(_BOM).lstrip()
    if head.startswith(b"["):
        yield from items(source, on_error=on_error)
    elif re.match(rb"\{\s*\n", head):  # one object over several lines
        with source.open() as stream:
            raw = stream.read(MAX_LINE + 1)
        if len(raw) > MAX_LINE:
            hint = "give one object per line, or an array of objects"
            raise FormatError("BX121", f"the object is longer than {MAX_LINE:,} bytes", where=source.name, hint=hint)
        yield 1, loads(raw.removeprefix(_BOM), source.name)
    else:
        yield from values(source, on_error=on_error)


def _string(raw: bytes) -> str:
    return raw[1:-1].decode("utf-8", "replace")


FORMAT = Format(
    name="json",
    title="JSON objects with a text each",
    suffixes=(".ndjson",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
)
