"""`biomux runs`: what runs there are, and how they compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biomux.cli.ui.display import duration, table
from biomux.errors import TrainingError, UsageError
from biomux.recipes.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of runs, or a single run.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per run, one per line.")] = False,
) -> None:
    """List and compare runs.

    Shows the recipe of each run, its state (running, stopped, failed, done), its best development score, the score of each task, the time
    it took and the tokens it read. The best runs come first. Runs of biomux pretrain follow, with the perplexity of held-out text before training
    and at its lowest; the lowest comes first. For runs that added heads to a bundle (biomux train --with), the scores are those of the new heads.

    Examples:

        biomux runs
        biomux runs experiments --json
    """
    if not folder.is_dir():
        raise UsageError(
            "BX002", "no such folder", where=str(folder), hint="name a folder of runs, or train a recipe first"
        )
    listed = sorted(map(describe, run_folders(folder)), key=_rank)
    if as_json:
        for run in listed:
            print(json.dumps(run, ensure_ascii=False))
        return
    tasks = list(dict.fromkeys(name for run in listed for name in run["scores"]))
    shown = tasks if len(tasks) <= SHOWN else []
    guessed = any(run["perplexity"] for run in listed)
    rows = [
        [
            run["run"],
            run["recipe"],
            run["state"],
            _percent(run["best"]),
            *(_percent(run["scores"].get(name)) for name in shown),
            *([_perplexity(run["perplexity"])] if guessed else []),
            f"{run['step']:,}/{run['steps']:,}" if run["steps"] else "",
            duration(run["seconds"]),
            f"{run['tokens']:,}",
        ]
        for run in listed
    ]
    header = ["run", "recipe", "state", "best", *shown, *(["perplexity"] if guessed else [])]
    table([*header, "steps", "time", "tokens"], rows)


SHOWN = 12
"""Tasks whose scores fit in the table; with more, `--json` has them."""


def run_folders(folder: Path) -> Iterator[Path]:
    """The folder itself if it is a run, otherwise the runs right below it, in order."""
    if _is_run(folder):
        yield folder
        return
    yield from filter(_is_run, sorted(folder.iterdir()))


def _is_run(folder: Path) -> bool:
    run = RunFolder(folder)
    return run.exists or run.pretraining or run.added is not None


def _rank(run: dict[str, Any]) -> tuple[bool, float, str]:
    """By score, the highest first; then runs of pre-training by perplexity, the lowest first."""
    perplexity = run["perplexity"]
    return run["kind"] == "pretrain", perplexity.get("best", 1e9) if perplexity else -(run["best"] or 0), run["run"]


def describe(folder: Path) -> dict[str, Any]:
    """What a run's files say. A damaged or missing file is not an error: the run may be writing it."""
    run = RunFolder(folder)
    if run.added is not None:
        return _added(folder, run.added)
    try:
        name = run.recipe_mapping.get("name", "?")
    except TrainingError:
        name = "?"
    events = [event for event in run.events() if event is not None]
    last: dict[str, Any] = {}
    for event in events:
        if event.get("event") in ("step", "end"):
            last |= event
    task_scores = run.scores.get("tasks")
    tasks = {task: _main(figures) for task, figures in task_scores.items()} if isinstance(task_scores, dict) else {}
    best = _number(last.get("best"), -1.0)
    if run.pretraining:
        best = -1.0  # the loop's own score is the inverse of the perplexity, no share of anything
    guesses = {"before": run.scores.get("before"), "best": run.scores.get("perplexity")} if run.pretraining else {}
    return {
        "run": str(folder),
        "recipe": name,
        "kind": "pretrain" if run.pretraining else "train",
        "state": _state(folder, events),
        "best": best if best >= 0 else _number(run.scores.get("mean", run.scores.get("mean_f1")), None),
        "scores": tasks,
        "perplexity": {what: value for what, value in guesses.items() if _number(value, None) is not None},
        "step": _number(last.get("step"), 0),
        "steps": _number(last.get("total"), 0),
        "seconds": round(_number(last.get("seconds"), 0.0), 1),
        "tokens": _number(last.get("tokens"), 0),
        "machine": run.machine,
    }


def _added(folder: Path, content: dict[str, Any]) -> dict[str, Any]:
    """What `biomux train --with` says of the heads that it added; the scores are of the way that was taken."""
    heads = content.get("heads")
    heads = heads if isinstance(heads, dict) else {}
    taken = {
        name: _number((head_scores.get("development_f1") or {}).get(head_scores.get("taken")), None)
        for name, head_scores in heads.items()
    }
    scores = {name: value for name, value in taken.items() if value is not None}
    return {
        "run": str(folder),
        "recipe": "+".join(heads) or "?",
        "kind": "add",
        "state": "done",
        "best": sum(scores.values()) / len(scores) if scores else None,
        "scores": scores,
        "perplexity": {},
        "step": 0,
        "steps": 0,
        "seconds": round(_number(content.get("seconds"), 0.0), 1),
        "tokens": 0,
        "machine": {},
    }


def _state(folder: Path, events: list[dict[str, Any]]) -> str:
    """Running if a living process holds the lock; otherwise as the journal ends. One that was killed could not say so: it is stopped."""
    from biomux.files import in_use

    if in_use(folder):
        return "running"
    kind = next((event["event"] for event in reversed(events) if event.get("event") in ("end", "failed")), "stopped")
    begun = max((index for index, event in enumerate(events) if event.get("event") == "start"), default=-1)
    ended = max((index for index, event in enumerate(events) if event.get("event") == kind), default=-1)
    return {"end": "done", "failed": "failed"}.get(kind, "stopped") if ended > begun else "stopped"


def _main(figures: Any) -> float | None:
    if not isinstance(figures, dict):
        return None
    figure: float | None = _number(figures.get(str(figures.get("main", "f1"))), None)
    return figure


def _number(value: Any, otherwise: Any) -> Any:
    """The value if it is a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _perplexity(perplexity: dict[str, float]) -> str:
    return " → ".join(f"{perplexity[key]:.2f}" for key in ("before", "best") if key in perplexity)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"
