"""Masked relation sentences, one per row: GAD, EU-ADR, and the relation tasks of BLUE and BLURB.

    index⇥sentence⇥label
    0⇥Variants of @GENE$ were found in @DISEASE$.⇥1

Tab-separated, no quoting. With a header the columns are found by name; without one they are `sentence, label` or
`index, sentence, label` (BioBERT's fold files have the first, their test files a header). The text is unchanged, tags included: it is what a
model reads. Each tag is also a span, typed by its name (`GENE`), so that the places of the arguments are known. The label
applies to the whole document. An empty label cell means none; a table without a label column is unlabelled. Without an index a
document is named `<stem>:<n>`, n counted from 1 over the rows.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from biomux.document import Document, Label, Span
from biomux.errors import FormatError
from biomux.formats._delimited import cell, first_rows, rows, tsv_line
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._joined_text import report_label_parts
from biomux.formats.pairs import NAMES as PAIR_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"labels"})
"""Spans are kept only if they are the tags themselves."""
TAG = re.compile(r"@([A-Za-z][\w-]*)\$")

_HEADER = {"index": "index", "id": "index", "sentence": "sentence", "text": "sentence", "label": "label"}
_BARE: dict[int, dict[str, int]] = {2: {"sentence": 0, "label": 1}, 3: {"index": 0, "sentence": 1, "label": 2}}


def read(
    source: Source, *, on_error: Callable[[FormatError], None] = stop, header: bool | None = None
) -> Iterator[Document]:
    """One document per row; `header` says whether the first row is a header, if this should not be guessed."""
    columns: Mapping[str, int] = {}
    number = 0
    stem = source.stem
    for line, row in rows(source, delimiter="\t"):
        where = f"{source.name}:{line}"
        if not columns:
            by_header = _named(row)
            has_header = "sentence" in by_header if header is None else header
            columns = by_header if has_header else _BARE.get(len(row), {})
            if "sentence" not in columns:
                raise FormatError(
                    "BX116",
                    f"cannot find the column with the sentence among {row[:4]}",
                    where=where,
                    hint="give a header with index, sentence, label, or two or three columns without one",
                )
            if has_header:
                width = len(row)
                continue
            width = len(row)
        number += 1
        try:
            document = _document(row, columns, width, f"{stem}:{number}", where)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def tags(text: str) -> tuple[Span, ...]:
    """The masks of a text, typed by their names.

    >>> tags("@GENE$ in @DISEASE$")
    (Span(start=0, end=6, type='GENE', ...), Span(start=10, end=19, type='DISEASE', ...))
    """
    return tuple(Span(match.start(), match.end(), match[1]) for match in TAG.finditer(text))


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """One row per document, under the header `index, sentence, label`."""
    stream.write(b"index\tsentence\tlabel\n")
    for document in documents:
        tag_spans = tags(document.text)
        other_spans = tuple(span for span in document.spans if span not in tag_spans)
        report_losses(replace(document, spans=other_spans, relations=()), HOLDS, on_loss)
        if document.relations:
            on_loss(Loss(document.id, "relations", len(document.relations)))
        if not set(tag_spans) <= set(document.spans):
            on_loss(Loss(document.id, "spans", len(tag_spans), "a tag in the text is read as a span"))
        report_label_parts(document, on_loss)
        label = next((label for label in document.labels if label.start is None and label.name), None)
        lost = len(document.labels) - (label is not None)
        if lost:
            on_loss(Loss(document.id, "labels", lost, "a row has one label, of the whole sentence"))
        stream.write(tsv_line([document.id, document.text, label.name if label else ""], document.id))


def _named(row: list[str]) -> dict[str, int]:
    return {
        _HEADER[name.strip().lower()]: position for position, name in enumerate(row) if name.strip().lower() in _HEADER
    }


def _document(row: list[str], columns: Mapping[str, int], width: int, default_id: str, where: str) -> Document:
    if len(row) != width:
        raise FormatError(
            "BX116", f"the row has {len(row)} columns, but the first has {width}", where=where, hint="check its tabs"
        )
    text = cell(row, columns["sentence"], "sentence", where)
    label = row[columns["label"]] if "label" in columns else ""
    return Document(
        row[columns["index"]] if "index" in columns else default_id,
        text,
        spans=tags(text),
        labels=(Label(label),) if label else (),
    )


def _sniff(name: str, head: bytes) -> bool:
    if name.endswith((".json", ".jsonl", ".xml")) or b"\t" not in head:
        return False
    table = first_rows(head, delimiter="\t")
    if not table:
        return False
    columns = _named(table[0])
    if {"sentence", "label"} <= set(columns):
        return not _is_other_table(name, table)
    return all(len(row) == len(table[0]) and len(row) in _BARE and TAG.search("\t".join(row)) for row in table)


def _is_other_table(name: str, table: list[list[str]]) -> bool:
    """Whether a table with texts and labels is one of pairs, or a plain table: its text column is `text`, and no row has a tag."""
    header = {cell.strip().lower() for cell in table[0]}
    if header & set(PAIR_NAMES["text"]) and header & set(PAIR_NAMES["pair"]):
        return True
    return (
        "text" in header
        and name.lower().endswith((".tsv", ".tab"))
        and not name.endswith(FORMAT.suffixes)
        and not any(TAG.search(cell) for row in table[1:] for cell in row)
    )


FORMAT = Format(
    name="relation-tsv",
    title="masked relation sentences, TSV (GAD, EU-ADR, BLUE)",
    suffixes=(".relation.tsv",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
