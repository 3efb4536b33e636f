"""The members of a large JSON object whose values are objects, one at a time: a file of any size is read in flat memory.

>>> from biomux.formats._source import of_bytes
>>> list(members(of_bytes("a.json", b'{"a": {"n": 1},\\n "b": {"n": 2}}')))
[(1, 'a', {'n': 1}), (2, 'b', {'n': 2})]
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from biomux.errors import FormatError
from biomux.formats._format import stop
from biomux.formats._json_array import BOM, MAX_ITEM, loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

_CHUNK = 1 << 20
# A whole string, or one structural character. A quote alone is a string whose end has not been read yet.
_SIGN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)


def members(
    source: Source, *, on_error: Callable[[FormatError], None] = stop
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Each member with the number of the line that it begins on.

    A member that is not valid JSON, or whose value is not an object, goes to `on_error`; an object that does not end raises FormatError.
    """
    for line, raw in _raw_members(source):
        where = f"{source.name}:{line}"
        try:
            parsed = loads(b"{" + raw + b"}", where)
            for key, value in parsed.items():
                if not isinstance(value, dict):
                    raise FormatError(
                        "BX113", f"{key!r} must be an object", where=where, hint="check the file's format"
                    )
        except FormatError as error:
            on_error(error)
            continue
        for key, value in parsed.items():
            yield line, key, value


def _raw_members(source: Source) -> Iterator[tuple[int, bytes]]:
    """The bytes of members, cut after each object or array that is a value; simple values stay with the next member."""
    with source.open() as stream:
        buffer = stream.read(_CHUNK).removeprefix(BOM)
        if not buffer.lstrip().startswith(b"{"):
            raise FormatError("BX113", "expected a JSON object", where=source.name, hint="check the file's format")
        position = buffer.index(b"{") + 1
        line = 1 + buffer.count(b"\n", 0, position)
        begin, depth = position, 1
        while True:
            for match in _SIGN.finditer(buffer, position):
                sign = match[0]
                if sign == b'"':
                    break
                position = match.end()
                if sign in (b"{", b"["):
                    depth += 1
                elif sign in (b"}", b"]"):
                    depth -= 1
                    last = depth == 0
                    if depth <= 1:
                        raw = buffer[begin : match.start() if last else position]
                        lead = len(raw) - len(raw.lstrip(b", \t\r\n"))
                        if raw.strip() and (not last or raw.strip() != b","):
                            yield line + raw.count(b"\n", 0, lead), raw.strip().removeprefix(b",")
                        line += raw.count(b"\n")
                        begin = position
                    if last:
                        _nothing_after(source, buffer[position:] + stream.read(MAX_ITEM))
                        return
            if len(buffer) - begin > MAX_ITEM:
                raise FormatError(
                    "BX121",
                    f"a member is longer than {MAX_ITEM:,} bytes",
                    where=f"{source.name}:{line}",
                    hint="split it",
                )
            data = stream.read(max(_CHUNK, len(buffer) - begin))
            if not data:
                raise FormatError(
                    "BX117", "the file ends inside its object", where=f"{source.name}:{line}", hint="download it again"
                )
            buffer = buffer[begin:] + data
            position -= begin
            begin = 0


def _nothing_after(source: Source, rest: bytes) -> None:
    if rest.strip():
        raise FormatError("BX117", "something follows the end of the object", where=source.name, hint="repair the file")
