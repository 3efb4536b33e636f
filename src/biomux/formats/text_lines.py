"""One text per line, strict UTF-8: the same as [text](#text) with the option `by=line`, under its own name (`--from lines`).

A document is named `<stem>:<line number>`; blank lines are skipped. A `.txt` file is one document unless this format is named: `biomux` prints a hint
if each of its lines looks like a document.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.formats import text
from biomux.formats._format import Format, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.document import Document
    from biomux.errors import FormatError
    from biomux.formats._source import Source

MANY = 8
"""How many lines a file must have for each to be a document; fewer may be the paragraphs of one."""

_SENTENCE_END = re.compile(r"[.!?][\"')\]”’]*$")


def sniff(name: str, head: bytes) -> bool:
    """By its suffix alone: nothing else distinguishes such a file from a text."""
    del head
    return name.endswith(".lines")


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per line that is not blank."""
    return text.read(source, on_error=on_error, by="line")


def look_like_documents(head: bytes) -> int:
    """How many lines there are in the first bytes of a text, if each looks like a document; else 0.

    Such lines have few blank lines between them, and most end like sentences or are longer than wrapped lines.
    """
    lines = [line.strip() for line in head.decode("utf-8", "ignore").split("\n")[:-1]]
    filled = [line for line in lines if line]
    if len(filled) < MANY or len(filled) < 0.8 * len(lines) or sum(" " in line for line in filled) < 0.8 * len(filled):
        return 0
    ended = sum(_SENTENCE_END.search(line) is not None for line in filled)
    long = sum(len(line) > 160 for line in filled)
    return len(filled) if max(ended, long) >= 0.8 * len(filled) else 0


FORMAT = Format(
    name="lines",
    title="one text per line",
    suffixes=(".lines",),
    holds=frozenset(),
    sniff=sniff,
    read=read,
)
