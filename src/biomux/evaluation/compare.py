"""Systems compared: by seeds, by documents, by ranks over corpora.

A system is one folder of scores, or several with the same label: its seeds. Columns are paired by name, and must be of the same documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError, UsageError, did_you_mean
from biomux.evaluation import published, score_folder
from biomux.evaluation.score_folder import ScoreFolder
from biomux.scoring.document_counts import DocumentCounts, document_counts
from biomux.scoring.document_rows import compare_rows, read_rows
from biomux.scoring.signature import common_signature, read_signature
from biomux.scoring.significance import Comparison, compare_documents, compare_means, enough, holm
from biomux.scoring.spans import MATCHINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.scoring.ranks import Ranking

METRICS = {"spans": "f1", "labels": "f1", "relations": "f1", "answers": "f1", "numbers": "pearson"}
"""The figure that is compared by default; for spans, labels and relations it is micro. Heads that do not tag name their own (`main`)."""

RELATIONS = ("relations", "undirected", "candidates")
"""Matchings of relations; "relations" is the strict one."""

MODELS_OWN = {"heads", "unchecked"}
"""What a signature says of the model rather than of how it was scored: systems may differ in it."""
MAIN = "f1-strict"
"""The published metric that is used if a table has several."""


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """A system and the scores of each of its seeds."""

    name: str
    seeds: tuple[ScoreFolder, ...]

    def columns(self) -> set[str]:
        """The columns that all seeds have."""
        return set.intersection(*(set(seed.columns) for seed in self.seeds))


@dataclass(frozen=True, slots=True)
class Test:
    """Two systems on one column. `p` is that of the randomisation test, corrected over all tests made together (Holm)."""

    column: str
    first: str
    second: str
    found: Comparison
    p: float

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        comparison = self.found.to_json()
        values = {"first_value": comparison.pop("first"), "second_value": comparison.pop("second")}
        return {
            "column": self.column,
            "first": self.first,
            "second": self.second,
            **values,
            **comparison,
            "p_holm": self.p,
        }


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """All that was found. `values`: column → system → the figure of each seed. `signature` is the line under their table; empty for published figures."""

    systems: tuple[str, ...]
    metric: str
    values: Mapping[str, Mapping[str, tuple[float, ...]]]
    tests: tuple[Test, ...] = ()
    ranking: Ranking | None = None
    remarks: tuple[str, ...] = ()
    signature: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "systems": list(self.systems),
            "metric": self.metric,
            "signature": self.signature,
            "values": {
                column: {name: {"values": list(figures), **spread(figures)} for name, figures in systems.items()}
                for column, systems in self.values.items()
            },
            "tests": [test.to_json() for test in self.tests],
            "ranking": self.ranking.to_json() if self.ranking else None,
            "remarks": list(self.remarks),
        }


def systems_of(arguments: Sequence[str]) -> list[ComparedSystem]:
    """Systems from FOLDER or LABEL=FOLDER; folders of one label are its seeds."""
    split = [argument_of(argument) for argument in arguments]
    labelled = [(label, folder, score_folder.read(Path(folder), system=label or None)) for label, folder in split]
    plain = [scores.system for label, _, scores in labelled if not label]
    groups: dict[str, list[ScoreFolder]] = {}
    for label, folder, scores in labelled:
        name = label or (scores.system if plain.count(scores.system) == 1 else folder)
        groups.setdefault(name, []).append(scores)
    return [ComparedSystem(name, tuple(seeds)) for name, seeds in groups.items()]


def published_systems(paper: str, tables: Sequence[str], *, metric: str | None = None) -> list[ComparedSystem]:
    """The systems of a paper's tables, their figures as shares of one."""
    metrics = {figure.metric for table in tables for figure in published.published(paper=paper, table=table)}
    if metric is None and MAIN in metrics:
        metric = MAIN
    table_name = f"{paper}:{','.join(tables)}"
    if not metrics:
        table_names = sorted({f"{figure.paper}:{figure.table}" for figure in published.all_published()})
        raise UsageError("BX001", f"unknown table {table_name!r}", hint=did_you_mean(table_name, table_names))
    if metric is None and len(metrics) > 1:
        hint = f"name one of {', '.join(sorted(metrics))}"
        raise UsageError("BX001", f"--metric is required: {table_name} has {len(metrics)} metrics", hint=hint)
    corpora, names, values = published.score_table(paper, tables, metric=metric or metrics.pop())
    scale = 100.0 if any(value > 1 for row in values for value in row) else 1.0
    return [
        ComparedSystem(
            name,
            (
                ScoreFolder(
                    name,
                    {corpus: {"figure": row[place] / scale} for corpus, row in zip(corpora, values, strict=True)},
                ),
            ),
        )
        for place, name in enumerate(names)
    ]


