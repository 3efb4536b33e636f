"""Tables of pairs with the answers of heads, one row each: the output of `pairs-tsv` and `pairs-csv`.

Columns depend on all documents (which heads answered, which metadata there are), so rows are kept in a temporary file until the last document.
"""

from __future__ import annotations

import json
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO

from biomux.errors import FormatError
from biomux.formats import pairs
from biomux.formats._delimited import csv_line
from biomux.formats._format import Feature, Format, Loss, features
from biomux.formats.entity_table import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document, Label
    from biomux.formats._format import Writer

HOLDS: frozenset[Feature] = frozenset({"labels", "pair"})
SAID: frozenset[Feature] = frozenset({"spans", "relations", "questions"})
"""Annotations of a document other than its labels: reported as lost."""
FIRST = ("id", "text", "pair")
IN_MEMORY = 1 << 22
"""Maximum bytes of rows in memory; more go to a temporary file."""


def pair_table(kind: str, write: Writer) -> Format:
    """The format of such a table: `kind` is tsv or csv."""
    return Format(
        name=f"pairs-{kind}",
        title=f"pairs of texts with the heads' answers, a {kind.upper()} table",
        suffixes=(f".answered-pairs.{kind}",),
        holds=HOLDS,
        sniff=lambda name, head: False,  # noqa: ARG005  # it is read as `pairs`
        read=pairs.read,
        write=write,
        one_way=True,
    )


def write_tsv(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Tab-separated, without quoting; characters that are not printable are escaped."""
    stream.writelines(
        "\t".join(one_line(cell or "") for cell in row).encode("utf-8", "backslashreplace") + b"\n"
        for _, row in _rows(documents, on_loss)
    )


def write_csv(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Comma-separated, quoted where needed; texts are unchanged."""
    stream.writelines(csv_line(row, document) for document, row in _rows(documents, on_loss))


def _rows(documents: Iterable[Document], on_loss: Callable[[Loss], None]) -> Iterator[tuple[str, list[str | None]]]:
    """The header, then one row per document, each with the document's id."""
    metadata_columns: dict[str, None] = {}
    answer_columns: dict[str, None] = {}
    with SpooledTemporaryFile(max_size=IN_MEMORY) as waiting:
        for document in documents:
            answers = _answers(document, on_loss)
            cells = _kept(document, answers, on_loss)
            metadata_columns.update(dict.fromkeys(cells))
            answer_columns.update(dict.fromkeys(answers))
            row = [document.id, document.text, document.pair, cells, answers]
            waiting.write(json.dumps(row).encode() + b"\n")
        metadata_columns = {name: None for name in metadata_columns if name not in answer_columns}
        yield "", [*FIRST, *metadata_columns, *answer_columns]
        waiting.seek(0)
        for line in waiting:
            name, text, pair, cells, answers = json.loads(line)
            yield name, [name, text, pair, *map(cells.get, metadata_columns), *map(answers.get, answer_columns)]


def _answers(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, str]:
    """Column → cell of each label: under `label` or, for a number, its name; a head's answer is under the head's name, with its score."""
    if document.pair is None:
        raise FormatError(
            "BX120",
            "the document has no second text, which a pair needs",
            where=f"document {document.id!r}",
            hint="write to jsonl instead",
        )
    for feature, count in features(document).items():
        if feature in SAID:
            on_loss(Loss(document.id, feature, count))
    cells: dict[str, list[str]] = {}
    for label in document.labels:
        if label.start is not None:
            on_loss(Loss(document.id, "label places", detail="a row is about the whole pair"))
        name = label.head or ("label" if label.value is None else label.name)
        cells.setdefault(name, []).append(_cell(label))
        if label.score is not None:
            cells.setdefault(f"{name}_score", []).append(f"{label.score:.4f}")
    return {name: "; ".join(parts) for name, parts in cells.items()}


def _cell(label: Label) -> str:
    return label.name if label.value is None else f"{label.value:.4f}"


def _kept(document: Document, used_names: Iterable[str], on_loss: Callable[[Loss], None]) -> dict[str, str]:
    """The metadata that a cell can hold, except those with the name of a column."""
    cells = {
        name: str(value)
        for name, value in document.metadata.items()
        if isinstance(value, str | int | float) and name not in (*FIRST, *used_names)
    }
    lost = document.metadata.keys() - cells.keys()
    if lost:
        detail = f"not text, or the name of a column: {', '.join(sorted(map(str, lost))[:5])}"
        on_loss(Loss(document.id, "metadata", len(lost), detail))
    return cells
