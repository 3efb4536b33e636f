"""CSV: reads texts in named columns, writes a table of entities.

Reading. The first row names the columns. The text is in a column called `text`, or in `title` and `abstract`, joined by a line feed as passages, or in
`sentence`, `content`, `body`, `passage` or `paragraph`; the id is in `id`, `pmid`, `doc_id`, `pmcid`, `doi` and the like. `--text NAME` and `--id NAME` choose other columns;
for a text in several columns use commas: `--text title,abstract`. If the first row is already data, use numbers: `--id 1 --text 2`. All other columns
become metadata. A row without an id is named `<stem>:<line>`. The delimiter is a comma, semicolon, tab or vertical bar, whichever is most frequent in the first row
(option `delimiter`). A cell may be quoted, as in RFC 4180 (option `quotes`).

Writing. One row per entity, without texts: see [tsv](#tsv) for the columns. Use another format to keep texts and entities together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.formats import _columns as columns
from biomux.formats import _table_read as table_read
from biomux.formats._format import Format, stop
from biomux.formats.entity_table import HOLDS, write_csv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Document
    from biomux.errors import FormatError
    from biomux.formats._source import Source


def sniff(name: str, head: bytes) -> bool:
    """By its suffix, and a column with a known name for a text."""
    return name.lower().endswith(".csv") and columns.has_text(table_read.header_of(head))


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    text: str | None = None,
    id: str | None = None,
    delimiter: str | None = None,
    quotes: bool = True,
) -> Iterator[Document]:
    """One document per row."""
    separator = delimiter or table_read.delimiter_of(source.head())
    return table_read.read(source, on_error=on_error, text=text, id=id, delimiter=separator, quotes=quotes)


FORMAT = Format(
    name="csv",
    title="CSV: reads texts in named columns, writes a table of entities",
    suffixes=(".csv",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write_csv,
    one_way=True,
)
