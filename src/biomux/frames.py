"""Data frames: entities as a table, and the texts of a column annotated. pandas, Polars and Arrow, whichever the caller has.

None of the three is imported before it is needed, and none needs the others.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, Unpack, get_args

from biomux.document import Document
from biomux.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pandas
    import polars
    import pyarrow

    from biomux.errors import BiomuxError
    from biomux.tagger import QueryOptions, Tagger

    Frame = TypeVar("Frame", pandas.DataFrame, polars.DataFrame, pyarrow.Table)

Library = Literal["pandas", "polars", "arrow"]
COLUMNS = ("document", "start", "end", "type", "mention", "score", "head", "identifiers")
"""The columns of a table of entities: those that `tsv` has."""

PACKAGES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}


def to_dataframe(documents: Iterable[Document], *, library: Library = "pandas") -> Any:
    """The entities of documents as a table with one row per entity and the columns of a `tsv` file. Documents without entities have no row.

    >>> from biomux import Document, Span
    >>> to_dataframe([Document("1", "TP53", spans=(Span(0, 4, "gene"),))], library="arrow").column_names  # doctest: +SKIP
    ['document', 'start', 'end', 'type', 'mention', 'score', 'head', 'identifiers']
    """
    if library not in get_args(Library):
        raise UsageError("BX001", f"unknown library {library!r}", hint=did_you_mean(str(library), get_args(Library)))
    if isinstance(documents, Document):
        documents = [documents]
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for document in documents:
        if not isinstance(document, Document):
            raise UsageError(
                "BX001",
                f"documents must be Document objects, got {type(document).__name__}",
                hint="annotate texts first: tagger.pipe(texts)",
            )
        _add(columns, document.id, document, key="document")
    return _adapter(library).table(columns, id_like=None)


def annotate_frame(
    frame: Frame,
    *,
    text: str,
    id: str | None = None,
    into: str | None = None,
    tagger: Tagger | None = None,
    on_error: Literal["raise", "skip"] | Callable[[Any, BiomuxError], None] = "raise",
    **options: Unpack[QueryOptions],
) -> Frame:
    """Annotate the texts in a column of a pandas, Polars or Arrow table, and return a table of the same kind.

    The result has one row for each entity. Its first column is `row`, the row of `frame` that the text is in (the index in pandas, otherwise the number of the row); with `id`, it is that column
    of `frame` instead. The other columns are `start`, `end`, `type`, `mention`, `score`, `head` and `identifiers`. With `into`, the result is `frame` with one more column of
    that name, which holds a list of entities for each row, or None if its text was skipped.

    A missing text (None, NaN) has no entities. `tagger` is `biomux.load()` unless given. `on_error` is as in `Tagger.pipe`, the other options as in `Tagger.annotate`.
    """
    adapter = _adapter_of(frame)
    _must_have(adapter.names(frame), text, id, into)
    if tagger is None:
        from biomux import load

        tagger = load()
    keys = adapter.keys(frame) if id is None else adapter.values(frame, id)
    given = (
        (_document(key, value), (place, key))
        for place, (key, value) in enumerate(zip(keys, adapter.values(frame, text), strict=True))
    )
    found: Iterator[tuple[Document, tuple[int, Any]]] = tagger.pipe(given, on_error=on_error, **options)
    if into is not None:
        lists: list[list[dict[str, Any]] | None] = [None] * len(frame)
        for document, (place, _) in found:
            lists[place] = _records(document)
        return adapter.with_column(frame, into, lists)
    key = id or "row"
    columns: dict[str, list[Any]] = {key: [], **{name: [] for name in COLUMNS[1:]}}
    for document, (_, value) in found:
        _add(columns, value, document, key=key)
    return adapter.table(columns, id_like=None if id is None else (frame, id))


def _add(columns: dict[str, list[Any]], value: Any, document: Document, *, key: str) -> None:
    for entity in document.entities:
        columns[key].append(value)
        columns["start"].append(entity.start)
        columns["end"].append(entity.end)
        columns["type"].append(entity.type)
        columns["mention"].append(entity.text)
        columns["score"].append(entity.score)
        columns["head"].append(entity.head)
        columns["identifiers"].append(list(entity.identifiers))


def _records(document: Document) -> list[dict[str, Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    _add(columns, document.id, document, key="document")
    names = COLUMNS[1:]
    return [dict(zip(names, row, strict=True)) for row in zip(*(columns[name] for name in names), strict=True)]


def _document(key: Any, value: Any) -> Any:
    """A cell as a document that is called by its row's key; of a missing text (None, NaN, NA) an empty one. Anything else is left to be told."""
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType":
        value = ""
    return Document(str(key), value) if isinstance(value, str) else value


def _must_have(names: Sequence[str], text: str, id: str | None, into: str | None) -> None:
    for name in (text,) if id is None else (text, id):
        if names.count(name) != 1:
            message = (
                f"the frame has no column {name!r}" if name not in names else f"several columns are called {name!r}"
            )
            raise UsageError("BX641", message, hint=did_you_mean(name, names) if name not in names else "rename them")
    if into is not None and into in names:
        raise UsageError("BX641", f"the frame has a column {into!r} already", hint="choose another name with into=")
    if id in COLUMNS[1:]:
        raise UsageError(
            "BX641", f"the id column {id!r} has the name of a column of the result", hint="rename it in the frame first"
        )


