"""One text a line, strict UTF-8: what the option `by=line` of [text](#text) reads, under a name of its own (`--from lines`).

A document is called `<stem>:<number of the line>`; blank lines are passed over. A `.txt` file is one document unless this format is named: `biomux` says so
where its lines look like a document each.
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
"""So many lines of a file may each be a document; fewer may well be the paragraphs of one."""

_SENTENCE_END = re.compile(r"[.!?][\"')\]”’]*$")


def sniff(name: str, head: bytes) -> bool:
    """By its suffix alone: nothing else tells such a file from a text."""
    del head
    return name.endswith(".lines")


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """A document a line that is not blank."""
    return text.read(source, on_error=on_error, by="line")


def look_like_documents(head: bytes) -> int:
    """How many lines there are among the first bytes of a text, if they look like a document each; else 0.

    Such lines follow one another without blank ones between, and end as sentences do or are longer than lines that were wrapped.
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
    title="one text a line",
    suffixes=(".lines",),
    holds=frozenset(),
    sniff=sniff,
    read=read,
)
