"""The objects of a large JSON array, one at a time: a file of any size is read in flat memory.

The array is the whole file, or the value of a key of the top-level object. A scan that handles strings and escapes finds its
brackets; each object between them is parsed separately, so a broken one does not affect the others.

>>> from biomux.formats._source import of_bytes
>>> list(items(of_bytes("a.json", b'[{"id": 1},\\n {"id": 2}]')))
[(1, {'id': 1}), (2, {'id': 2})]
>>> list(items(of_bytes("a.json", b'{"version": 1, "data": [{"id": 1}]}'), key="data"))
[(1, {'id': 1})]
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.errors import FormatError
from biomux.formats._format import stop
from biomux.formats._source import MAX_LINE, decode
from biomux.formats._wide_encoding import refuse_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.formats._source import Source

MAX_ITEM = MAX_LINE
"""Maximum bytes of one object of an array, and of everything before or after the array."""
BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 20
# A whole string, or one structural character. A quote alone is a string whose end has not been read yet.
_SIGN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)


def items(
    source: Source,
    *,
    key: str | None = None,
    on_error: Callable[[FormatError], None] = stop,
    beside: Callable[[dict[str, Any]], None] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Each object (or array) in the array, with the number of the line that it begins on.

    With `key`, the file is an object, and the array is that key's value; `beside` gets the object's other fields: those before the array
    before the first item, those after it when all items have been read. An item that is not valid JSON goes to `on_error`;
    an array that does not end raises FormatError.
    """
    with source.open() as stream:
        scan = _Scan(source.name, stream)
        head = scan.up_to_array(key)
        if beside is not None and key is not None:
            beside(_fields(head + b"]}", source.name, 1, without=key))
        while (item := scan.next_item()) is not None:
            line, raw = item
            try:
                value = loads(raw, f"{source.name}:{line}")
            except FormatError as error:
                on_error(error)
                continue
            yield line, value
        line = scan.line
        tail = scan.rest()
        if key is None:
            if tail.strip():
                raise _broken(source.name, line, "something follows the end of the array")
        else:
            fields = _fields(b"{" + tail.lstrip().removeprefix(b","), source.name, line, without=None)
            if beside is not None and fields:
                beside(fields)


def loads(raw: bytes, where: str) -> Any:
    """Parse JSON; the error for invalid JSON or UTF-8 names the place."""
    import orjson

    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        decode(raw, where)
        raise FormatError("BX117", f"not valid JSON: {error.msg}", where=where, hint="repair the file") from None


def _fields(raw: bytes, name: str, line: int, *, without: str | None) -> dict[str, Any]:
    parsed = loads(raw, f"{name}:{line}")
    if not isinstance(parsed, dict):
        raise _broken(name, line, "there is something outside the object")
    return {field: value for field, value in parsed.items() if field != without}


def _broken(name: str, line: int, message: str) -> FormatError:
    return FormatError("BX117", message, where=f"{name}:{line}", hint="repair the file")


class _Scan:
    """A window over the bytes that moves from item to item."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self._name = name
        self._stream = stream
        first = stream.read(_CHUNK)
        refuse_wide(first, name)
        self._buffer = first.removeprefix(BOM)
        self._at = 0
        self.line = 1

    def up_to_array(self, key: str | None) -> bytes:
        """Move past the opening bracket of the array; returns everything up to and including it."""
        quoted_key = None if key is None else b'"' + key.encode() + b'"'
        depth, named = 0, False
        position = 0
        while True:
            for match in _SIGN.finditer(self._buffer, position):
                sign = match[0]
                if sign == b'"':
                    break
                if depth == 0 and sign != (b"[" if quoted_key is None else b"{"):
                    raise self._not_the_array(key)
                if sign == b"[" and (quoted_key is None or (depth == 1 and named)):
                    if quoted_key is None and self._buffer[: match.start()].strip():
                        raise self._not_the_array(key)
                    head = self._buffer[: match.end()]
                    self._move_to(match.end())
                    return head
                if sign in b"[{":
                    depth += 1
                elif sign in b"]}":
                    depth -= 1
                    if depth == 0:
                        raise self._not_the_array(key)
                named = depth == 1 and sign == quoted_key
                position = match.end()
            if not self._more():
                if self._buffer.strip() and depth:
                    raise _broken(self._name, 1, "the file ends before its array begins")
                raise self._not_the_array(key)

    def next_item(self) -> tuple[int, bytes] | None:
        """The next object with its line, or None at the end of the array."""
        depth, begin, position = 0, -1, self._at
        while True:
            for match in _SIGN.finditer(self._buffer, position):
                sign = match[0]
                if sign == b'"':
                    break
                position = match.end()
                if depth == 0:
                    self._only_comma(match.start())
                    if sign == b"]":
                        self._move_to(position)
                        return None
                    if sign not in (b"{", b"["):
                        raise _broken(self._name, self._line_at(match.start()), "the array must hold only objects")
                    begin, depth = match.start(), 1
                elif sign in (b"{", b"["):
                    depth += 1
                elif sign in (b"}", b"]"):
                    depth -= 1
                    if depth == 0:
                        self._move_to(begin)
                        raw = self._buffer[begin:position]
                        line = self.line
                        self._move_to(position)
                        return line, raw
            consumed = self._at
            if not self._more():
                raise _broken(self._name, self.line, "the file ends inside its array")
            shift = consumed - self._at
            position -= shift
            begin = begin - shift if begin >= 0 else -1

    def rest(self) -> bytes:
        """Everything after the array."""
        remaining = self._buffer[self._at :]
        while data := self._stream.read(_CHUNK):
            remaining += data
            if len(remaining) > MAX_ITEM:
                raise self._too_long()
        return remaining

    def _only_comma(self, until: int) -> None:
        between = self._buffer[self._at : until].strip()
        if between not in (b"", b","):
            raise _broken(self._name, self._line_at(until), "the array must hold only objects")

    def _line_at(self, position: int) -> int:
        return self.line + self._buffer.count(b"\n", self._at, position)

    def _move_to(self, position: int) -> None:
        self.line = self._line_at(position)
        self._at = position

    def _more(self) -> bool:
        """Read more: as much as is buffered, so that a long item is scanned a bounded number of times."""
        waiting = self._buffer[self._at :]
        if len(waiting) > MAX_ITEM:
            raise self._too_long()
        data = self._stream.read(max(_CHUNK, len(waiting)))
        if not data:
            return False
        self._buffer = waiting + data
        self._at = 0
        return True

    def _too_long(self) -> FormatError:
        return FormatError(
            "BX121", f"an item is longer than {MAX_ITEM:,} bytes", where=f"{self._name}:{self.line}", hint="split it"
        )

    def _not_the_array(self, key: str | None) -> FormatError:
        expected = "a JSON array" if key is None else f"a JSON object with an array under {key!r}"
        if not self._buffer.strip():
            return FormatError(
                "BX113",
                f"expected {expected}, but the file is empty",
                where=self._name,
                hint="export or download it again, or leave it out",
            )
        return FormatError("BX113", f"expected {expected}", where=self._name, hint="check the file's format")
