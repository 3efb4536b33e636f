"""HTML: one page that shows documents with their entities, for people to read. Write-only.

Entities are underlined in the colour of their type and followed by its name; overlapping entities have their lines one below the other. Relations, labels and answers are
listed below each text, and types can be hidden. The page needs no other file and no network, so it can be mailed, and follows the reader's dark mode.
Use another format for programs: this one cannot be read again.
"""

from __future__ import annotations

import shutil
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO

from biomux.document import html
from biomux.errors import FormatError
from biomux.formats._format import Feature, Format, Loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document
    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset(
    {"spans", "overlaps", "fragments", "identifiers", "scores", "heads", "relations", "labels", "pair", "questions"}
)
IN_MEMORY = 8_000_000
"""Maximum bytes of articles in memory; more go to a temporary file until all types, which are listed first, are known."""


def read(source: Source, *, on_error: Callable[[FormatError], None]) -> Iterator[Document]:
    """Always refused: a page is for people."""
    del on_error
    raise FormatError(
        "BX110", "HTML can only be written, not read", where=source.name, hint="read what the page was made from"
    )


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """One page; memory does not grow with it."""
    types = html.Types()
    count = 0
    with SpooledTemporaryFile(IN_MEMORY) as waiting:
        for document in documents:
            if unshown := html.unshown(document):
                on_loss(
                    Loss(
                        document.id, "text", unshown, "characters that a browser does not show are replaced by symbols"
                    )
                )
            waiting.write(html.article(document, types).encode())
            count += 1
        stream.write(html.page_head(types, documents=count, title="Annotated documents").encode())
        waiting.seek(0)
        shutil.copyfileobj(waiting, stream)
    stream.write(html.page_foot().encode())


FORMAT = Format(
    name="html",
    title="A page for people, with entities underlined",
    suffixes=(".html", ".htm"),
    holds=HOLDS,
    sniff=lambda _name, _head: False,
    read=read,
    write=write,
    one_way=True,
    readable=False,
)
