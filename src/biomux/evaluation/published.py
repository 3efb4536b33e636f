"""Figures that the five papers published, for comparison with ours.

`published.csv` holds one figure per row: paper (A to E), table, system, corpus, metric, value, note. Values are as printed, some as shares, most in
percent. They are facts of the papers, not measurements of Biomux, and not comparable across papers.

>>> figure = published(paper="E", table="1", system="mtm", corpus="bc2gm")[0]
>>> figure.metric, figure.value
('f1-strict', 79.68)
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from biomux.errors import ScoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

SUMMARIES = ("average", "average-variance")
"""Rows of a table that are not a corpus."""

SOURCES = {
    "A": "Chaudhry et al. 2022, Reducing inference time of biomedical NER tasks using multi-task learning",
    "B": "Peng, Chen, Lu 2020, An empirical study of multi-task learning on BERT for biomedical text mining",
    "C": "Rohanian et al. 2023, On the effectiveness of compact biomedical transformers",
    "D": "Tong, Chen, Shi 2021, A multi-task approach for improving biomedical NER by incorporating multi-granularity information",
    "E": "Mehmood et al. 2020, Knowledge distillation techniques for biomedical NER",
}


@dataclass(frozen=True, slots=True)
class Published:
    """One figure of one table."""

    paper: str
    table: str
    system: str
    corpus: str
    metric: str
    value: float
    note: str

    @property
    def source(self) -> str:
        """Paper and table, to be printed beside the value."""
        return f"{self.paper}, table {self.table}"


@cache
def all_published() -> tuple[Published, ...]:
    """Every figure, in the order of the file."""
    with files("biomux.evaluation").joinpath("published.csv").open(encoding="utf-8") as stream:
        return tuple(
            Published(
                row["paper"],
                row["table"],
                row["system"],
                row["corpus"],
                row["metric"],
                float(row["value"]),
                row["note"] or "",
            )
            for row in csv.DictReader(stream)
        )


def published(
    *,
    paper: str | None = None,
    table: str | None = None,
    system: str | None = None,
    corpus: str | None = None,
    metric: str | None = None,
) -> list[Published]:
    """The figures that match everything given."""
    criteria = {"paper": paper, "table": table, "system": system, "corpus": corpus, "metric": metric}
    return [
        figure
        for figure in all_published()
        if all(value is None or getattr(figure, name) == value for name, value in criteria.items())
    ]


def score_table(paper: str, tables: Sequence[str], *, metric: str) -> tuple[list[str], list[str], list[list[float]]]:
    """Corpora, systems, and the scores of systems (columns) on corpora (rows), without rows of averages.

    Every system must have a figure on every corpus.
    """
    where = f"paper {paper}, tables {', '.join(tables)}"
    cells: dict[tuple[str, str], float] = {}
    for table in tables:
        for figure in published(paper=paper, table=table, metric=metric):
            if figure.corpus in SUMMARIES:
                continue
            cell = (figure.corpus, figure.system)
            if cells.setdefault(cell, figure.value) != figure.value:
                raise ScoreError(
                    "BX704",
                    f"there are several published figures for {figure.system} on {figure.corpus}",
                    where=where,
                    hint="choose rows by their note with `published`",
                )
    corpora = list(dict.fromkeys(corpus for corpus, _ in cells))
    systems = list(dict.fromkeys(system for _, system in cells))
    missing = [(corpus, system) for corpus in corpora for system in systems if (corpus, system) not in cells]
    if missing or not cells:
        if not cells:
            raise ScoreError(
                "BX704", f"there is no figure by {metric}", where=where, hint="choose another metric or table"
            )
        corpus, system = missing[0]
        raise ScoreError(
            "BX704",
            f"cannot compare these tables: every system must have a figure on every corpus, and {system} has none on {corpus}",
            where=where,
            hint=f"choose among {', '.join(_complete(paper)) or 'the tables of another paper'}",
        )
    return corpora, systems, [[cells[corpus, system] for system in systems] for corpus in corpora]


def _complete(paper: str) -> list[str]:
    """The tables of a paper that can be compared by themselves, by some metric."""
    complete = []
    for table in sorted({figure.table for figure in published(paper=paper)}):
        for metric in {figure.metric for figure in published(paper=paper, table=table)}:
            figures = [
                figure
                for figure in published(paper=paper, table=table, metric=metric)
                if figure.corpus not in SUMMARIES
            ]
            cells = {(figure.corpus, figure.system) for figure in figures}
            expected = len({figure.corpus for figure in figures}) * len({figure.system for figure in figures})
            if len({figure.system for figure in figures}) > 1 and len(cells) == len(figures) == expected:
                complete.append(f"{paper}:{table}")
                break
    return complete
