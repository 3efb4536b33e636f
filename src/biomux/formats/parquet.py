"""Parquet: one row per document, for data frames, DuckDB and the like. Needs pyarrow (`pip install 'biomux[parquet]'`).

Columns have the names and meanings of docs/reference/jsonl.md: `id` and `text` are strings; `passages`, `spans`, `relations`, `labels` and
`questions` are lists of structs; `sentences`, `tokens`, `coverage` and a span's `fragments` are lists of `{start, end}`; fields that may hold any JSON
(`metadata`, `extra`) are strings of JSON. A field at its default is null. Offsets are 64-bit integers that count characters. The
file's key-value metadata has the version as `biomux`.

Rows are written in groups of at most 16,000 documents or 32 million characters, and read group by group. Writers and readers keep the description of every
group in memory: with small groups it would grow with the file.
"""

from __future__ import annotations

import shutil
import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO, get_args

from biomux.document.record_read import VERSION, MalformedError, document_of
from biomux.document.record_write import record
from biomux.errors import DocumentError, FormatError, UsageError
from biomux.formats._format import Feature, Format, Loss, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from biomux.document import Document
    from biomux.formats._source import Source

MAGIC = b"PAR1"
GROUP_DOCUMENTS = 16_000
GROUP_CHARACTERS = 32_000_000
BATCH = 256
"""How many rows are Python objects at a time."""

_RANGES = ("sentences", "tokens", "coverage", "fragments")
_JSON = ("metadata", "extra")


