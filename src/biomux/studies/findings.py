"""What a study found: values over seeds, and tests between systems on the same documents. Read from the study's folder alone.

Tests resample documents, so they say whether two systems, as they were trained, differ on documents like these. How much a system changes with
its seed is what the standard deviation says; no test here covers that. A difference counts if bootstrap and randomisation both find it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.errors import ScoreError, UsageError
from biomux.evaluation.compare import spread
from biomux.evaluation.comparison_tables import p_value
from biomux.scoring.document_rows import DocumentRows, compare_rows, read_rows
from biomux.scoring.significance import Comparison, holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT = "biomux-study"
VERSION = 1


@dataclass(frozen=True, slots=True)
class ScoredMember:
    """One task of one member that is finished."""

    task: str
    system: str
    point: str
    seed: int
    value: float
    figures: Mapping[str, float]
    main: str
    corpus: str
    documents: int
    sha256: str
    rows: DocumentRows | None


@dataclass(frozen=True, slots=True)
class Found:
    """A study's folder as it was read: the manifest, and the scores of each finished member."""

    folder: Path
    manifest: Mapping[str, Any]
    scored: tuple[ScoredMember, ...]

    @property
    def name(self) -> str:
        """The study's name."""
        return str(self.manifest["study"]["name"])

    @property
    def failed(self) -> list[Mapping[str, Any]]:
        """Members that failed, or were not tried."""
        return [member for member in self.manifest["members"] if member["state"] != "done"]

    def tasks(self) -> list[str]:
        """The tasks that were scored, in the order of the members."""
        return list(dict.fromkeys(scored_member.task for scored_member in self.scored))

    def of(self, task: str, system: str, point: str = "") -> dict[int, ScoredMember]:
        """Seed → what a system scored on a task at a point."""
        return {
            scored_member.seed: scored_member
            for scored_member in self.scored
            if (scored_member.task, scored_member.system, scored_member.point) == (task, system, point)
        }


