"""The one training loop. It runs any plan; it knows no paper, no task and no corpus."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from biomux.errors import TrainingError
from biomux.recipes.run_folder import WEIGHTS
from biomux.training import batch_losses, checkpoint, precision, step_teacher
from biomux.training.batches import collate, epoch_batches
from biomux.training.deferred_interrupt import held
from biomux.training.distributed import Processes
from biomux.training.optimizers import BESIDE, TABLES, of_plan
from biomux.training.optimizers import scale as rate_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from torch import Tensor

    from biomux.engine.packing import Specials
    from biomux.recipes.schema import Loop
    from biomux.tasks.examples import Example
    from biomux.training.model import Model
    from biomux.training.plan import Plan
    from biomux.training.step_teacher import StepTeacher

REPORT_EVERY = 10.0
"""Seconds between two journal entries about the loss."""
LEAST_SCALE = 1.0
"""If gradients overflow in fp16 even when the loss is not scaled up, a smaller learning rate is needed, not a smaller scale."""


@dataclass
class TrainingProgress:
    """How far a run is. `best` is the best development score so far; `waited` counts the scores since; `judged` is the step of the last one."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best: float = -1.0
    waited: int = 0
    judged: int = 0
    done: bool = False


@dataclass
class LoopInputs:
    """Everything that the loop needs.

    Epochs are laid out one at a time: by the plan, or by `batches`, which returns the batches of an epoch as lists of indices into `examples`. The development data are
    scored after every `every` epochs or, if `every_steps` is given, after that many steps; and at the end.
    """

    folder: Path
    model: Model
    plan: Plan
    settings: Loop
    examples: Sequence[Example]
    specials: Specials
    evaluate: Callable[[], float | None]
    journal: Callable[[dict[str, Any]], None]
    patience: int | None = None
    every: int = 1
    every_steps: int | None = None
    batches: Callable[[int], Sequence[Sequence[int]]] | None = None
    progress: TrainingProgress = field(default_factory=TrainingProgress)
    weights: dict[str, torch.nn.Parameter] = field(default_factory=dict)
    teacher: StepTeacher | None = None
    projections: dict[str, torch.nn.Linear] = field(default_factory=dict)
    processes: Processes = field(default_factory=Processes)
    report_every: float = REPORT_EVERY
    scaler: torch.amp.GradScaler | None = field(init=False, default=None)

    @property
    def beside(self) -> dict[str, torch.nn.Parameter]:
        """What is trained besides the model and is not part of it: the projections of a student's states to its teacher's."""
        return {
            f"{name}/{part}": parameter
            for name, projection in self.projections.items()
            for part, parameter in projection.named_parameters()
        }

    def __post_init__(self) -> None:
        device = self.model.device
        self.scaler = precision.scaler(precision.choose(self.settings.precision, device), device)


