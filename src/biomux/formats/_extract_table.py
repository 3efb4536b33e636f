"""Tables of labels or relations for other programs, one row each. They have no texts, so they cannot be read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from biomux.errors import FormatError
from biomux.formats._format import Feature, Format, Loss, stop
from biomux.formats.entity_table import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from biomux.document import Document
    from biomux.formats._source import Source


def extract_table(
    name: Feature, columns: tuple[str, ...], rows: Callable[[Document, Callable[[Loss], None]], Iterator[list[object]]]
) -> Format:
    """The format of a table with these columns: `name` is the feature that it holds, `rows` makes the rows of a document."""

    def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
        write_rows(stream, columns, (row for document in documents for row in rows(document, on_loss)))

    def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
        del on_error
        raise FormatError(
            "BX110",
            f"it is a table of {name}, without their texts",
            where=source.name,
            hint="use a format that has both, such as jsonl",
        )

    return Format(
        name=name,
        title=f"a TSV table of {name}",
        suffixes=(f".{name}.tsv",),
        holds=frozenset({name}),
        sniff=lambda _, head: head.startswith("\t".join(columns).encode()),
        read=read,
        write=write,
        one_way=True,
        readable=False,
    )


def report_counts(document: Document, lost: Mapping[str, int], on_loss: Callable[[Loss], None]) -> None:
    """Report each feature of which anything is lost."""
    for feature, count in lost.items():
        if count:
            on_loss(Loss(document.id, feature, count))