class Adapter(Protocol):
    """What is done with a frame, by the library that made it."""

    def names(self, frame: Any) -> list[str]: ...
    def keys(self, frame: Any) -> Any: ...
    def values(self, frame: Any, name: str) -> Any: ...
    def table(self, columns: dict[str, list[Any]], *, id_like: tuple[Any, str] | None) -> Any: ...
    def with_column(self, frame: Any, name: str, lists: list[Any]) -> Any: ...


class _Pandas:
    """pandas: strings and identifiers are objects, scores floats."""

    def names(self, frame: Any) -> list[str]:
        return [name for name in frame.columns if isinstance(name, str)]

    def keys(self, frame: Any) -> Any:
        return frame.index

    def values(self, frame: Any, name: str) -> Any:
        return frame[name]

    def table(self, columns: dict[str, list[Any]], *, id_like: tuple[Any, str] | None) -> Any:
        import pandas

        made = pandas.DataFrame(columns).astype({"start": "int64", "end": "int64", "score": "float64"})
        if id_like is not None:
            frame, name = id_like
            made[name] = made[name].astype(frame[name].dtype)
        return made

    def with_column(self, frame: Any, name: str, lists: list[Any]) -> Any:
        import pandas

        return frame.assign(**{name: pandas.Series(lists, index=frame.index, dtype=object)})


class _Polars:
    """Polars."""

    def names(self, frame: Any) -> list[str]:
        return list(frame.columns)

    def keys(self, frame: Any) -> Any:
        return range(frame.height)

    def values(self, frame: Any, name: str) -> Any:
        return frame[name]

    def table(self, columns: dict[str, list[Any]], *, id_like: tuple[Any, str] | None) -> Any:
        import polars

        types = self._types()
        first = next(iter(columns))
        types[first] = polars.Int64() if first == "row" else polars.String()
        if id_like is not None:
            types[first] = id_like[0].schema[id_like[1]]
        return polars.DataFrame(columns, schema={name: types[name] for name in columns})

    def with_column(self, frame: Any, name: str, lists: list[Any]) -> Any:
        import polars

        entities = polars.List(polars.Struct(self._types()))
        return frame.with_columns(polars.Series(name, lists, dtype=entities))

    def _types(self) -> dict[str, Any]:
        import polars

        return {
            "start": polars.Int64(),
            "end": polars.Int64(),
            "type": polars.String(),
            "mention": polars.String(),
            "score": polars.Float64(),
            "head": polars.String(),
            "identifiers": polars.List(polars.String()),
        }


class _Arrow:
    """pyarrow."""

    def names(self, frame: Any) -> list[str]:
        return list(frame.column_names)

    def keys(self, frame: Any) -> Any:
        return range(frame.num_rows)

    def values(self, frame: Any, name: str) -> Any:
        return (value.as_py() for value in frame[name])

    def table(self, columns: dict[str, list[Any]], *, id_like: tuple[Any, str] | None) -> Any:
        import pyarrow

        first = next(iter(columns))
        types = {first: pyarrow.int64() if first == "row" else pyarrow.string(), **self._types()}
        if id_like is not None:
            types[first] = id_like[0].schema.field(id_like[1]).type
        return pyarrow.table(
            {name: pyarrow.array(values, type=types[name]) for name, values in columns.items()},
        )

    def with_column(self, frame: Any, name: str, lists: list[Any]) -> Any:
        import pyarrow

        entities = pyarrow.list_(pyarrow.struct(list(self._types().items())))
        return frame.append_column(name, pyarrow.array(lists, type=entities))

    def _types(self) -> dict[str, Any]:
        import pyarrow

        return {
            "start": pyarrow.int64(),
            "end": pyarrow.int64(),
            "type": pyarrow.string(),
            "mention": pyarrow.string(),
            "score": pyarrow.float64(),
            "head": pyarrow.string(),
            "identifiers": pyarrow.list_(pyarrow.string()),
        }


ADAPTERS: dict[str, Adapter] = {"pandas": _Pandas(), "polars": _Polars(), "arrow": _Arrow()}


def _adapter(library: Library) -> Adapter:
    package = PACKAGES[library]
    try:
        import_module(package)
    except ModuleNotFoundError:
        raise UsageError(
            "BX003",
            f"the package {package!r} is not installed",
            hint=f"install it with: pip install {package}, or choose another library=",
        ) from None
    return ADAPTERS[library]


def _adapter_of(frame: object) -> Adapter:
    """By the frame's own type: a library that made it has been imported."""
    for library, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("arrow", "Table")):
        module = sys.modules.get(PACKAGES[library])
        if module is not None and isinstance(frame, getattr(module, kind)):
            return ADAPTERS[library]
    name = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    hint = {
        "LazyFrame": "collect it first: frame.collect()",
        "Series": "pass the frame that it is a column of",
        "RecordBatch": "make a table of it: pyarrow.Table.from_batches([batch])",
    }.get(type(frame).__name__, "convert it first; for lists use tagger.pipe(texts)")
    raise UsageError("BX641", f"frame must be a pandas or Polars DataFrame or an Arrow Table, got {name}", hint=hint)