def train(run: LoopInputs) -> TrainingProgress:
    """Train to the end, from the last checkpoint if there is one. Ctrl-C leaves a checkpoint to resume from.

    A resumed run must end with the same weights as one that was never stopped. So whatever decides a batch (its order, what is masked in it) follows from the seed,
    the epoch and the step alone, and a checkpoint keeps everything else that changes: weights, optimizers, averages, random states and progress.
    """
    settings, place = run.settings, run.folder / "checkpoints" / "last"
    torch.manual_seed(settings.seed)
    if run.plan.learned_weights:
        run.weights = {
            objective.name: torch.nn.Parameter(torch.zeros((), device=run.model.device))
            for objective in run.plan.objectives
        }
    run.projections = step_teacher.projections(run.model, run.plan, run.teacher)
    optimizers = of_plan(run.model, run.plan, settings, run.weights | run.beside)
    # The schedule multiplies these; the rates in the optimizers change with every step.
    rates = {name: [group["lr"] for group in optimizer.param_groups] for name, optimizer in optimizers.items()}
    if settings.gradient_checkpointing:
        run.model.encoder.checkpoint_gradients()
    precision.prefer_plain_attention(
        run.model.encoder, precision.choose(settings.precision, run.model.device), run.model.device
    )
    average = _average(run)
    trained = [*run.model.parameters(), *run.weights.values(), *run.beside.values()]
    if interrupted := checkpoint.find(place):
        _restore(run, interrupted, optimizers, average)
    total = planned_steps(run)
    progress, window = run.progress, _Window()
    saved = time.monotonic()
    fault: TrainingError | None = None

    def save() -> None:
        if not run.processes.first:
            return
        _refuse_bad_weights(run)
        learned = {f"weight/{name}": weight.detach() for name, weight in run.weights.items()}
        beside = {f"beside/{name}": parameter.detach() for name, parameter in run.beside.items()}
        extra = {**average, **learned, **beside, **_scaler_state(run.scaler)}
        checkpoint.save(place, model=run.model, optimizers=optimizers, extra=extra, progress=vars(progress))

    def over() -> bool:
        return progress.done or (progress.step >= total if settings.steps else progress.epoch >= settings.epochs)

    def due() -> bool:
        # A step is scored once, even if the run was stopped after scoring it.
        return run.every_steps is not None and progress.step % run.every_steps == 0 and progress.judged < progress.step

    def judge() -> None:
        _refuse_bad_weights(run)
        _judge(run, average)
        run.model.train()  # scoring switched dropout off

    def local_step(chosen: Sequence[Sequence[int]]) -> tuple[dict[str, float], int]:
        """A step. If weights are averaged, a process that cannot go on waits for the others, so that all end with the same error."""
        nonlocal fault
        try:
            return step(run, optimizers, chosen) if fault is None else ({}, 0)
        except TrainingError as error:
            if run.processes.local_steps == 1:
                raise
            fault = error
            return {}, 0

    def mix() -> None:
        if not run.processes.average_weights(trained, usable=fault is None):
            raise fault or _not_a_number(run, "a loss or weight of another process is not a number")

    try:
        if due():  # the run was stopped while this step was being scored
            judge()
        while not over():
            batches = layout(run, progress.epoch)
            run.model.train()
            while progress.batch < len(batches) and not over():
                started = time.monotonic()
                share = rate_scale(progress.step, total=total, warmup=settings.warmup, schedule=settings.schedule)
                for name, optimizer in optimizers.items():
                    for group, rate in zip(optimizer.param_groups, rates[name], strict=True):
                        group["lr"] = rate * share
                chosen = batches[progress.batch : progress.batch + settings.accumulate]
                # Weights and progress change together: an interrupt waits until both have, so that no batch is trained on twice or left out.
                with held():
                    losses, tokens = local_step(chosen)
                    _follow(average, run.model, settings.ema)
                    progress.batch += len(chosen)
                    progress.step += 1
                    progress.tokens += tokens
                    whole = run.processes.average_due(progress.step)
                    if whole or due() or over():
                        mix()
                    progress.seconds += time.monotonic() - started
                window.add(losses, tokens, time.monotonic() - started)
                if window.seconds >= run.report_every or progress.batch >= len(batches) or over():
                    run.journal({"event": "step", "total": total, "rate": share, **vars(progress), **window.take()})
                if due():
                    judge()
                if whole and time.monotonic() - saved > settings.checkpoint_minutes * 60:
                    save()
                    saved = time.monotonic()
            if progress.batch < len(batches):
                break  # the run ends in the middle of an epoch, by steps or by patience
            last = progress.step >= total if settings.steps else progress.epoch + 1 == settings.epochs
            mix()
            if run.every_steps is None and (last or (progress.epoch + 1) % run.every == 0):
                judge()
            progress.epoch, progress.batch = progress.epoch + 1, 0
            save()
            saved = time.monotonic()
        if not progress.done and progress.judged < progress.step:
            judge()
    except (KeyboardInterrupt, SystemExit):
        save()
        raise
    progress.done = True
    save()
    return progress


def _restore(
    run: LoopInputs, interrupted: Path, optimizers: dict[str, torch.optim.Optimizer], average: Mapping[str, Tensor]
) -> None:
    """Bring a run to the state of its checkpoint."""
    progress, extra = checkpoint.load(interrupted, model=run.model, optimizers=optimizers)
    if "pieces" in progress:  # what 0.1.0 called tokens
        progress["tokens"] = progress.pop("pieces")
    run.progress = TrainingProgress(**progress)
    with torch.no_grad():
        for name, value in average.items():
            value.copy_(extra[name])
        for name, weight in run.weights.items():
            weight.copy_(extra[f"weight/{name}"])
        for name, parameter in run.beside.items():
            parameter.copy_(extra[f"beside/{name}"])
    if run.scaler and "scaler/scale" in extra:
        state = {
            "scale": extra["scaler/scale"].item(),
            "_growth_tracker": int(extra["scaler/_growth_tracker"].item()),
        }
        run.scaler.load_state_dict(run.scaler.state_dict() | state)


