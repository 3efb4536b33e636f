"""A run: the directory that a recipe leaves behind.

RUN/
├── recipe.yaml          the recipe, fully expanded
├── counts.json          examples, mentions dropped and why, leaks taken out
├── journal.jsonl        one line an event: steps, scores, checkpoints
├── scores.json          the last development scores
├── model.safetensors    the best weights by development score
├── model.json           what the weights are: encoder configuration, heads and their labels
├── tokenizer.json
└── checkpoints/last/    everything needed to go on
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import yaml

from biomux.errors import TrainingError
from biomux.learn import checkpoint, loop
from biomux.learn.build import Built, build
from biomux.recipes.read import check
from biomux.scoring.spans import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from biomux.recipes.schema import Recipe


def start(
    recipe: Recipe,
    folder: Path,
    *,
    directory: Path | None = None,
    quick: float | None = None,
    listen: Callable[[dict[str, Any]], None] = lambda _: None,
) -> loop.Progress:
    """Train a recipe into a folder; a folder with an unfinished run of the same recipe is gone on with."""
    kept = folder / "recipe.yaml"
    if kept.exists() and recipe_of(folder) != recipe:
        raise TrainingError(
            "BX405",
            "the folder holds a run of another recipe",
            where=str(folder),
            hint="name another folder with --run",
        )
    folder.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        expanded = yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        kept.write_text(expanded, encoding="utf-8")
    journal = _journal(folder, listen)
    journal({"event": "start", "resumed": checkpoint.find(folder / "checkpoints" / "last") is not None})
    if recipe.loop.threads:
        import torch

        torch.set_num_threads(recipe.loop.threads)
    built = build(recipe, directory=directory, quick=quick)
    _describe(built, folder)
    counts = {name: dict(found) for name, found in built.counts.items()}
    told = {"examples": counts, "leaks": built.leaks.to_json() if built.leaks else None}
    (folder / "counts.json").write_text(json.dumps(told, indent=2) + "\n")
    journal(
        {
            "event": "examples",
            "number": len(built.examples),
            "pieces": sum(len(example.pieces) for example in built.examples),
        }
    )

    def evaluate() -> float | None:
        return _evaluate(built, folder, journal) if built.development else None

    progress = loop.train(
        loop.Run(
            folder,
            built.model,
            built.plan,
            recipe.loop,
            built.examples,
            built.specials,
            evaluate,
            journal,
            patience=recipe.development.patience,
        )
    )
    journal({"event": "end", **vars(progress)})
    return progress


def resume(folder: Path, **options: Any) -> loop.Progress:
    """Go on with the run in a folder."""
    return start(recipe_of(folder), folder, **options)


def recipe_of(folder: Path) -> Recipe:
    """The recipe that a run was made with."""
    path = folder / "recipe.yaml"
    if not path.is_file():
        raise TrainingError(
            "BX405", "there is no run here", where=str(folder), hint="name the folder that `biomux train` made"
        )
    return check(yaml.safe_load(path.read_text(encoding="utf-8")), where=str(path))


def _evaluate(built: Built, folder: Path, journal: Callable[[dict[str, Any]], None]) -> float:
    """Strict F1 of every task on its development documents, and their mean."""
    annotator = built.annotator()
    begun = time.monotonic()
    told: dict[str, Any] = {}
    for name, documents in built.development.items():
        bare = (replace(document, spans=(), relations=()) for document in documents)
        found = score(zip(documents, annotator.annotate(bare, heads=[name]), strict=True), matchings=("strict",))[
            "strict"
        ]
        told[name] = {"f1": found.f1, "precision": found.precision, "recall": found.recall}
    mean = float(sum(scores["f1"] for scores in told.values()) / len(told))
    (folder / "scores.json").write_text(json.dumps({"mean_f1": mean, "tasks": told}, indent=2) + "\n")
    rounded = {name: round(100 * scores["f1"], 2) for name, scores in told.items()}
    journal(
        {"event": "scores", "mean": round(100 * mean, 2), "f1": rounded, "seconds": round(time.monotonic() - begun, 1)}
    )
    return mean


def _describe(built: Built, folder: Path) -> None:
    """Write what the weights are, so that the run can be loaded without its corpora."""
    described = {
        "encoder": built.model.encoder.describe(),
        "specials": asdict(built.specials),
        "limit": built.limit,
        "tasks": [asdict(task) for task in built.tasks],
    }
    (folder / "model.json").write_text(json.dumps(described, indent=2, default=str) + "\n")
    built.tokenizer.save(str(folder / "tokenizer.json"))


def _journal(folder: Path, listen: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    def write(event: dict[str, Any]) -> None:
        stamped = {"time": round(time.time(), 1), **event}
        with (folder / "journal.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(stamped) + "\n")
        listen(stamped)

    return write