def compare_systems(
    systems: Sequence[ComparedSystem],
    *,
    matching: str = "strict",
    metric: str | None = None,
    samples: int = 1000,
    seed: int = 0,
    alpha: float = 0.05,
    correction: str | None = "holm",
) -> ComparisonResult:
    """The values of all systems; each system against the first, document by document; for at least three systems on two corpora, their ranks.

    p of the tests by documents is corrected over all of them (Holm); more than `samples` are drawn if so few could show nothing significant.
    """
    shared = [name for name in systems[0].seeds[0].columns if all(name in system.columns() for system in systems)]
    if not shared:
        raise ScoreError("BX704", "the systems have no column in common", hint="score them on the same corpora")
    remarks = remarks_on(systems, shared)
    shared, without = _with_relations(systems, shared, matching)
    remarks += without
    values = {
        column: {
            system.name: tuple(
                figure_of(scores.columns[column], matching=matching, metric=metric) for scores in system.seeds
            )
            for system in systems
        }
        for column in shared
    }
    samples = enough(samples, tests=len(shared) * (len(systems) - 1), alpha=alpha)
    tests = _tests(systems, shared, matching, metric, samples, seed)
    ranking = None
    if len(systems) > 2 and len(shared) > 1:
        from biomux.scoring.ranks import rank_systems

        table = [[float(np.mean(values[column][system.name])) for system in systems] for column in shared]
        ranking = rank_systems(table, [system.name for system in systems], alpha=alpha, correction=correction)
    metric_name = (
        f"{matching} {metric or METRICS['spans']}"
        if any("spans" in _first(systems, column) for column in shared)
        else ""
    )
    if not metric_name and metric is None:
        mains = {str(_first(systems, column).get("main", {}).get("metric", "figure")) for column in shared}
        metric_name = mains.pop() if len(mains) == 1 else ""
    figure = metric_name or metric or "figure"
    return ComparisonResult(
        tuple(system.name for system in systems),
        figure,
        values,
        tuple(tests),
        ranking,
        tuple(remarks),
        _signature([str(_first(systems, column).get("signature", "")) for column in shared], figure),
    )


def _signature(lines: Sequence[str], figure: str) -> str:
    """The line under the values: what was compared, and what the columns' own lines have in common."""
    if not all(lines):
        return ""
    return f"{lines[0] if len(lines) == 1 else common_signature(lines)}|figure:{figure}"


def figure_of(column: Mapping[str, Any], *, matching: str = "strict", metric: str | None = None) -> float:
    """The figure of a column: by default that of METRICS. "macro-f1" and the like are averages over types."""
    if "figure" in column:
        return float(column["figure"])
    kind = _kind(column, matching) or "spans"
    _check_matching(column, kind, matching)
    if metric is None and _by_main(column, matching):
        return float(column["main"]["value"])
    metric_name = metric or METRICS[kind]
    try:
        if kind == "answers":
            return float(column["answers"][metric_name]["value"])
        if kind == "numbers":
            values = [value[metric_name] for value in column["numbers"].values()]
            return float(np.mean([math.nan if value is None else value for value in values]))
        if kind == "labels" and metric_name in {"accuracy", "exact"}:
            accuracy = column["labels"][metric_name]
            return float(accuracy["value"] if isinstance(accuracy, dict) else accuracy)
        if kind == "spans" and matching == "semeval":
            return float(column["spans"]["semeval"]["partial"][metric_name])
        table = column["labels"] if kind == "labels" else column[kind]["matchings"][_table(column, kind, matching)]
        average, name = ("macro", metric_name[6:]) if metric_name.startswith("macro-") else ("micro", metric_name)
        return float(table[average][name])
    except KeyError:
        raise UsageError(
            "BX001",
            f"there are no scores for --metric {metric_name} with --matching {matching}",
            where=f"column {column.get('name', '')!r}",
            hint="choose another --metric or --matching",
        ) from None


def _kind(column: Mapping[str, Any], matching: str) -> str | None:
    """What is compared in a column: relations if a matching of relations was chosen, else the first kind that it has."""
    if matching in RELATIONS and "relations" in column:
        return "relations"
    return next((kind for kind in METRICS if kind in column), None)


def _with_relations(
    systems: Sequence[ComparedSystem], shared: Sequence[str], matching: str
) -> tuple[list[str], list[str]]:
    """For a matching of relations: the columns that have relations, and a remark about the others."""
    if matching not in RELATIONS:
        return list(shared), []
    with_relations = [
        column
        for column in shared
        if all("relations" in seed.columns[column] for system in systems for seed in system.seeds)
    ]
    if not with_relations:
        raise UsageError(
            "BX001",
            f"--matching {matching} compares relations, but no column that all systems share has any",
            hint=f"choose from {', '.join(MATCHINGS)}, or score documents with relations",
        )
    without = [column for column in shared if column not in with_relations]
    return with_relations, [f"not compared, since there are no relations: {', '.join(without)}"] if without else []