def layout(run: LoopInputs, epoch: int) -> Sequence[Sequence[int]]:
    """The batches of an epoch, each a list of indices into the examples."""
    if run.batches is not None:
        return run.batches(epoch)
    return epoch_batches(
        run.examples,
        run.plan.draw,
        epoch=epoch,
        epochs=run.settings.epochs,
        budget=run.settings.batch_tokens,
        most=run.settings.batch_examples,
        seed=run.settings.seed,
    )


def planned_steps(run: LoopInputs) -> int:
    """The steps of the whole run: as many as the recipe says, or those of all epochs."""
    settings = run.settings
    return settings.steps or sum(-(-len(layout(run, epoch)) // settings.accumulate) for epoch in range(settings.epochs))


def step(
    run: LoopInputs, optimizers: Mapping[str, torch.optim.Optimizer], chosen: Sequence[Sequence[int]]
) -> tuple[dict[str, float], int]:
    """One update from one or several batches; returns each objective's loss per position, and the tokens read.

    Losses are summed over all batches and divided by the number of their positions: splitting a batch in two changes nothing.
    """
    progress, processes = run.progress, run.processes.summing
    parts = [
        collate(
            [run.examples[index] for index in members],
            run.specials,
            seed=(run.settings.seed, progress.epoch, progress.batch + number),
        )
        for number, members in run.processes.share(list(enumerate(chosen)))
    ]
    run.processes.sow(run.settings.seed, progress.step)  # dropout in a step must not depend on earlier steps
    names = run.plan.names
    local_counts: dict[str, float] = {}
    for part in parts:
        for name, number in batch_losses.positions(run.plan, part).items():
            local_counts[name] = local_counts.get(name, 0) + number
    # Positions are counted before the first loss: each batch is divided by the positions of the whole step, over all processes.
    counts = processes.totals(local_counts, names)
    sums: dict[str, float] = {}
    for part in parts:
        losses = batch_losses.of_batch(run, part)
        for name, loss in losses.items():
            sums[name] = sums.get(name, 0.0) + float(loss.detach())
        if losses:
            total = batch_losses.total(run, losses, counts, part)
            (run.scaler.scale(total) if run.scaler else total).backward()  # type: ignore[no-untyped-call]
    sums = processes.totals(sums, names)
    # Checked before the optimizers step, while the weights are still good.
    for name, value in sums.items():
        if not math.isfinite(value):
            raise _not_a_number(run, f"the loss of {name!r} is {value}")
    processes.add_gradients([*run.model.parameters(), *run.weights.values(), *run.beside.values()])
    if sums:
        active = list(optimizers.values())
        if run.plan.optimizers == "per-task":
            # With a state for each task, only those whose examples were read, or whose heads a teacher taught, may step: momentum would change the others without a gradient.
            tasks = {run.examples[index].task for members in chosen for index in members}
            tasks |= {objective.head for objective in run.plan.objectives if objective.name in sums} | {TABLES, BESIDE}
            active = [optimizer for name, optimizer in optimizers.items() if name in tasks]
        _move(run, active, sums)
    run.model.zero_grad(set_to_none=True)
    for parameter in (*run.weights.values(), *run.beside.values()):
        parameter.grad = None
    tokens = sum(run.examples[index].input.size for members in chosen for index in members)
    return {name: sums[name] / counts[name] for name in sums}, tokens


def _move(run: LoopInputs, active: Sequence[torch.optim.Optimizer], heads: Iterable[str]) -> None:
    """Clip the gradients, except sparse ones, and step the optimizers. In fp16, a step whose gradients overflow is skipped, and the loss is scaled less from then on."""
    scaler = run.scaler
    if scaler:
        for optimizer in active:
            scaler.unscale_(optimizer)  # clipping compares with the true norm
    if run.settings.clip:
        moving = [*run.model.parameters(), *run.beside.values()]
        dense = [parameter for parameter in moving if parameter.grad is not None and not parameter.grad.is_sparse]
        norm = float(torch.nn.utils.clip_grad_norm_(dense, run.settings.clip))
        if not math.isfinite(norm) and not scaler:
            raise _not_a_number(run, f"the gradient of {', '.join(map(repr, heads))} is {norm}")
    for optimizer in active:
        if scaler:
            scaler.step(optimizer)
        else:
            optimizer.step()
    if scaler:
        scaler.update()
        if scaler.get_scale() < LEAST_SCALE:
            raise _not_a_number(run, f"the gradient of {', '.join(map(repr, heads))} overflows in fp16")


def _scaler_state(scaler: torch.amp.GradScaler | None) -> dict[str, Tensor]:
    """What a checkpoint keeps of the fp16 loss scale."""
    if scaler is None:
        return {}
    state = scaler.state_dict()
    return {f"scaler/{name}": torch.tensor(float(state[name])) for name in ("scale", "_growth_tracker")}


def _not_a_number(run: LoopInputs, problem: str) -> TrainingError:
    return TrainingError(
        "BX403",
        f"{problem} at step {run.progress.step}",
        where=str(run.folder),
        hint="lower the learning rate; the last checkpoint is intact",
    )


def _refuse_bad_weights(run: LoopInputs) -> None:
    """Check that the weights are finite before they are scored, or overwrite the last good checkpoint."""
    for name, value in run.model.named_parameters():
        if value.requires_grad and not bool(torch.isfinite(value).all()):
            raise _not_a_number(run, f"a weight of {name!r} is not a number")


def _judge(run: LoopInputs, average: dict[str, Tensor]) -> None:
    """Score the development data, keep the best weights, and stop when the score has not improved for `patience` scores.

    Of equal scores the later weights are kept: on a small development set the score can stay the same while the model still learns.
    """
    with _weights(run.model, average):
        run.model.eval()
        score = run.evaluate()
        better = score is None or score > run.progress.best
        if (better or score == run.progress.best) and run.processes.first:
            checkpoint.save_model(run.folder / WEIGHTS, run.model)
        run.progress.best = run.progress.best if score is None else max(score, run.progress.best)
        run.progress.waited = 0 if better else run.progress.waited + 1
        run.progress.judged = run.progress.step
    if run.patience is not None and run.progress.waited >= run.patience:
        run.progress.done = True


def _average(run: LoopInputs) -> dict[str, Tensor]:
    """The running mean of the trained weights, if one is kept."""
    if not run.settings.ema:
        return {}
    return {
        f"ema/{name}": value.detach().clone() for name, value in run.model.named_parameters() if value.requires_grad
    }


def _follow(average: dict[str, Tensor], model: Model, decay: float) -> None:
    if average:
        names = dict(model.named_parameters())
        with torch.no_grad():
            averages = list(average.values())
            torch._foreach_lerp_(averages, [names[name.removeprefix("ema/")] for name in average], 1 - decay)


@contextmanager
def _weights(model: Model, average: dict[str, Tensor]) -> Iterator[None]:
    """The model with its mean weights, for as long as it is scored and saved."""
    names = dict(model.named_parameters())
    before = {name: names[name.removeprefix("ema/")].detach().clone() for name in average}
    with torch.no_grad():
        for name, value in average.items():
            names[name.removeprefix("ema/")].copy_(value)
    try:
        yield
    finally:  # Ctrl-C while scoring must not leave the mean in place of the trained weights
        with torch.no_grad():
            for name, value in before.items():
                names[name.removeprefix("ema/")].copy_(value)


class _Window:
    """Losses and speed since the last report."""

    def __init__(self) -> None:
        self._empty()

    def _empty(self) -> None:
        self.losses: dict[str, list[float]] = {}
        self.tokens = 0
        self.seconds = 0.0

    def add(self, losses: dict[str, float], tokens: int, seconds: float) -> None:
        for head, loss in losses.items():
            self.losses.setdefault(head, []).append(loss)
        self.tokens += tokens
        self.seconds += seconds

    def take(self) -> dict[str, Any]:
        report = {
            "losses": {head: round(sum(values) / len(values), 5) for head, values in self.losses.items()},
            "tokens_per_second": round(self.tokens / max(self.seconds, 1e-9), 1),
        }
        self._empty()
        return report
