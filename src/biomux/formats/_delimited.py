"""Rows of tables: tab-separated without quoting, or comma-separated with the quoting of RFC 4180; one row in memory at a time.

>>> from biomux.formats._source import of_bytes
>>> list(rows(of_bytes("a.csv", b'1,"a, b","a ""b"" c"\\r\\n'), delimiter=","))
[(1, ['1', 'a, b', 'a "b" c'])]
>>> list(rows(of_bytes("a.tsv", b'1\\t"a\\n'), delimiter="\\t"))
[(1, ['1', '"a'])]
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Literal

from biomux.errors import FormatError
from biomux.formats._format import stop
from biomux.formats._source import MAX_LINE, decode, lines
from biomux.formats._wide_encoding import refuse_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from biomux.formats._source import Source

BOM = b"\xef\xbb\xbf"
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$|^$')


def rows(source: Source, *, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of its first line. Cells may be quoted if the delimiter is a comma, and only then.

    Empty lines are skipped.
    """
    if delimiter == ",":
        yield from csv_rows(source)
        return
    for number, line in lines(source):
        if line:
            yield number, line.split(delimiter)


def first_rows(head: bytes, *, delimiter: str) -> list[list[str]]:
    """The complete rows in the first bytes of a file, for recognising it; empty if the bytes are not such a table."""
    from biomux.formats._source import of_bytes

    whole = head[: head.rfind(b"\n") + 1] or head
    complete_rows: list[list[str]] = []
    try:
        # Not a comprehension: rows before a truncated cell count.
        for _, row in rows(of_bytes("head", whole), delimiter=delimiter):
            complete_rows.append(row)
    except FormatError:
        pass
    return complete_rows


def tsv_line(cells: Iterable[str], document: str) -> bytes:
    """One row, tab-separated; a cell with a tab or a line break is refused."""
    row = list(cells)
    for cell in row:
        if "\t" in cell or "\n" in cell or "\r" in cell:
            raise FormatError(
                "BX120",
                f"cannot write {cell[:40]!r} to a table without quotes: it contains a tab or line break",
                where=f"document {document!r}",
                hint="write to jsonl, or to pairs in CSV",
            )
    return to_utf8("\t".join(row) + "\n", document)


def csv_line(cells: Iterable[str | None], document: str) -> bytes:
    """One row, comma-separated, quoted where needed; None is an empty cell without quotes."""
    return to_utf8(",".join("" if cell is None else _quote(cell) for cell in cells) + "\n", document)


def to_utf8(text: str, document: str) -> bytes:
    """The bytes of a text; half of a surrogate pair is refused."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError(
            "BX120",
            "the text has half of a surrogate pair, which UTF-8 cannot represent",
            where=f"document {document!r}",
            hint="repair the text",
        ) from None


def cell(row: Sequence[str], column: int, what: str, where: str) -> str:
    """A cell that must exist."""
    if column >= len(row):
        raise FormatError(
            "BX116",
            f"the row has {len(row)} columns, so there is no {what} in column {column + 1}",
            where=where,
            hint="check the delimiter and the columns",
        )
    return row[column]


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell


def csv_rows(
    source: Source, *, on_error: Callable[[FormatError], None] = stop, delimiter: str = ",", quotes: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of the line that it begins on, by Python's `csv` module; malformed rows go to `on_error`."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    first: int | None = None

    def numbered() -> Iterator[str]:
        nonlocal first
        for number, line in raw_lines(source, on_error=on_error):
            first = first or number
            yield line

    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    reader = csv.reader(numbered(), delimiter=delimiter, quoting=quoting, strict=True)
    while True:
        first = None
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            on_error(_not_csv(str(error), f"{source.name}:{first or 1}"))
            continue
        if row:
            yield first or 1, row


def _not_csv(reason: str, where: str) -> FormatError:
    if "field limit" in reason:
        return _too_long(where)
    if "end of data" in reason:
        return FormatError("BX113", "a quoted cell is not closed", where=where, hint="add the closing quote")
    if "expected after" in reason:
        hint = 'a quote inside a quoted cell is written twice: ""; -O quotes=false reads quotes as ordinary characters'
        return FormatError("BX113", "a cell continues after its closing quote", where=where, hint=hint)
    if "new-line character" in reason:
        hint = "if lines end in CR, as in old Mac files, convert them first: tr '\\r' '\\n'; a CR inside a cell needs quotes"
        return FormatError("BX113", "there is a carriage return outside quotes", where=where, hint=hint)
    return FormatError(
        "BX113", f"the row is not valid CSV: {reason}", where=where, hint="check its quotes and line breaks"
    )


def raw_lines(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[tuple[int, str]]:
    """Lines with their numbers and line breaks: inside quotes, a line break belongs to the cell. A line that is not UTF-8 goes to `on_error`; a UTF-16 or UTF-32 file is refused."""
    refuse_wide(source.head(), source.name)
    with source.open() as stream:
        number = 0
        while raw := stream.readline(MAX_LINE + 1):
            number += 1
            where = f"{source.name}:{number}"
            if len(raw) > MAX_LINE:
                raise _too_long(where)
            try:
                line = decode(raw.removeprefix(BOM) if number == 1 else raw, where)
            except FormatError as error:
                on_error(error)
                continue
            yield number, line


def _too_long(where: str) -> FormatError:
    return FormatError("BX121", f"a record is longer than {MAX_LINE:,} bytes", where=where, hint="split it")
