"""The values of a JSON lines file, one at a time: shared by Biomux's own format, doccano and Prodigy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.errors import FormatError
from biomux.formats._source import MAX_LINE, decode
from biomux.formats._wide_encoding import refuse_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orjson import JSONDecodeError

    from biomux.formats._source import Source


def values(source: Source, *, on_error: Callable[[FormatError], None]) -> Iterator[tuple[int, Any]]:
    """Each line's value with the line's number. Blank lines are skipped; a line that is not JSON goes to `on_error`."""
    import orjson

    loads = orjson.loads
    number = 0
    with source.open() as stream:
        while raw := stream.readline(MAX_LINE + 1):
            number += 1
            if len(raw) > MAX_LINE:
                raise FormatError(
                    "BX121",
                    f"the line is longer than {MAX_LINE:,} bytes",
                    where=f"{source.name}:{number}",
                    hint="split it",
                )
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                value = loads(raw)
            except orjson.JSONDecodeError as error:
                if raw.strip():
                    on_error(_not_json(raw, error, f"{source.name}:{number}"))
                continue
            yield number, value


def _not_json(raw: bytes, error: JSONDecodeError, where: str) -> FormatError:
    try:
        refuse_wide(raw, where)
        decode(raw, where)
    except FormatError as encoding_error:
        return encoding_error
    hint = "the file may be truncated" if not raw.endswith(b"\n") else "give one JSON object per line"
    if rb"\ud" in raw.lower():
        hint = r"a lone surrogate such as \ud800 is not a character; remove it"
    # orjson counts lines within the line: only the character is of use.
    reason = error.msg if error.pos >= len(raw.decode().rstrip()) else f"{error.msg} at character {error.pos + 1}"
    return FormatError("BX117", f"the line is not valid JSON: {reason}", where=where, hint=hint)