def sniff(name: str, head: bytes) -> bool:
    """By its first four bytes."""
    del name
    return head.startswith(MAGIC)


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per row."""
    arrow, parquet = _pyarrow()
    with source.open() as stream, _seekable(stream) as file:
        number = 0
        try:
            parquet_file = parquet.ParquetFile(file)
            _check_version(parquet_file.schema_arrow.metadata or {}, source.name)
            for row in _rows(parquet_file):
                number += 1
                try:
                    document = _document(row, f"{source.name} (row {number})")
                except FormatError as error:
                    on_error(error)
                    continue
                yield document
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise FormatError(
                "BX113",
                f"the Parquet file is damaged: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
                where=source.name,
                hint="download or write it again",
            ) from None


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """Nothing is lost, so `on_loss` is never called."""
    del on_loss
    arrow, parquet = _pyarrow()
    schema = _schema(arrow)
    with parquet.ParquetWriter(stream, schema, compression="zstd", write_statistics=["id"]) as writer:
        for group in _groups(documents, lambda rows: arrow.Table.from_pylist(rows, schema=schema)):
            writer.write_table(arrow.concat_tables(group), row_group_size=GROUP_DOCUMENTS)


def _rows(file: Any) -> Iterator[dict[str, Any]]:
    """All rows, group by group."""
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(batch_size=BATCH, row_groups=[group]):
            yield from batch.to_pylist()


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError(
            "BX003",
            "reading and writing Parquet needs pyarrow, which is not installed",
            hint="pip install 'biomux[parquet]'",
        ) from None
    return pyarrow, pyarrow.parquet


def _schema(arrow: ModuleType) -> Any:
    def struct(**fields: Any) -> Any:
        return arrow.struct(list(fields.items()))

    text, number, offset = arrow.string(), arrow.float64(), arrow.int64()
    ranges = arrow.list_(struct(start=offset, end=offset))
    argument = struct(role=text, target=text, kind=text)
    answer = struct(text=text, start=offset, end=offset, score=number, head=text)
    columns = {
        "id": text,
        "text": arrow.large_string(),
        "passages": arrow.list_(struct(start=offset, end=offset, kind=text, extra=text)),
        "sentences": ranges,
        "tokens": ranges,
        "spans": arrow.list_(
            struct(
                start=offset,
                end=offset,
                type=text,
                score=number,
                head=text,
                identifiers=arrow.list_(text),
                fragments=ranges,
                id=text,
                extra=text,
            )
        ),
        "relations": arrow.list_(
            struct(type=text, arguments=arrow.list_(argument), score=number, head=text, id=text, extra=text)
        ),
        "labels": arrow.list_(struct(name=text, value=number, start=offset, end=offset, score=number, head=text)),
        "pair": text,
        "questions": arrow.list_(
            struct(id=text, text=text, answers=arrow.list_(answer), kind=text, impossible=arrow.bool_(), extra=text)
        ),
        "coverage": ranges,
        "metadata": text,
    }
    return arrow.schema(list(columns.items()), metadata={"biomux": str(VERSION)})


def _groups(documents: Iterable[Document], to_table: Callable[[list[dict[str, Any]]], Any]) -> Iterator[list[Any]]:
    """The tables of each group of rows; only few rows are Python objects at a time, since these need far more memory than tables."""
    tables: list[Any] = []
    rows: list[dict[str, Any]] = []
    number = size = 0
    for document in documents:
        rows.append(_row(document))
        number, size = number + 1, size + len(document.text)
        full = number == GROUP_DOCUMENTS or size >= GROUP_CHARACTERS
        if full or len(rows) == BATCH:
            tables.append(to_table(rows))
            rows = []
        if full:
            yield tables
            tables, number, size = [], 0, 0
    if rows:
        tables.append(to_table(rows))
    if tables:
        yield tables


def _row(document: Document) -> dict[str, Any]:
    import orjson

    fields = record(document)
    try:
        orjson.dumps(fields)
    except TypeError as error:
        raise FormatError(
            "BX120",
            f"cannot write the document: {error}",
            where=f"document {document.id!r}",
            hint="text must be free of lone surrogates, and metadata must be JSON with integers of at most 64 bits",
        ) from None
    del fields["biomux"]
    row: dict[str, Any] = _to_columns(fields)
    return row


def _to_columns(value: Any) -> Any:
    import orjson

    if isinstance(value, dict):
        columns: dict[str, Any] = {}
        for key, item in value.items():
            if key in _JSON:
                columns[key] = orjson.dumps(item).decode()
            elif key in _RANGES:
                columns[key] = [{"start": start, "end": end} for start, end in item]
            else:
                columns[key] = _to_columns(item)
        return columns
    return [_to_columns(item) for item in value] if isinstance(value, list) else value


def _from_columns(value: Any, where: str) -> Any:
    if isinstance(value, dict):
        fields: dict[str, Any] = {}
        for key, item in value.items():
            if item is None:
                continue
            if key in _JSON:
                fields[key] = _loads(item, key, where)
            elif key in _RANGES:
                fields[key] = [[place["start"], place["end"]] for place in item]
            else:
                fields[key] = _from_columns(item, where)
        return fields
    return [_from_columns(item, where) for item in value] if isinstance(value, list) else value


def _loads(text: Any, key: str, where: str) -> Any:
    import orjson

    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, TypeError):
        raise FormatError("BX117", f"{key!r} is not a string of JSON", where=where, hint="write JSON") from None


def _document(row: dict[str, Any], where: str) -> Document:
    try:
        return document_of({"biomux": VERSION, **_from_columns(row, where)})
    except MalformedError as bad:
        raise FormatError(bad.code, bad.message, where=where, hint=bad.hint) from None
    except DocumentError as error:
        code = "BX114" if error.code == "BX101" else "BX113"
        raise FormatError(code, error.message, where=f"{where} ({error.where})", hint=error.hint) from None
    except (KeyError, TypeError):
        hint = "see the columns of biomux.formats.parquet"
        raise FormatError("BX113", "a column has the wrong type", where=where, hint=hint) from None


def _check_version(metadata: dict[bytes, bytes], name: str) -> None:
    version = metadata.get(b"biomux", b"").decode("ascii", "replace")
    if version == str(VERSION):
        return
    if version.isdecimal() and int(version) > VERSION:
        message = f"the file has version {version}, but this Biomux reads version {VERSION}"
        raise FormatError("BX122", message, where=name, hint="read it with a newer Biomux")
    raise FormatError(
        "BX116",
        "the file's metadata lack the key 'biomux', which holds the version",
        where=name,
        hint="only Parquet files with Biomux's columns can be read; convert others to JSON lines first",
    )


def _seekable(stream: BinaryIO) -> BinaryIO:
    """The stream, or a temporary copy if it does not allow random access (gzip, standard input)."""
    if stream.seekable():
        return stream
    copy = tempfile.SpooledTemporaryFile(max_size=1 << 24)  # noqa: SIM115
    try:
        shutil.copyfileobj(stream, copy)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy  # type: ignore[return-value]


FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    holds=frozenset(get_args(Feature)),
    sniff=sniff,
    read=read,
    write=write,
)
