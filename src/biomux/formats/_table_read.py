"""Tables with one text per row: shared by the readers of CSV and TSV.

Rows are split by Python's `csv` module. In CSV a cell may be quoted, as in RFC 4180; in TSV only if the header is.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from biomux.errors import FormatError
from biomux.formats import _columns as columns
from biomux.formats._delimited import csv_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Document
    from biomux.formats._source import Source

DELIMITERS = (",", ";", "\t", "|")
_BOM = "\ufeff"
_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None],
    text: str | None,
    id: str | None,
    delimiter: str,
    quotes: bool,
) -> Iterator[Document]:
    """One document per row. The first row names the columns, unless `text` is a number that is not a column's name: then columns are numbered from 1."""
    header: list[str] | None = None
    for number, row in csv_rows(source, on_error=on_error, delimiter=delimiter, quotes=quotes):
        where = f"{source.name}:{number}"
        if header is None:
            header = _header(row, text)
            columns.text_names(header, text, where=where, what="column")
            columns.id_field(header, id, where=where, what="column")
            if header == _named(row):
                continue  # else the columns have numbers, and the first row is data
        try:
            record = _record(header, row, where)
            document = columns.document(
                record, default=f"{source.stem}:{number}", where=where, text=text, id=id, what="column"
            )
        except FormatError as error:
            on_error(error)
            continue
        yield document


def header_of(head: bytes, *, delimiter: str | None = None) -> list[str]:
    """The cells of the first row, as far as the first bytes contain it."""
    line = _first_line(head)
    if line is None:
        return []
    return _named(next(csv.reader([line], delimiter=delimiter or delimiter_of(head)), []))


def delimiter_of(head: bytes) -> str:
    """The most frequent delimiter in the first line, outside quotes."""
    line = _QUOTED.sub("", _first_line(head) or "")
    return max(DELIMITERS, key=line.count)


def header_is_quoted(head: bytes) -> bool:
    """Whether every cell of the first row is in quotes, as R writes tables."""
    line = _first_line(head) or ""
    return line.startswith('"') and line.endswith('"') and len(line) > 1


def _first_line(head: bytes) -> str | None:
    lines = _LINE_END.split(head.decode("utf-8", "replace").removeprefix(_BOM))
    return next((line for line in lines if line.strip()), None)


def _header(row: list[str], text: str | None) -> list[str]:
    names = _named(row)
    requested = [name.strip() for name in (text or "").split(",")]
    if all(name.isdecimal() for name in requested) and not set(requested) & set(names):
        return [str(number) for number in range(1, len(row) + 1)]
    return names


def _named(row: list[str]) -> list[str]:
    """Names of columns; the column's number is added to a name that is empty or repeated."""
    names: list[str] = []
    for number, cell in enumerate(row, 1):
        name = cell.strip()
        names.append(name if name and name not in names else f"{name}{'_' if name else ''}{number}")
    return names


def _record(header: list[str], row: list[str], where: str) -> dict[str, str]:
    if len(row) != len(header):
        raise FormatError(
            "BX113",
            f"the row has {len(row)} cells, but the header has {len(header)}",
            where=where,
            hint="put cells that contain the delimiter or a line break in quotes, "
            "or describe the table with -O delimiter=C and -O quotes=true",
        )
    return dict(zip(header, row, strict=True))
