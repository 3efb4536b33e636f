"""Biomux's own JSON lines: one document per line, nothing lost. docs/reference/jsonl.md is the specification."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, get_args

from biomux.document.record_read import MalformedError, document_of
from biomux.document.record_write import record
from biomux.errors import DocumentError, FormatError
from biomux.formats._format import Feature, Format, Loss
from biomux.formats._json_lines import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document
    from biomux.formats._source import Source

_LINE_VERSION = re.compile(rb'"biomux"\s*:\s*\d')


def sniff(name: str, head: bytes) -> bool:
    """An object whose first line has the version; an empty file is recognised by its name."""
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not first:
        return name.endswith(".jsonl")
    return first.startswith(b"{") and _LINE_VERSION.search(first) is not None


def read(source: Source, *, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
    """One document per line; blank lines are skipped. A line of a later version always raises FormatError."""
    for number, value in values(source, on_error=on_error):
        try:
            document = document_of(value)
        except MalformedError as bad:
            failure = FormatError(bad.code, bad.message, where=f"{source.name}:{number}", hint=bad.hint)
            if bad.code == "BX122":
                raise failure from None
            on_error(failure)
        except DocumentError as error:
            code = "BX114" if error.code == "BX101" else "BX113"
            where = f"{source.name}:{number} ({error.where})"
            on_error(FormatError(code, error.message, where=where, hint=error.hint))
        else:
            yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Nothing is lost, so `on_loss` is never called."""
    del on_loss
    stream.writelines(line(document) for document in documents)


def line(document: Document) -> bytes:
    """One document as a line, with its line feed."""
    import orjson

    try:
        return orjson.dumps(record(document), option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise FormatError(
            "BX120",
            f"cannot write as JSON: {error}",
            where=f"document {document.id!r}",
            hint="text must be free of lone surrogates, and metadata must be JSON with integers of at most 64 bits",
        ) from None


FORMAT = Format(
    name="jsonl",
    title="Biomux JSON lines",
    suffixes=(".jsonl",),
    holds=frozenset(get_args(Feature)),
    sniff=sniff,
    read=read,
    write=write,
)
