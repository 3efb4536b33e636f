"""The one training loop. It runs any plan; it knows no paper, no task and no corpus."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from biomux.errors import TrainingError
from biomux.learn import checkpoint, optimizers
from biomux.learn.batches import collate, epoch_batches
from biomux.learn.objectives import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor

    from biomux.engine.packing import Specials
    from biomux.learn.batches import LearnBatch
    from biomux.learn.examples import Example
    from biomux.learn.model import Model
    from biomux.learn.plan import Plan
    from biomux.recipes.schema import Loop

REPORT_EVERY = 10.0
"""Seconds between two journal entries about the loss."""


@dataclass
class Progress:
    """How far a run is. `best` is the best development score so far; `waited` counts epochs since."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    pieces: int = 0
    seconds: float = 0.0
    best: float = -1.0
    waited: int = 0
    done: bool = False


@dataclass
class Run:
    """Everything that the loop needs."""

    folder: Path
    model: Model
    plan: Plan
    settings: Loop
    examples: Sequence[Example]
    specials: Specials
    evaluate: Callable[[], float | None]
    journal: Callable[[dict[str, Any]], None]
    patience: int | None = None
    progress: Progress = field(default_factory=Progress)


def train(run: Run) -> Progress:
    """Train to the end, or on from the last checkpoint; Ctrl-C leaves a checkpoint to go on from."""
    settings, place = run.settings, run.folder / "checkpoints" / "last"
    torch.manual_seed(settings.seed)
    optimizer = optimizers.build(run.model, settings, moves=run.plan.moves)
    rates = [group["lr"] for group in optimizer.param_groups]
    average = _average(run)
    found = checkpoint.find(place)
    if found:
        told, extra = checkpoint.load(found, model=run.model, optimizers={"shared": optimizer})
        run.progress = Progress(**told)
        average.update({name: value for name, value in extra.items() if name in average})
    epochs = [
        epoch_batches(
            run.examples,
            run.plan.draw,
            epoch=epoch,
            epochs=settings.epochs,
            budget=settings.batch_pieces,
            seed=settings.seed,
        )
        for epoch in range(settings.epochs)
    ]
    total = sum(-(-len(batches) // settings.accumulate) for batches in epochs)
    progress, window = run.progress, _Window()
    saved = time.monotonic()

    def save() -> None:
        checkpoint.save(
            place, model=run.model, optimizers={"shared": optimizer}, extra=average, progress=vars(progress)
        )

    try:
        while progress.epoch < settings.epochs and not progress.done:
            batches = epochs[progress.epoch]
            run.model.train()
            while progress.batch < len(batches):
                begun = time.monotonic()
                share = optimizers.scale(progress.step, total=total, warmup=settings.warmup, schedule=settings.schedule)
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * share
                chosen = batches[progress.batch : progress.batch + settings.accumulate]
                losses, pieces = _step(run, optimizer, chosen)
                _follow(average, run.model, settings.ema)
                progress.batch += len(chosen)
                progress.step += 1
                progress.pieces += pieces
                progress.seconds += time.monotonic() - begun
                window.add(losses, pieces, time.monotonic() - begun)
                if window.seconds >= REPORT_EVERY or progress.batch >= len(batches):
                    run.journal({"event": "step", "total": total, "rate": share, **vars(progress), **window.take()})
                if time.monotonic() - saved > settings.checkpoint_minutes * 60:
                    save()
                    saved = time.monotonic()
            progress.epoch, progress.batch = progress.epoch + 1, 0
            _judge(run, average, save)
            saved = time.monotonic()
    except KeyboardInterrupt:
        save()
        raise
    progress.done = True
    save()
    return progress


def _step(run: Run, optimizer: torch.optim.Optimizer, chosen: Sequence[Sequence[int]]) -> tuple[dict[str, float], int]:
    """One update from one or several batches; gives the loss of each head per position, and the pieces read.

    The loss is summed over all positions of all batches and divided by their number: splitting a batch in two changes nothing.
    """
    parts = [collate([run.examples[index] for index in members], run.specials) for members in chosen]
    positions = sum(len(target.labels) for part in parts for target in part.targets.values())
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for part in parts:
        losses = _losses(run, part)
        for head, loss in losses.items():
            sums[head] = sums.get(head, 0.0) + float(loss.detach())
            counts[head] = counts.get(head, 0) + len(part.targets[head].labels)
        (torch.stack(list(losses.values())).sum() / positions).backward()  # type: ignore[no-untyped-call]
    for head, value in sums.items():
        if not math.isfinite(value):
            raise TrainingError(
                "BX403",
                f"the loss of {head!r} is {value} at step {run.progress.step}",
                where=str(run.folder),
                hint="lower the learning rate; the last checkpoint is as it was",
            )
    if run.settings.clip:
        torch.nn.utils.clip_grad_norm_(run.model.parameters(), run.settings.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return {head: sums[head] / counts[head] for head in sums}, sum(part.pieces for part in parts)


def _losses(run: Run, batch: LearnBatch) -> dict[str, Tensor]:
    """The weighted loss of each head that the batch is annotated for, summed over its positions."""
    words = run.model.words(*map(torch.from_numpy, (batch.ids, batch.mask, batch.first)))
    found: dict[str, Tensor] = {}
    for objective in run.plan.objectives:
        target = batch.targets.get(objective.head)
        if target is None or not len(target.labels):
            continue
        logits = run.model.heads[objective.head](words.index_select(0, torch.from_numpy(target.rows)))
        found[objective.head] = OBJECTIVES[objective.loss](logits, torch.from_numpy(target.labels)) * objective.weight
    return found


def _judge(run: Run, average: dict[str, Tensor], save: Callable[[], None]) -> None:
    """Score the development data at an epoch's end; keep the best weights; stop when nothing got better for long enough."""
    with _weights(run.model, average):
        score = run.evaluate()
        if score is None or score > run.progress.best:
            run.progress.best = run.progress.best if score is None else score
            run.progress.waited = 0
            checkpoint.save_model(run.folder / "model.safetensors", run.model)
        else:
            run.progress.waited += 1
    if run.patience is not None and run.progress.waited >= run.patience:
        run.progress.done = True
    save()


def _average(run: Run) -> dict[str, Tensor]:
    """The running mean of the moving weights, if one is kept."""
    if not run.settings.ema:
        return {}
    return {
        f"ema/{name}": value.detach().clone() for name, value in run.model.named_parameters() if value.requires_grad
    }


def _follow(average: dict[str, Tensor], model: Model, decay: float) -> None:
    if average:
        names = dict(model.named_parameters())
        with torch.no_grad():
            kept = list(average.values())
            torch._foreach_lerp_(kept, [names[name.removeprefix("ema/")] for name in average], 1 - decay)


@contextmanager
def _weights(model: Model, average: dict[str, Tensor]) -> Iterator[None]:
    """The model with its mean weights, for as long as it is scored and saved."""
    names = dict(model.named_parameters())
    before = {name: names[name.removeprefix("ema/")].detach().clone() for name in average}
    with torch.no_grad():
        for name, value in average.items():
            names[name.removeprefix("ema/")].copy_(value)
    yield
    with torch.no_grad():
        for name, value in before.items():
            names[name.removeprefix("ema/")].copy_(value)


class _Window:
    """Losses and speed since the last report."""

    def __init__(self) -> None:
        self.losses: dict[str, list[float]] = {}
        self.pieces = 0
        self.seconds = 0.0

    def add(self, losses: dict[str, float], pieces: int, seconds: float) -> None:
        for head, loss in losses.items():
            self.losses.setdefault(head, []).append(loss)
        self.pieces += pieces
        self.seconds += seconds

    def take(self) -> dict[str, Any]:
        told = {
            "losses": {head: round(sum(found) / len(found), 5) for head, found in self.losses.items()},
            "pieces_per_second": round(self.pieces / max(self.seconds, 1e-9), 1),
        }
        self.__init__()  # type: ignore[misc]
        return told
