"""A table of mentions, tab-separated: for people and for `cut` and `sort`. No format, since it does not hold the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.document import Document

NAME = "tsv"
COLUMNS = ("document", "start", "end", "type", "mention", "score", "head")


def write(documents: Iterable[Document], stream: BinaryIO, *, header: bool = True) -> None:
    """One line a mention, after a line of column names. Tabs and line ends in a cell are written as escapes."""
    if header:
        stream.write("\t".join(COLUMNS).encode() + b"\n")
    for document in documents:
        for span in document.spans:
            score = "" if span.score is None else f"{span.score:.4f}"
            cells = (document.id, span.start, span.end, span.type, document.mention(span), score, span.head or "")
            stream.write("\t".join(_cell(str(cell)) for cell in cells).encode("utf-8", "backslashreplace") + b"\n")


def _cell(text: str) -> str:
    """Text on one line, without anything that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
