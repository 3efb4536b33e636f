"""Folders that `biomux evaluate` and `biomux score` write, and `biomux compare` and `biomux report` read.

DIR/
├── scores.json              every column: what was scored how, with its signature
└── COLUMN/
    ├── predictions.jsonl    the documents with the predictions
    └── counts.jsonl         one row per document: tp, fp, fn by matching and type; `row`: the numbers behind the main figure
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux import __version__
from biomux.errors import ScoreError
from biomux.formats.jsonl import line
from biomux.scoring.signature import signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from biomux.document import Document

FORMAT = "biomux-scores"
MEMBER_FORMAT = "biomux-member-scores"
"""The scores of one run of a study."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class ScoreFolder:
    """The scores of one system: columns by name. `folder` is None if there are no rows of documents."""

    system: str
    columns: Mapping[str, Mapping[str, Any]]
    folder: Path | None = None

    def has_rows(self, column: str) -> bool:
        """Whether there are rows of documents behind a column."""
        return self.folder is not None and (self.folder / column / "counts.jsonl").is_file()

    def rows(self, column: str) -> Iterator[dict[str, Any]]:
        """The rows of `counts.jsonl` of a column; none if they were not written."""
        if self.folder is None or not self.has_rows(column):
            return
        path = self.folder / column / "counts.jsonl"
        import orjson

        with path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                try:
                    yield orjson.loads(raw)
                except ValueError:
                    raise ScoreError(
                        "BX705", "a row is not valid JSON", where=f"{path}:{number}", hint="score again"
                    ) from None


def to_json(system: str, columns: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """The content of `scores.json`."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "biomux": __version__,
        "system": system,
        **more,
        "columns": list(columns),
    }


def read(folder: Path, *, system: str | None = None) -> ScoreFolder:
    """Scores from a folder that was written here, or a run's folder (then its development scores)."""
    path = folder / "scores.json"
    if not path.is_file():
        raise ScoreError(
            "BX704",
            "there are no scores in the folder" if folder.is_dir() else "no such folder",
            where=str(folder),
            hint="name a folder that `biomux evaluate -o`, `biomux score -o` or `biomux train` made",
        )
    try:
        content = json.loads(path.read_bytes())
        if content.get("format") == FORMAT:
            if content.get("version") != VERSION:
                raise _unreadable(path, f"its version is {content.get('version')!r}, but this Biomux reads {VERSION}")
            return ScoreFolder(
                system or content["system"], {column["name"]: column for column in content["columns"]}, folder
            )
        if content.get("format") == MEMBER_FORMAT:
            raise ScoreError(
                "BX704",
                "these are the scores of one run of a study",
                where=str(folder),
                hint="the study's own report compares its runs; to compare one with other systems, score it by `biomux evaluate -o`",
            )
        columns = {name: _development(name, scores) for name, scores in content["tasks"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(path, f"{type(error).__name__}: {error}") from None
    return ScoreFolder(system or folder.resolve().name, columns)


@contextmanager
def column_writer(folder: Path | None, name: str) -> Iterator[ColumnWriter]:
    """Write the files of a column, document by document; without a folder, write nothing."""
    if folder is None:
        yield ColumnWriter()
        return
    place = folder / name
    place.mkdir()
    with (place / "predictions.jsonl").open("wb") as predictions, (place / "counts.jsonl").open("wb") as counts:
        yield ColumnWriter(predictions, counts)


class ColumnWriter:
    """Takes a document's prediction and its row of counts."""

    def __init__(self, predictions: Any = None, counts: Any = None) -> None:
        self._predictions, self._counts = predictions, counts

    def add(self, predicted: Document, row: Mapping[str, Any]) -> None:
        """Write both."""
        if self._predictions is not None:
            import orjson

            self._predictions.write(line(predicted))
            self._counts.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


FILES = ("scores.json", "*/predictions.jsonl", "*/counts.jsonl")
"""What a folder of scores holds, as patterns."""


def write_scores(folder: Path, content: Mapping[str, Any]) -> None:
    """Write `scores.json`."""
    (folder / "scores.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def signed(scores: Mapping[str, Any], **facts: Any) -> str:
    """The signature of a column's tables, with all matchings that they show."""
    matchings = scores.get("spans", {}).get("matchings", {})
    matching = "+".join([*matchings, *(["semeval"] if "semeval" in scores.get("spans", {}) else [])])
    linked = "+".join(scores.get("relations", {}).get("matchings", {}))
    if matching and linked:
        facts["relations"] = linked
    matching = matching or linked or "none"
    return signature(matching=matching, **{name: _plain(value) for name, value in facts.items()})


def _plain(value: Any) -> Any:
    return value.replace("|", "/").replace("\n", " ") or "none" if isinstance(value, str) else value


def _development(name: str, scores: Mapping[str, Any]) -> dict[str, Any]:
    """A run's development score as a column. It has no counts, so documents cannot be resampled."""
    main = scores.get("main", "f1")
    # Taggers have these three figures and no other; relations have a macro-F1 beside them.
    if scores.keys() - {"main"} != {"precision", "recall", "f1"} or main != "f1":
        return {"name": name, "corpus": name, "split": "devel", "metric": main, "figure": float(scores[main])}
    micro = {figure: float(scores[figure]) for figure in ("precision", "recall", "f1")}
    return {"name": name, "corpus": name, "split": "devel", "spans": {"matchings": {"strict": {"micro": micro}}}}


def _unreadable(path: Path, why: str) -> ScoreError:
    return ScoreError("BX705", f"cannot read the scores: {why}", where=str(path), hint="score again")
