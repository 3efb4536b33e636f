"""Labels (classes and numbers) as a TSV table for other programs, a row each. It has no texts, so it is not read again.

| column | holds |
|---|---|
| `document` | the document's id |
| `start`, `end` | of a sentence's label, where it stands, in characters, end exclusive; empty for one of the whole document |
| `label` | the class, or what a number is of |
| `value` | the number; empty for a class |
| `score` | from 0 to 1, with four digits; empty where there is none |
| `head` | which head found it; empty where that is not known |
| `text` | the text that it is said of, for one with a place |

Tabs, line ends and other signs that do not print are written as escapes (`\\t`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from biomux.errors import FormatError
from biomux.formats._format import Feature, Format, Loss, stop
from biomux.formats.entity_table import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document
    from biomux.formats._source import Source

COLUMNS = ("document", "start", "end", "label", "value", "score", "head", "text")
HOLDS: frozenset[Feature] = frozenset({"labels"})


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """The header, and a row a label."""
    write_rows(stream, COLUMNS, (row for document in documents for row in _rows(document, on_loss)))


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """Refused: there are no texts in it."""
    del on_error
    raise FormatError(
        "BX110",
        "it is a table of labels, without their texts",
        where=source.name,
        hint="use a format that has both, such as jsonl",
    )


def _rows(document: Document, on_loss: Callable[[Loss], None]) -> Iterator[list[object]]:
    lost = {
        "spans": len(document.spans),
        "relations": len(document.relations),
        "questions": len(document.questions),
        "pair": int(document.pair is not None),
    }
    for feature, count in lost.items():
        if count:
            on_loss(Loss(document.id, feature, count))
    for label in document.labels:
        placed = label.start is not None and label.end is not None
        value, score = (
            "" if number is None else f"{number:.{digits}f}" if digits else f"{number:g}"
            for number, digits in ((label.value, 0), (label.score, 4))
        )
        place: list[object] = [label.start, label.end] if placed else ["", ""]
        text = document.text[label.start : label.end] if placed else ""
        yield [document.id, *place, label.name, value, score, label.head or "", text]


FORMAT = Format(
    name="labels",
    title="a TSV table of labels, written only",
    suffixes=(".labels.tsv",),
    holds=HOLDS,
    sniff=lambda name, head: head.startswith("\t".join(COLUMNS).encode()),  # noqa: ARG005
    read=read,
    write=write,
    one_way=True,
)
