"""Pairs of texts with a label or a score, one per row: TSV without quoting, CSV quoted as in RFC 4180, or JSON objects.

Columns are found by the names in the header, fields of objects (one per line, or an array) by their keys:

| column | names | goes to |
|---|---|---|
| `text` | text, sent1, sentence1, question_1, question1, premise, evidence | `Document.text` |
| `pair` | pair, sent2, sentence2, question_2, question2, hypothesis, claim | `Document.pair` |
| `label` | label, gold_label | `Label(name)` |
| `score` | score, similarity | `Label("similarity", value)`, or the value of the label if both are given |
| `id` | id, pair_id, pairID, index | `Document.id` |

That covers BIOSSES and the other BLUE and BLURB pairs, MedNLI as a table, and HealthVer's CSV. Other columns go to `metadata` as strings, other keys unchanged.
An empty label or score cell means none. Without a header, two columns are text and pair, three are text, pair and label, and
four are `dr_id`, text, pair and label (medical question pairs). Options name columns, by header or by position counted from 0, and
set `header` and `delimiter` if they should not be guessed. A document without an id column is named `<stem>:<n>`, n counted
from 1 over the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from biomux.document import Document, Label
from biomux.errors import FormatError, UsageError
from biomux.formats._delimited import cell, csv_line, first_rows, rows, tsv_line
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._joined_text import report_label_parts
from biomux.formats._pair_json import is_json, number_of, read_json, sniff_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"labels", "pair"})
"""Metadata are kept if they are text under keys that the first document has; the rest is reported as lost."""

NAMES: dict[str, tuple[str, ...]] = {
    "text": ("text", "sent1", "sentence1", "sentence_1", "question_1", "question1", "premise", "evidence"),
    "pair": ("pair", "sent2", "sentence2", "sentence_2", "question_2", "question2", "hypothesis", "claim"),
    "label": ("label", "gold_label"),
    "score": ("score", "similarity"),
    "id": ("id", "pair_id", "pairid", "index"),
}
BARE: dict[int, dict[str, int]] = {
    2: {"text": 0, "pair": 1},
    3: {"text": 0, "pair": 1, "label": 2},
    4: {"text": 1, "pair": 2, "label": 3},
}
"""Columns of a table without header, by their number."""
SIMILARITY = "similarity"


@dataclass(frozen=True, slots=True)
class _Columns:
    at: Mapping[str, int]
    """Role → position."""
    rest: Mapping[str, int]
    """Metadata key → position."""


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    text: str | int | None = None,
    pair: str | int | None = None,
    label: str | int | None = None,
    score: str | int | None = None,
    id: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Iterator[Document]:
    """One document per row."""
    requested = {"text": text, "pair": pair, "label": label, "score": score, "id": id}
    if is_json(source.head()):
        yield from read_json(source, requested, NAMES, on_error=on_error)
        return
    table = rows(source, delimiter=delimiter or _delimiter(source.head()))
    first = next(table, None)
    if first is None:
        return
    has_header = _is_header(first[1], requested) if header is None else header
    columns = _columns(first[1], requested, has_header, f"{source.name}:{first[0]}")
    stem = source.stem
    number = 0
    if not has_header:
        number = 1
        yield from _safely(columns, first, len(first[1]), f"{stem}:1", source.name, on_error)
    for row in table:
        number += 1
        yield from _safely(columns, row, len(first[1]), f"{stem}:{number}", source.name, on_error)


def write(
    documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None], delimiter: str = ","
) -> None:
    """CSV with the header `id,text,pair,label,score` and the metadata keys of the first document; TSV with `delimiter="\\t"`."""
    keys: list[str] | None = None
    for document in documents:
        if keys is None:
            keys = _metadata_columns(document)
            stream.write(_line(["id", "text", "pair", "label", "score", *keys], document.id, delimiter))
        stream.write(_line(_cells(document, keys, on_loss), document.id, delimiter))
    if keys is None:
        stream.write(_line(["id", "text", "pair", "label", "score"], "", delimiter))


def _sniff(name: str, head: bytes) -> bool:
    if is_json(head):
        return sniff_json(head, NAMES)
    if name.endswith((".json", ".jsonl", ".xml")) or head.lstrip()[:1] == b"<":
        return False
    table = first_rows(head, delimiter=_delimiter(head))
    if not table:
        return False
    if _is_header(table[0], {}):
        return True
    bare = (row for row in table[:20])
    return name.endswith(".csv") and all(len(row) == 4 and row[0].isdigit() and row[3] in ("0", "1") for row in bare)


def _delimiter(head: bytes) -> str:
    return "\t" if b"\t" in head.split(b"\n", 1)[0] else ","


def _find(row: list[str], role: str) -> int | None:
    names = [name.strip().lower() for name in row]
    return next((names.index(name) for name in NAMES[role] if name in names), None)


def _is_header(row: list[str], requested: Mapping[str, str | int | None]) -> bool:
    requested_names = [name for name in requested.values() if isinstance(name, str) and not name.isdigit()]
    if requested_names:
        return all(name in row for name in requested_names)
    return _find(row, "text") is not None and _find(row, "pair") is not None


def _columns(row: list[str], requested: Mapping[str, str | int | None], has_header: bool, where: str) -> _Columns:
    at: dict[str, int] = {}
    for role, name in requested.items():
        if name is not None:
            at[role] = _position(row, role, name, has_header, where)
    if has_header:
        for role in NAMES:
            position = _find(row, role) if role not in at else None
            if position is not None and position not in at.values():
                at[role] = position
    elif not at:
        at = dict(BARE.get(len(row), {}))
    for role in ("text", "pair"):
        if role not in at:
            raise FormatError(
                "BX116",
                f"cannot find the column {role!r} among {row[:8]}",
                where=where,
                hint=f"name it: {role}=COLUMN, by header or by position from 0",
            )
    used = set(at.values())
    names = row if has_header else ["dr_id" if len(row) == 4 else f"column {number}" for number in range(len(row))]
    return _Columns(at, {name: number for number, name in enumerate(names) if number not in used})


def _position(row: list[str], role: str, name: str | int, has_header: bool, where: str) -> int:
    if has_header and isinstance(name, str) and name in row:
        return row.index(name)
    if isinstance(name, int) or name.isdigit():
        if int(name) < 0:
            raise UsageError("BX001", f"the column for {role!r} must be 0 or more, got {name}")
        if int(name) < len(row):
            return int(name)
    raise FormatError(
        "BX116", f"there is no column {name!r} for {role!r}", where=where, hint=f"the first row is {row[:8]}"
    )


def _safely(
    columns: _Columns,
    numbered: tuple[int, list[str]],
    width: int,
    default_id: str,
    name: str,
    on_error: Callable[[FormatError], None],
) -> Iterator[Document]:
    line, row = numbered
    try:
        document = _document(columns, row, width, default_id, f"{name}:{line}")
    except FormatError as error:
        on_error(error)
        return
    yield document


def _document(columns: _Columns, row: list[str], width: int, default_id: str, where: str) -> Document:
    if len(row) != width:
        raise FormatError(
            "BX116",
            f"the row has {len(row)} columns, but the first has {width}",
            where=where,
            hint="check the delimiter and the quoting",
        )
    at = columns.at
    label = row[at["label"]] if "label" in at else ""
    score = number_of(row[at["score"]], where) if "score" in at else None
    labels = (Label(label or SIMILARITY, value=score),) if label or score is not None else ()
    return Document(
        row[at["id"]] if "id" in at else default_id,
        cell(row, at["text"], "text", where),
        pair=cell(row, at["pair"], "pair", where),
        labels=labels,
        metadata={key: row[n] for key, n in columns.rest.items() if row[n]},
    )


def _metadata_columns(document: Document) -> list[str]:
    column_names = {name for names in NAMES.values() for name in names}
    return [
        key
        for key, value in document.metadata.items()
        if isinstance(value, str) and key.strip().lower() not in column_names
    ]


def _cells(document: Document, keys: list[str], on_loss: Callable[[Loss], None]) -> list[str | None]:
    if document.pair is None:
        raise FormatError(
            "BX120",
            "the document has no second text, which a pair needs",
            where=f"document {document.id!r}",
            hint="write to jsonl instead",
        )
    report_losses(document, HOLDS | {"metadata"}, on_loss)
    report_label_parts(document, on_loss, value=True)
    label = next((label for label in document.labels if _writable(label)), None)
    if len(document.labels) > (label is not None):
        lost = len(document.labels) - (label is not None)
        on_loss(Loss(document.id, "labels", lost, "a row has one label, of the whole pair"))
    kept_keys = {key for key in keys if isinstance(document.metadata.get(key), str) and document.metadata[key]}
    if len(kept_keys) < len(document.metadata):
        lost_keys = sorted(set(document.metadata) - kept_keys)
        on_loss(
            Loss(document.id, "metadata", len(lost_keys), f"not text, or not in the header: {', '.join(lost_keys[:5])}")
        )
    name, value = (label.name, label.value) if label else (None, None)
    return [
        document.id,
        document.text,
        document.pair,
        None if name == SIMILARITY and value is not None else name,
        None if value is None else repr(value),
        *(document.metadata[key] if key in kept_keys else None for key in keys),
    ]


def _writable(label: Label) -> bool:
    finite = label.value is None or math.isfinite(label.value)
    return label.start is None and label.end is None and bool(label.name) and finite


def _line(cells: list[str] | list[str | None], document: str, delimiter: str) -> bytes:
    if delimiter == ",":
        return csv_line(cells, document)
    return tsv_line([item or "" for item in cells], document)


FORMAT = Format(
    name="pairs",
    title="pairs of texts, TSV, CSV or JSON objects",
    suffixes=(".pairs.csv",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