def _check_matching(column: Mapping[str, Any], kind: str, matching: str) -> None:
    """Refuse a matching that the spans or relations of a column were not scored by."""
    if kind not in ("spans", "relations") or kind not in column or _by_main(column, matching):
        return
    scored_by = [*column[kind]["matchings"], *(["semeval"] if "semeval" in column[kind] else [])]
    if _table(column, kind, matching) not in scored_by:
        choices = ["relations" if (kind, name) == ("relations", "strict") else name for name in scored_by]
        raise UsageError(
            "BX001",
            f"the {kind} of column {column.get('name', '')!r} were not scored by {matching!r}",
            hint=f"choose --matching from {', '.join(choices)}",
        )


def _by_main(column: Mapping[str, Any], matching: str) -> bool:
    """Whether the main figure of a head that does not tag is meant."""
    return "main" in column and matching == "strict"


def _table(column: Mapping[str, Any], kind: str, matching: str) -> str:
    """The matching under which a column has the scores. Scores of relation heads have no direction."""
    if kind != "relations" or matching not in ("strict", "relations"):
        return matching
    return "strict" if "strict" in column["relations"]["matchings"] else "undirected"


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """Mean, and standard deviation of at least two.

    >>> spread([0.8, 0.9])["mean"], spread([0.8])["sd"]
    (0.85, None)
    """
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": round(float(np.mean(values)), 12), "sd": sd}


def argument_of(argument: str) -> tuple[str, str]:
    """LABEL=PATH as both; the label is empty if there is none. A path with an equals sign that exists is a path."""
    label, equals, folder = argument.partition("=")
    return (label, folder) if equals and folder and not Path(argument).exists() else ("", argument)


def _first(systems: Sequence[ComparedSystem], column: str) -> Mapping[str, Any]:
    return systems[0].seeds[0].columns[column]


def remarks_on(systems: Sequence[ComparedSystem], shared: Sequence[str]) -> list[str]:
    """Check that columns are of the same documents; other differences between signatures become remarks."""
    remarks = [
        f"{system.name}: not compared, since not all systems have it: {', '.join(unshared)}"
        for system in systems
        for scores in system.seeds
        if (unshared := sorted(set(scores.columns) - set(shared)))
    ]
    for system in systems:
        bare = [column for column in shared if any(seed.folder and not seed.has_rows(column) for seed in system.seeds)]
        if bare:
            remarks.append(f"{system.name}: not tested, since there is no counts.jsonl for {', '.join(bare)}")
    for column in shared:
        signatures: dict[str, dict[str, str]] = {}
        for system in systems:
            for scores in system.seeds:
                if line := scores.columns[column].get("signature"):
                    fields = read_signature(line)
                    signatures.setdefault(system.name, fields)
                    expected = next(iter(signatures.values()))
                    _same_documents(column, system.name, fields, expected)
                    first = next(iter(signatures))
                    remarks += [
                        f"{column}: {system.name} was scored with {name} {fields.get(name, 'none')}, {first} with {expected.get(name, 'none')}"
                        for name in sorted({*fields, *expected} - MODELS_OWN)
                        if fields.get(name) != expected.get(name)
                    ]
    return list(dict.fromkeys(remarks))


def _same_documents(column: str, system: str, fields: Mapping[str, str], expected: Mapping[str, str]) -> None:
    for name in ("split", "sha256"):
        if fields.get(name) != expected.get(name):
            raise ScoreError(
                "BX706",
                f"{system} was scored on other documents: {name} {fields.get(name)}, not {expected.get(name)}",
                where=f"column {column!r}",
                hint="score all systems on the same split of the same corpus",
            )


def _tests(
    systems: Sequence[ComparedSystem], shared: Sequence[str], matching: str, metric: str | None, samples: int, seed: int
) -> list[Test]:
    """Every other system against the first, on every column with rows of documents on both sides."""
    tested: list[tuple[str, str, str, Comparison]] = []
    for column in shared:
        for system in systems[1:]:
            comparison = compare_columns(
                systems[0], system, column, matching=matching, metric=metric, samples=samples, seed=seed
            )
            if comparison is not None:
                tested.append((column, systems[0].name, system.name, comparison))
    corrected = holm([comparison.p_randomisation for _, _, _, comparison in tested])
    return [Test(*test, p) for test, p in zip(tested, corrected, strict=True)]


