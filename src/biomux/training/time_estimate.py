"""How long a recipe would take on this machine: measured on a few of its own batches, and not guessed."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from biomux.training import device, distil, loop, optimizers, precision, step_teacher
from biomux.training.build import Built, build
from biomux.training.development_scores import predict
from biomux.training.task_documents import check

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from biomux.corpora.leaks import LeakReport
    from biomux.recipes.schema import Recipe

MEASURE = 10.0
"""Seconds that steps are measured for, after one that warms up."""
SCORED = 20
"""Development documents of each task that scoring is measured on."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would do. `sizes` gives each task's examples and tokens, `epochs` the steps and tokens of each epoch."""

    counts: Mapping[str, Counter[str]]
    sizes: Mapping[str, tuple[int, int]]
    leaks: LeakReport | None
    epochs: Sequence[tuple[int, int]]
    parameters: int
    moving: int
    development: int
    measured: int
    speed: float
    seconds: float
    scoring: float


def estimate(recipe: Recipe, *, directory: Path | None = None, measure: float = MEASURE) -> Estimate:
    """Build everything that a run needs, take some steps on its batches for `measure` seconds, and throw the result away."""
    check(recipe, directory)
    place = device.choose(recipe.loop.device)
    precision.choose(recipe.loop.precision, place)
    if recipe.loop.threads:
        torch.set_num_threads(recipe.loop.threads)
    built = build(recipe, directory=directory)
    built.model.to(place)
    plan, teacher = distil.beside(recipe.distil, built.plan, built.model, built.tokenizer)
    settings = recipe.loop
    lengths = [example.input.size for example in built.examples]
    with tempfile.TemporaryDirectory() as folder:
        run = loop.LoopInputs(
            Path(folder),
            built.model,
            plan,
            settings,
            built.examples,
            built.specials,
            lambda: None,
            lambda _: None,
            teacher=teacher,
        )
        run.projections = step_teacher.projections(run.model, plan, teacher)
        measured, seconds = _steps(run, loop.layout(run, 0), measure)
        per_epoch = _epochs(run, lengths)
    rounds = -(-len(per_epoch) // recipe.development.every) + 1 if built.development else 0
    sizes: dict[str, tuple[int, int]] = {}
    for example in built.examples:
        number, tokens = sizes.get(example.task, (0, 0))
        sizes[example.task] = number + 1, tokens + len(example.tokens)
    moving = [one for one in built.model.parameters() if one.requires_grad]
    speed = measured / max(seconds, 1e-9)
    return Estimate(
        counts=built.counts,
        sizes=sizes,
        leaks=built.leaks,
        epochs=per_epoch,
        parameters=sum(one.numel() for one in built.model.parameters()),
        moving=sum(one.numel() for one in moving),
        development=sum(map(len, built.development.values())),
        measured=measured,
        speed=speed,
        seconds=sum(tokens for _, tokens in per_epoch) / speed,
        scoring=rounds * _scoring(built),
    )


def _epochs(run: loop.LoopInputs, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Steps and tokens of each epoch, the last one as far as it goes."""
    found: list[tuple[int, int]] = []
    left = run.settings.steps
    while left > 0 if left is not None else len(found) < run.settings.epochs:
        batches = loop.layout(run, len(found))
        batches = batches if left is None else batches[: left * run.settings.accumulate]
        steps = -(-len(batches) // run.settings.accumulate)
        found.append((steps, sum(lengths[index] for batch in batches for index in batch)))
        left = None if left is None else left - steps
    return found


def _steps(run: loop.LoopInputs, batches: Sequence[Sequence[int]], measure: float) -> tuple[int, float]:
    """Tokens and seconds of some steps."""
    step_optimizers: Any = optimizers.of_plan(run.model, run.plan, run.settings, run.weights | run.beside)
    size = run.settings.accumulate
    steps = [batches[at : at + size] for at in range(0, len(batches), size)]
    run.model.train()
    loop.step(run, step_optimizers, steps[0])
    tokens, seconds = 0, 0.0
    for chosen in steps:
        begun = time.perf_counter()
        tokens += loop.step(run, step_optimizers, chosen)[1]
        seconds += time.perf_counter() - begun
        if seconds >= measure:
            break
    return tokens, seconds


def _scoring(built: Built) -> float:
    """Seconds that scoring the development documents once takes."""
    total = 0.0
    annotator = built.annotator()
    tasks = {task.name: task for task in built.tasks}
    for name, documents in built.development.items():
        some = documents[:SCORED]
        begun = time.perf_counter()
        predict(annotator, tasks[name], some)
        total += (time.perf_counter() - begun) * len(documents) / max(len(some), 1)
    return total