def read(folder: Path) -> Found:
    """Read a study's folder."""
    path = folder / "study.json"
    try:
        manifest = json.loads(path.read_bytes())
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            raise ValueError(f"its format is {manifest.get('format')!r}, version {manifest.get('version')!r}")
        scored = [
            scored_member
            for member in manifest["members"]
            if member["state"] == "done"
            for scored_member in _member(folder, member)
        ]
    except FileNotFoundError as error:
        raise ScoreError(
            "BX704",
            "not a study, or a part of it is missing",
            where=str(error.filename),
            hint="name a folder that `biomux study` or `biomux transfer` made",
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ScoreError("BX705", f"cannot read the study: {error}", where=str(path), hint="run it again") from None
    study = Found(folder, manifest, tuple(scored))
    _same_documents(study)
    return study


def report(found: Found) -> dict[str, Any]:
    """Values of every task, point and system, and each system against the first; plain JSON."""
    systems = list(dict.fromkeys(member["system"] for member in found.manifest["members"]))
    points = list(dict.fromkeys(point_of(member) for member in found.manifest["members"]))
    values: list[dict[str, Any]] = []
    pairs: list[tuple[dict[str, Any], Comparison]] = []
    remarks: list[str] = []
    for task in found.tasks():
        have = [name for name in systems if any(found.of(task, name, point) for point in points)]
        for point in points:
            for system in have:
                seeds = found.of(task, system, point)
                if seeds:
                    values.append(_value(task, point, system, seeds))
            for system in have[1:]:
                outcome = test(found.of(task, have[0], point), found.of(task, system, point), found.manifest)
                if outcome is not None:
                    comparison, remark = outcome
                    remarks += [f"{task}, {point or 'all'}: {remark}"] if remark else []
                    pairs.append(({"task": task, "point": point, "first": have[0], "second": system}, comparison))
    corrected = holm([both(comparison) for _, comparison in pairs])
    tests = [
        {**labels, **tested(comparison), "p_holm": p} for (labels, comparison), p in zip(pairs, corrected, strict=True)
    ]
    ranks: list[dict[str, Any]] = []
    try:
        ranks = _ranks(values, points, found.manifest["alpha"])
    except UsageError as error:
        remarks.append(f"the systems are not ranked: {error.message} ({error.hint})")
    return {
        **head(found),
        "axes": _axes(found),
        "systems": systems,
        "points": points,
        "values": values,
        "tests": tests,
        "ranks": ranks,
        "alarms": [alarm for row in tests if (alarm := _alarm(found, row))],
        "remarks": list(dict.fromkeys(remarks)),
    }


def _ranks(values: Sequence[Mapping[str, Any]], points: Sequence[str], alpha: float) -> list[dict[str, Any]]:
    """At each point the systems ranked by their means, over the tasks that all of them have. None for fewer than three systems or two tasks."""
    from biomux.scoring.ranks import rank_systems

    ranked = []
    for point in points:
        means: dict[str, dict[str, float]] = {}
        for value in values:
            if value["point"] == point:
                means.setdefault(value["task"], {})[value["system"]] = value["mean"]
        systems = list(dict.fromkeys(system for by_system in means.values() for system in by_system))
        table = [
            [by_system[name] for name in systems] for by_system in means.values() if len(by_system) == len(systems)
        ]
        if len(systems) > 2 and len(table) > 1:
            ranked.append({"point": point, **rank_systems(table, systems, alpha=alpha).to_json()})
    return ranked


def _alarm(study: Found, test: Mapping[str, Any]) -> str | None:
    """The alarm for a system of several tasks that is significantly worse than one that learned this task alone."""

    def alone(system: str) -> bool:
        members = study.manifest["members"]
        return all(
            len(member["tasks"]) == 1
            for member in members
            if member["system"] == system and test["task"] in member["tasks"]
        )

    first, second = test["first"], test["second"]
    lower, higher = (second, first) if test["difference"] < 0 else (first, second)
    if test["p_holm"] >= study.manifest["alpha"] or alone(lower) or not alone(higher):
        return None
    at = f" ({test['point']})" if test["point"] else ""
    low, high = sorted((test["first_value"], test["second_value"]))
    return (
        f"{test['task']}{at}: {lower}, which learned several tasks, is {100 * (high - low):.2f} points below {higher}, which learned this one "
        f"alone ({100 * low:.2f} against {100 * high:.2f}, p = {p_value(test['p_holm'])} by Holm)"
    )


def head(found: Found) -> dict[str, Any]:
    """What every study's report.json begins with."""
    members = found.manifest["members"]
    return {
        "format": f"{FORMAT}-report",
        "version": VERSION,
        "biomux": found.manifest["biomux"],
        "kind": found.manifest["kind"],
        "name": found.name,
        "about": found.manifest["study"].get("about", ""),
        "paper": found.manifest["study"].get("paper"),
        "table": found.manifest["study"].get("table"),
        "split": found.manifest["split"],
        "alpha": found.manifest["alpha"],
        "members": {"done": len(members) - len(found.failed), "of": len(members)},
        "failed": [
            {"name": member["name"], "state": member["state"], "error": member["error"]} for member in found.failed
        ],
        "seconds": round(sum(member["seconds"] for member in members), 1),
        "tokens": sum(member["tokens"] for member in members),
        "machine": found.manifest["machine"],
        "documents": {task: _documents(found, task) for task in found.tasks()},
    }


def test(
    first: Mapping[int, ScoredMember], second: Mapping[int, ScoredMember], manifest: Mapping[str, Any]
) -> tuple[Comparison, str] | None:
    """`second` minus `first` over the seeds that both have, with remarks; None if there are no rows."""
    seeds = [seed for seed in first if seed in second]
    first_rows, second_rows = ([side[seed].rows for seed in seeds] for side in (first, second))
    known_left, known_right = [rows for rows in first_rows if rows], [rows for rows in second_rows if rows]
    if not seeds or len(known_left) < len(seeds) or len(known_right) < len(seeds):
        return None
    uneven = "" if set(first) == set(second) else f"tested only on seeds {', '.join(map(str, seeds))}, which both have"
    return compare_rows(known_right, known_left, samples=manifest["samples"]), uneven


def both(comparison: Comparison) -> float:
    """The larger p of the two tests: a difference counts if both find it.

    Where a figure depends on a few documents (one hit, many false alarms), randomisation alone may find significant what a resample would lose.
    """
    return max(comparison.p_bootstrap, comparison.p_randomisation)


def tested(comparison: Comparison) -> dict[str, Any]:
    """A comparison of a second system with a first, as in report.json: `difference` is second minus first."""
    fields = comparison.to_json()
    return {"second_value": fields.pop("first"), "first_value": fields.pop("second"), **fields}


def point_of(member: Mapping[str, Any]) -> str:
    """A point as text: its values, with their names where there are several.

    >>> point_of({"point": {"fraction": 0.5}}), point_of({"point": {"fraction": 0.5, "corpus": "bc5cdr"}})
    ('0.5', 'fraction 0.5, corpus bc5cdr')
    """
    point = member["point"]
    if len(point) == 1:
        return str(next(iter(point.values())))
    return ", ".join(f"{name} {value}" for name, value in point.items())


def _value(task: str, point: str, system: str, seeds: Mapping[int, ScoredMember]) -> dict[str, Any]:
    values = {seed: seeds[seed].value for seed in sorted(seeds)}
    return {
        "task": task,
        "point": point,
        "system": system,
        "seeds": {str(seed): value for seed, value in values.items()},
        **spread(list(values.values())),
    }


def _documents(study: Found, task: str) -> dict[str, Any]:
    """What a task was scored on; if a grid has several corpora, all are named."""
    by_checksum = {scored_member.sha256: scored_member for scored_member in study.scored if scored_member.task == task}
    first = next(iter(by_checksum.values()))
    return {
        "corpus": "+".join(dict.fromkeys(scored_member.corpus for scored_member in by_checksum.values())),
        "documents": sum(scored_member.documents for scored_member in by_checksum.values()),
        "sha256": first.sha256 if len(by_checksum) == 1 else "several",
        "main": first.main,
    }


def _axes(study: Found) -> list[str]:
    return list(dict.fromkeys(name for member in study.manifest["members"] for name in member["point"]))


def _member(folder: Path, member: Mapping[str, Any]) -> list[ScoredMember]:
    place = folder / member["scored"]
    scores = json.loads((place / "scores.json").read_bytes())
    scored = []
    for task, scores_of_task in scores["tasks"].items():
        path = place / f"{task}.rows.json"
        rows = read_rows(json.loads(path.read_bytes())) if path.is_file() else None
        scored.append(
            ScoredMember(
                task,
                member["system"],
                point_of(member),
                member["seed"],
                scores_of_task["value"],
                scores_of_task["figures"],
                scores_of_task["main"],
                scores_of_task["corpus"],
                scores_of_task["documents"],
                scores_of_task["sha256"],
                rows,
            )
        )
    return scored


def _same_documents(study: Found) -> None:
    """Members of one task at one point must have been scored on the same documents."""
    first_scored: dict[tuple[str, str], ScoredMember] = {}
    for member in study.scored:
        first = first_scored.setdefault((member.task, member.point), member)
        if first.sha256 != member.sha256:
            raise ScoreError(
                "BX706",
                f"{member.system} and {first.system} were scored on different documents",
                where=f"{study.folder}: task {member.task!r}",
                hint="give tasks that are compared the same corpus, or other names",
            )


def systems_of(values: Sequence[Mapping[str, Any]], task: str) -> dict[str, dict[str, list[float]]]:
    """Point → system → the values of its seeds, of one task."""
    by_point: dict[str, dict[str, list[float]]] = {}
    for value in values:
        if value["task"] == task:
            by_point.setdefault(value["point"], {})[value["system"]] = list(value["seeds"].values())
    return by_point