def compare_columns(
    first: ComparedSystem,
    second: ComparedSystem,
    column: str,
    *,
    matching: str = "strict",
    metric: str | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> Comparison | None:
    """Two systems on one column, document by document; None where a side has no rows of documents, or the figure cannot be resampled."""
    column_scores = _first([first], column)
    kind = _kind(column_scores, matching)
    if metric is None and _by_main(column_scores, matching) and _by_main(_first([second], column), matching):
        return _compare_main(first, second, column, samples, seed)
    if kind is None or kind == "numbers" or matching == "semeval":
        return None
    metric_name = metric or METRICS[kind]
    if kind == "labels" and metric_name in {"accuracy", "exact"}:
        return None
    first_rows, second_rows = _rows(first, column), _rows(second, column)
    if not all(first_rows) or not all(second_rows):
        return None
    if kind == "answers":
        return _compare_answers(first_rows, second_rows, metric_name, samples, seed)
    by = "labels" if kind == "labels" else matching
    if kind == "relations":
        by = "relations" if _table(column_scores, kind, matching) == "strict" else _table(column_scores, kind, matching)
    even = math.lcm(len(first_rows), len(second_rows))
    return compare_documents(
        _pooled(first_rows, by, times=even // len(first_rows)),
        _pooled(second_rows, by, times=even // len(second_rows)),
        metric=metric_name,
        samples=samples,
        seed=seed,
    )


def _rows(system: ComparedSystem, column: str) -> list[list[dict[str, Any]]]:
    return [list(seed.rows(column)) for seed in system.seeds]


def _pooled(seeds: Sequence[Sequence[Mapping[str, Any]]], matching: str, *, times: int = 1) -> DocumentCounts:
    """Counts of a document summed over seeds. `times` evens out systems with different numbers of seeds."""
    counts_by_seed = [document_counts(_with(rows, matching), matching=matching) for rows in seeds]
    if any(set(counts.ids) != set(counts_by_seed[0].ids) for counts in counts_by_seed):
        raise ScoreError("BX701", "seeds were not scored on the same documents", hint="score all on the same split")
    types = tuple(sorted({name for counts in counts_by_seed for name in counts.types}))
    places = {id_: place for place, id_ in enumerate(counts_by_seed[0].ids)}
    total = np.zeros((len(places), len(types), 3), dtype=np.int64)
    for counts in counts_by_seed:
        rows = [places[id_] for id_ in counts.ids]
        total[np.ix_(rows, [types.index(name) for name in counts.types])] += times * counts.counts
    return DocumentCounts(counts_by_seed[0].ids, types, total)


def _with(rows: Sequence[Mapping[str, Any]], matching: str) -> Sequence[Mapping[str, Any]]:
    """Rows of documents without any label or relation have none of these counts: they are empty, not missing."""
    if matching not in ("labels", *RELATIONS):
        return rows
    return [{"id": row["id"], "counts": {matching: row["counts"].get(matching, {})}} for row in rows]


def _compare_main(
    first: ComparedSystem, second: ComparedSystem, column: str, samples: int, seed: int
) -> Comparison | None:
    """The main figure of a head that does not tag, from the rows that each document left."""
    sides = []
    for system in (first, second):
        seed_rows = []
        for scores, rows in zip(system.seeds, _rows(system, column), strict=True):
            main = scores.columns[column]["main"]
            if not rows or main["rows"] is None:
                return None
            if any("row" not in row or "id" not in row for row in rows):
                raise ScoreError("BX705", "a row has no id, or no values for the main metric", hint="score again")
            ids, values = [row["id"] for row in rows], [row["row"] for row in rows]
            seed_rows.append(
                read_rows({"figure": main["rows"], "classes": main["classes"], "ids": ids, "rows": values})
            )
        sides.append(seed_rows)
    even = math.lcm(*map(len, sides))
    first_rows, second_rows = (side * (even // len(side)) for side in sides)
    return compare_rows(first_rows, second_rows, samples=samples, seed=seed)


def _compare_answers(
    first: Sequence[Sequence[Mapping[str, Any]]],
    second: Sequence[Sequence[Mapping[str, Any]]],
    metric: str,
    samples: int,
    seed: int,
) -> Comparison:
    """Means of a document's questions, averaged over seeds, paired by id."""

    def means(seeds: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, float]:
        values: dict[str, list[float]] = {}
        for rows in seeds:
            for row in rows:
                if "values" in row:
                    values.setdefault(row["id"], []).append(row["values"][metric])
        return {id_: float(np.mean(figures)) for id_, figures in values.items()}

    first_means, second_means = means(first), means(second)
    if first_means.keys() != second_means.keys():
        raise ScoreError("BX701", "the systems did not answer the same documents", hint="score both on the same split")
    return compare_means(
        list(first_means.values()), [second_means[id_] for id_ in first_means], samples=samples, seed=seed
    )
