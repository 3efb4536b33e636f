"""Rows of tables: tab-separated without quoting, or comma-separated with the quoting of RFC 4180; one row in memory at a time.

>>> from biomux.formats._source import of_bytes
>>> list(rows(of_bytes("a.csv", b'1,"a, b","a ""b"" c"\\r\\n'), delimiter=","))
[(1, ['1', 'a, b', 'a "b" c'])]
>>> list(rows(of_bytes("a.tsv", b'1\\t"a\\n'), delimiter="\\t"))
[(1, ['1', '"a'])]
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.errors import FormatError
from biomux.formats._format import stop
from biomux.formats._source import MAX_LINE, decode, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from biomux.formats._source import Source

BOM = b"\xef\xbb\xbf"
_UP_TO_QUOTE = re.compile(r'(?:[^"]++|"")*+')
"""The inside of a quoted cell, as far as the line goes."""
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$|^$')


def rows(source: Source, *, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of its first line. A comma brings quoting with it, any other delimiter none.

    A line that is wholly empty is no row.
    """
    if delimiter == ",":
        yield from _quoted(source)
        return
    for number, line in lines(source):
        if line:
            yield number, line.split(delimiter)


def first_rows(head: bytes, *, delimiter: str) -> list[list[str]]:
    """The whole rows in the first bytes of a file, for recognising it; none if the bytes are not such a table."""
    from biomux.formats._source import of_bytes

    whole = head[: head.rfind(b"\n") + 1] or head
    found: list[list[str]] = []
    try:
        # Not a comprehension: what came before a cell that is cut counts.
        for _, row in rows(of_bytes("head", whole), delimiter=delimiter):
            found.append(row)
    except FormatError:
        pass
    return found


def tsv_line(cells: Iterable[str], document: str) -> bytes:
    """One row, tab-separated; a cell with a tab or a line end cannot be held."""
    row = list(cells)
    for cell in row:
        if "\t" in cell or "\n" in cell or "\r" in cell:
            raise FormatError(
                "BX120",
                f"a tab or line end in {cell[:40]!r} cannot be held by a table without quoting",
                where=f"document {document!r}",
                hint="write to jsonl, or to pairs in CSV",
            )
    return to_utf8("\t".join(row) + "\n", document)


def csv_line(cells: Iterable[str | None], document: str) -> bytes:
    """One row, comma-separated, quoted where needed; None is an empty cell without quotes."""
    return to_utf8(",".join("" if cell is None else _quote(cell) for cell in cells) + "\n", document)


def to_utf8(text: str, document: str) -> bytes:
    """The bytes of a text; half a surrogate pair has none."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError(
            "BX120",
            "the text has half a surrogate pair, which UTF-8 cannot hold",
            where=f"document {document!r}",
            hint="repair the text",
        ) from None


def cell(row: Sequence[str], column: int, what: str, where: str) -> str:
    """A cell that must be there."""
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


def _quoted(source: Source) -> Iterator[tuple[int, list[str]]]:
    raw = raw_lines(source)
    for number, line in raw:
        if line.rstrip("\r\n"):
            yield number, _row(number, line, raw, source.name)


def raw_lines(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[tuple[int, str]]:
    """Lines with their ends: inside quotes these belong to the cell. A line that is not UTF-8 goes to `on_error`."""
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


def _row(number: int, line: str, more: Iterator[tuple[int, str]], name: str) -> list[str]:
    cells: list[str] = []
    at = 0
    while True:
        if line.startswith('"', at):
            content, line, at = _quoted_cell(number, line, at + 1, more, name)
            body = len(line.removesuffix("\n").removesuffix("\r"))
            if at < body and line[at] != ",":
                raise FormatError(
                    "BX113",
                    f"something follows the closing quote of cell {len(cells) + 1}",
                    where=f"{name}:{number}",
                    hint='a quote inside a quoted cell is written twice: ""',
                )
        else:
            body = len(line.removesuffix("\n").removesuffix("\r"))
            end = line.find(",", at, body)
            content, at = line[at : end if end >= 0 else body], end if end >= 0 else body
        cells.append(content)
        if at >= body:
            return cells
        at += 1


def _quoted_cell(number: int, line: str, at: int, more: Iterator[tuple[int, str]], name: str) -> tuple[str, str, int]:
    """The content of a quoted cell, the line that it ends on, and where in that line."""
    parts: list[str] = []
    size = 0
    while True:
        found = _UP_TO_QUOTE.match(line, at)
        end = found.end() if found else at
        parts.append(line[at:end].replace('""', '"'))
        if end < len(line):
            return "".join(parts), line, end + 1
        size += end - at
        if size > MAX_LINE:
            raise _too_long(f"{name}:{number}")
        following = next(more, None)
        if following is None:
            raise FormatError(
                "BX113", "a quoted cell does not end", where=f"{name}:{number}", hint="add the closing quote"
            )
        line, at = following[1], 0


def _too_long(where: str) -> FormatError:
    return FormatError("BX121", f"a record is longer than {MAX_LINE:,} bytes", where=where, hint="split it")
