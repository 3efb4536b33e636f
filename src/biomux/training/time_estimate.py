"""How long a recipe would take on this machine: measured on a few of its own batches, not guessed."""

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
"""Development documents of each task that scoring is measured on, at most."""
SCORING = 5.0
"""Seconds after which no more of a task's documents are scored: an article with fourteen questions may take half a minute by itself."""


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
    rounds = -(-len(per_epoch) // recipe.development.every) if built.development else 0
    sizes: dict[str, tuple[int, int]] = {}
    for example in built.examples:
        number, tokens = sizes.get(example.task, (0, 0))
        sizes[example.task] = number + 1, tokens + len(example.tokens)
    moving = [parameter for parameter in built.model.parameters() if parameter.requires_grad]
    speed = measured / max(seconds, 1e-9)
    return Estimate(
        counts=built.counts,
        sizes=sizes,
        leaks=built.leaks,
        epochs=per_epoch,
        parameters=sum(parameter.numel() for parameter in built.model.parameters()),
        moving=sum(parameter.numel() for parameter in moving),
        development=sum(map(len, built.development.values())),
        measured=measured,
        speed=speed,
        seconds=sum(tokens for _, tokens in per_epoch) / speed,
        scoring=rounds * _scoring(built),
    )


def _epochs(run: loop.LoopInputs, lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Steps and tokens of each epoch, the last one possibly cut short."""
    epochs: list[tuple[int, int]] = []
    steps_left = run.settings.steps
    while steps_left > 0 if steps_left is not None else len(epochs) < run.settings.epochs:
        batches = loop.layout(run, len(epochs))
        batches = batches if steps_left is None else batches[: steps_left * run.settings.accumulate]
        steps = -(-len(batches) // run.settings.accumulate)
        epochs.append((steps, sum(lengths[index] for batch in batches for index in batch)))
        steps_left = None if steps_left is None else steps_left - steps
    return epochs


def _steps(run: loop.LoopInputs, batches: Sequence[Sequence[int]], measure: float) -> tuple[int, float]:
    """Tokens and seconds of some steps."""
    step_optimizers: Any = optimizers.of_plan(run.model, run.plan, run.settings, run.weights | run.beside)
    size = run.settings.accumulate
    steps = [batches[at : at + size] for at in range(0, len(batches), size)]
    run.model.train()
    loop.step(run, step_optimizers, steps[0])
    tokens, seconds = 0, 0.0
    for chosen in steps:
        started = time.perf_counter()
        tokens += loop.step(run, step_optimizers, chosen)[1]
        seconds += time.perf_counter() - started
        if seconds >= measure:
            break
    return tokens, seconds


def _scoring(built: Built) -> float:
    """Seconds to score the development documents once, from one, two, four … documents of each task."""
    total = 0.0
    annotator = built.annotator()
    tasks = {task.name: task for task in built.tasks}
    for name, documents in built.development.items():
        scored, seconds = 0, 0.0
        while scored < min(SCORED, len(documents)) and seconds < SCORING:
            sample = documents[scored : min(SCORED, max(1, 2 * scored))]
            started = time.perf_counter()
            predict(annotator, tasks[name], sample)
            seconds += time.perf_counter() - started
            scored += len(sample)
        total += seconds * len(documents) / max(scored, 1)
    return total
