"""The inputs of a report: folders and files that other commands wrote, each recognised by what it contains.

| input | made by | recognised by |
|---|---|---|
| run | `biomux train`, `biomux pretrain` | recipe.yaml, pretraining.yaml |
| scores | `biomux evaluate -o`, `biomux score -o` | scores.json |
| study | `biomux study`, `biomux transfer` | study.json |
| bundle | `biomux export` | manifest.json |
| bench | `biomux bench --json > FILE` | a JSON file with a throughput |
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from biomux.errors import BundleError, ScoreError, UsageError
from biomux.evaluation import score_folder
from biomux.evaluation.compare import argument_of
from biomux.recipes.run_folder import PRETRAINING, RECIPE, SCORES, RunFolder
from biomux.report.journal import History, history

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.evaluation.score_folder import ScoreFolder

Kind = Literal["run", "scores", "study", "bundle", "bench"]

SIGNS: tuple[tuple[str, Kind], ...] = (
    ("study.json", "study"),
    (RECIPE, "run"),
    (PRETRAINING, "run"),
    ("manifest.json", "bundle"),
    ("scores.json", "scores"),
)
"""The file by which each kind of folder is recognised, in the order they are tried."""


@dataclass(frozen=True, slots=True)
class ReportRun:
    """A run: its recipe as plain data, its journal, and its development scores (None while it has none)."""

    name: str
    folder: Path
    recipe: Mapping[str, Any]
    history: History
    scores: ScoreFolder | None
    machine: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportBundle:
    """A bundle's folder and its manifest. It is described, not loaded: nothing in it is run."""

    name: str
    folder: Path
    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """What `biomux bench --json` wrote."""

    name: str
    found: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportStudy:
    """A study's folder and its report.json; None while it has none."""

    name: str
    folder: Path
    found: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Given:
    """Everything that was given, by kind, in its order. `scores` holds the arguments too, for `compare.systems_of`."""

    runs: list[ReportRun] = field(default_factory=list)
    scores: list[tuple[str, ScoreFolder]] = field(default_factory=list)
    bundles: list[ReportBundle] = field(default_factory=list)
    benches: list[Bench] = field(default_factory=list)
    studies: list[ReportStudy] = field(default_factory=list)


def read(arguments: Sequence[str]) -> Given:
    """Read PATH or LABEL=PATH of any kind; anything else is refused."""
    from biomux.engine.load import find

    inputs = Given()
    for argument in arguments:
        label, path = argument_of(argument)
        name = label or Path(path).resolve().name
        # As wherever a model is named, the folder of a run that added a head means its bundle.
        place = find(path) if Path(path).is_dir() else Path(path)
        kind = kind_of(place)
        if kind == "run":
            inputs.runs.append(read_run(place, name=name))
        elif kind == "scores":
            inputs.scores.append((argument, score_folder.read(place, system=label or None)))
        elif kind == "bundle":
            content = _object(place / "manifest.json", BundleError("BX502", "cannot read the manifest"))
            if content.get("format") != "biomux-bundle":
                raise BundleError(
                    "BX502", "not a bundle", where=str(place), hint="name a folder that `biomux export` made"
                )
            inputs.bundles.append(ReportBundle(name, place, content))
        elif kind == "study":
            inputs.studies.append(_study(place, label))
        else:
            refused = UsageError(
                "BX001",
                "the file is not what `biomux bench --json` writes",
                where=str(place),
                hint="measure with: biomux bench BUNDLE --json > bench.json",
            )
            content = _object(place, refused)
            if not isinstance(content.get("throughput"), dict):
                raise refused
            inputs.benches.append(Bench(label or place.stem, content))
    return inputs


def kind_of(place: Path) -> Kind:
    """What a path is, by the files that it holds."""
    if place.is_file():
        return "bench"
    if not place.is_dir():
        raise UsageError("BX002", "no such file or folder", where=str(place), hint="check the path")
    for sign, kind in SIGNS:
        if (place / sign).is_file():
            return kind
    raise UsageError(
        "BX001",
        "the folder is neither a run nor scores, a study or a bundle",
        where=str(place),
        hint="name a folder that biomux train, pretrain, evaluate -o, score -o, study, transfer or export made",
    )


def read_run(folder: Path, *, name: str) -> ReportRun:
    """A run, finished or not."""
    run = RunFolder(folder)
    scored = (folder / SCORES).is_file() and not run.pretraining  # a perplexity is not a score of documents
    scores = score_folder.read(folder, system=name) if scored else None
    return ReportRun(name, folder, run.recipe_mapping, history(run.events()), scores, run.machine)


def _study(folder: Path, label: str) -> ReportStudy:
    manifest = _object(folder / "study.json", ScoreError("BX705", "cannot read the study's manifest"))
    content = None
    if (folder / "report.json").is_file():
        content = _object(folder / "report.json", ScoreError("BX705", "cannot read the study's report"))
    described = manifest.get("study")
    name = described.get("name") if isinstance(described, dict) else None
    return ReportStudy(label or str(name or folder.resolve().name), folder, content)


def _object(path: Path, refused: UsageError | BundleError | ScoreError) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise type(refused)(refused.code, refused.message, where=str(path), hint=refused.hint or "make it again")
    return content
