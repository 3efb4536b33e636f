"""TSV: reads texts in named columns, writes a table of entities.

Reading. As [csv](#csv), with tabs. Quotes are ordinary characters, unless the whole header is quoted, as R writes it (option `quotes`).

Writing. One row per entity, without texts, so it cannot be read again:

| column | holds |
|---|---|
| `document` | the document's id |
| `start`, `end` | where in the document's text, in characters, end exclusive |
| `type` | the entity's type |
| `mention` | its text; the parts of a discontinuous entity are joined by a space |
| `score` | from 0 to 1, with four digits; empty if there is none |
| `head` | the head that found it; empty if not known |
| `identifiers` | its identifiers, joined by `;` |

Tabs, line breaks and other characters that are not printable are escaped (`\\t`), so a row is always one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.formats import _columns as columns
from biomux.formats import _table_read as table_read
from biomux.formats._format import Format, stop
from biomux.formats.entity_table import HOLDS, write_tsv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Document
    from biomux.errors import FormatError
    from biomux.formats._source import Source

_SUFFIXES = (".tsv", ".tab", ".txt")


def sniff(name: str, head: bytes) -> bool:
    """By its suffix, and several columns, one with a known name for a text."""
    header = table_read.header_of(head, delimiter="\t")
    return name.lower().endswith(_SUFFIXES) and len(header) > 1 and columns.has_text(header)


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    text: str | None = None,
    id: str | None = None,
    delimiter: str = "\t",
    quotes: bool | None = None,
) -> Iterator[Document]:
    """One document per row."""
    quoted = table_read.header_is_quoted(source.head()) if quotes is None else quotes
    return table_read.read(source, on_error=on_error, text=text, id=id, delimiter=delimiter, quotes=quoted)


FORMAT = Format(
    name="tsv",
    title="TSV: reads texts in named columns, writes a table of entities",
    suffixes=(".tsv", ".tab"),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write_tsv,
    one_way=True,
)
