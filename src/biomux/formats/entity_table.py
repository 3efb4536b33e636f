"""Tables of entities, one row each: the output of CSV and TSV. They have no texts, so they cannot be read again.

The docstring of `tsv_table` describes the columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from biomux.formats._delimited import csv_line
from biomux.formats._format import Feature, Loss, features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document

COLUMNS = ("document", "start", "end", "type", "mention", "score", "head", "identifiers")
HOLDS: frozenset[Feature] = frozenset({"spans", "overlaps", "scores", "heads", "identifiers"})
SAID: frozenset[Feature] = frozenset({"fragments", "relations", "labels", "pair", "questions"})
"""Annotations of a document other than its entities: reported as lost. Losing the rest is part of losing the text."""
ELSEWHERE: dict[str, str] = {
    "relations": "the format relations has a table of them",
    "labels": "the format labels has a table of them",
}


def write_tsv(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Tab-separated, without quoting: for `cut`, `sort`, and any program that reads tables."""
    stream.writelines(_tsv_line(row) for row in _rows(documents, on_loss))


def write_rows(stream: BinaryIO, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Another table, tab-separated; characters that are not printable are escaped."""
    stream.write(_tsv_line(columns))
    stream.writelines(_tsv_line(one_line(str(cell)) for cell in row) for row in rows)


def _tsv_line(cells: Iterable[str]) -> bytes:
    return "\t".join(cells).encode("utf-8", "backslashreplace") + b"\n"


def write_csv(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Comma-separated, quoted where needed."""
    stream.writelines(csv_line([cell or None for cell in row], row[0]) for row in _rows(documents, on_loss))


def _rows(documents: Iterable[Document], on_loss: Callable[[Loss], None]) -> Iterator[list[str]]:
    yield list(COLUMNS)
    for document in documents:
        for feature, count in features(document).items():
            if feature in SAID:
                on_loss(Loss(document.id, feature, count, ELSEWHERE.get(feature, "")))
        for span in document.spans:
            score = "" if span.score is None else f"{span.score:.4f}"
            head, identifiers = span.head or "", ";".join(span.identifiers)
            mention = document.mention(span)
            cells = (document.id, span.start, span.end, span.type, mention, score, head, identifiers)
            yield [one_line(str(cell)) for cell in cells]


def one_line(text: str) -> str:
    """Text on one line, with control characters escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
