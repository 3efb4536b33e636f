"""`biomux.annotator`: a callable for engines of others. It is small when pickled, and loads the model in the process that first calls it.

What comes in decides what goes out:

| in | out |
|---|---|
| a text | its entities: a list of dictionaries `start`, `end`, `type`, `text`, `score` |
| a list of texts | a list of such lists |
| a list of dictionaries | the same, each with a key `entities` |
| a dictionary of columns (Ray Data's batches) | the same with a column `entities` |
| a pandas DataFrame, a pyarrow Table or RecordBatch | the same with a column `entities` |
| an iterator of any of these (Spark's `mapInPandas`) | an iterator |

A text that is None or NaN has None in place of entities.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from biomux.annotate.settings import AnnotateSettings
from biomux.document import Document
from biomux.engine.query import Query
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Unpack

    from biomux.engine.annotator import Annotator
    from biomux.tagger import QueryOptions

Entities = list[dict[str, Any]]

SPARK = "array<struct<start: bigint, end: bigint, type: string, text: string, score: double>>"
"""The type of the column of entities, as Spark writes it."""


@dataclass(frozen=True)
class BatchAnnotator:
    """Annotates texts and batches of texts. `text` is the column or key with the texts, `output` the one for the entities."""

    settings: AnnotateSettings = field(default_factory=AnnotateSettings)
    text: str = "text"
    output: str = "entities"
    threads: int = 1

    def __call__(self, batch: Any) -> Any:
        """What the batch was, with entities."""
        if isinstance(batch, str):
            return self._entities([batch])[0]
        if isinstance(batch, Iterator):
            return map(self, batch)
        if isinstance(batch, Mapping):
            return {**batch, self.output: self._column(batch)}
        if isinstance(batch, list | tuple):
            if all(isinstance(row, Mapping) for row in batch) and batch:
                annotated = self._entities([self._of(row) for row in batch])
                return [{**row, self.output: entities} for row, entities in zip(batch, annotated, strict=True)]
            return self._entities(batch)
        kind = f"{type(batch).__module__.partition('.')[0]}.{type(batch).__name__}"
        if kind == "pandas.DataFrame":
            return batch.assign(**{self.output: self._entities(self._of(batch).tolist())})
        if kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
            return self._with_arrow(batch)
        raise UsageError(
            "BX001",
            f"cannot annotate a {kind}",
            hint="give a text, a list, a dictionary of columns, a pandas DataFrame, a pyarrow Table, or an iterator of these",
        )

    def _column(self, batch: Mapping[str, Any]) -> Any:
        """An array of objects, as numpy holds lists of different lengths."""
        import numpy as np

        texts = self._of(batch)
        annotated = self._entities(texts.tolist() if hasattr(texts, "tolist") else list(texts))
        column = np.empty(len(annotated), dtype=object)
        column[:] = annotated
        return column

    def _with_arrow(self, batch: Any) -> Any:
        import pyarrow as arrow

        fields = [("start", arrow.int64()), ("end", arrow.int64()), ("type", arrow.string())]
        entity = arrow.struct([*fields, ("text", arrow.string()), ("score", arrow.float64())])
        if self.text not in batch.schema.names:
            raise self._no_column(batch.schema.names)
        annotated = arrow.array(self._entities(batch.column(self.text).to_pylist()), type=arrow.list_(entity))
        return batch.append_column(self.output, annotated)

    def _of(self, batch: Any) -> Any:
        """The column or key with the texts."""
        try:
            return batch[self.text]
        except KeyError:
            raise self._no_column([str(name) for name in batch]) from None

    def _no_column(self, names: Sequence[str]) -> UsageError:
        return UsageError(
            "BX001",
            f"the batch has no column {self.text!r}",
            hint=f"name the column with the texts in annotator(text=…); the batch has {', '.join(names)}",
        )

    def _entities(self, texts: Sequence[Any]) -> list[Entities | None]:
        """The entities of each text."""
        documents: list[Document] = []
        for place, text in enumerate(texts):
            if isinstance(text, str):
                documents.append(Document(str(place), text))
            elif not _is_missing(text):
                raise UsageError(
                    "BX001", f"a text must be a string, got {type(text).__name__}", where=f"text {place} of the batch"
                )
        annotator = _loaded(self.settings, self.threads, os.getpid())
        annotated: list[Entities | None] = [None] * len(texts)
        for document in annotator.annotate_query(documents, self.settings.query):
            annotated[int(document.id)] = [
                {
                    "start": span.start,
                    "end": span.end,
                    "type": span.type,
                    "text": document.text[span.start : span.end],
                    "score": span.score,
                }
                for span in document.spans
            ]
        return annotated


def annotator(
    model: str | Path | None = None,
    *,
    text: str = "text",
    output: str = "entities",
    threads: int = 1,
    runtime: str = "auto",
    **options: Unpack[QueryOptions],
) -> BatchAnnotator:
    """Make a callable that annotates batches in Ray Data, Spark, Dask, Beam, joblib or multiprocessing. It is small when pickled, and loads the model in the process that calls it.

    The callable takes a text, a list of texts or of dictionaries, a dictionary of columns, a pandas DataFrame, a pyarrow Table, or an iterator of these. For texts it returns lists of entities;
    dictionaries and tables are returned with the entities (`start`, `end`, `type`, `text`, `score`) in the column `output`. `text` is the column with the texts. `model` and `runtime` are as in `load`, options as in `Tagger.annotate`.

    >>> annotator(types=["gene"], text="abstract")                    # doctest: +ELLIPSIS
    BatchAnnotator(...text='abstract', output='entities', threads=1)
    """
    try:
        query = Query(**options)
    except TypeError as error:
        raise UsageError("BX001", f"cannot make an annotator: {error}") from None
    settings = AnnotateSettings(bundle=None if model is None else str(model), query=query, runtime=runtime)
    return BatchAnnotator(settings, text=text, output=output, threads=threads)


def _is_missing(value: Any) -> bool:
    """None, NaN or pandas's NA, as tables hold where there is nothing."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


@lru_cache(maxsize=2)
def _loaded(settings: AnnotateSettings, threads: int, process: int) -> Annotator:
    """Once in a process; a forked one loads its own, since threads of a runtime do not survive a fork."""
    del process
    return settings.annotator(threads=threads)
