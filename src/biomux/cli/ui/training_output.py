"""What `biomux train` and `biomux pretrain` have in common, and what they show: a bar and a table on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from biomux.cli.ui.display import duration, note, sentence
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from biomux.training.loop import TrainingProgress


TOLD = ("start", "data", "teacher", "text", "vocabulary", "perplexity", "examples", "scores")
"""Events that are written above the bar, one line each."""


class Show(Protocol):
    """Takes the events of a run's journal, one by one."""

    def __call__(self, event: dict[str, Any]) -> None: ...


class State:
    """What the events so far say."""

    def __init__(self) -> None:
        self.losses: dict[str, float] = {}
        self.scores: dict[str, float] = {}
        self.step = self.total = self.epoch = 0
        self.speed = 0.0
        self._now = 0.0
        self._begun: tuple[int, float] | None = None

    def take(self, event: dict[str, Any]) -> None:
        """Bring the state up to date with an event."""
        if event["event"] == "step":
            self.losses |= event["losses"]
            self.step, self.total, self.epoch = event["step"], event["total"], event["epoch"]
            self.speed = event["tokens_per_second"]
            self._begun = self._begun or (event["step"], event["seconds"])
            self._now = event["seconds"]
        elif event["event"] == "scores":
            self.scores = dict(event["scores"])
        elif event["event"] == "perplexity":
            self.scores = {"words": event["perplexity"]}

    @property
    def left(self) -> float | None:
        """Seconds left, by the speed of this session; None before there is one."""
        if self._begun is None or self.step <= self._begun[0]:
            return None
        return (self.total - self.step) * (self._now - self._begun[1]) / (self.step - self._begun[0])

    def head(self) -> str:
        """Where it is, how fast, how long still."""
        remaining = "" if self.left is None else f", {duration(self.left)} left"
        return f"step {self.step:,} of {self.total:,}, {self.speed:,.0f} tokens/s{remaining}"


class Lines:
    """One plain line for each event."""

    def __init__(self) -> None:
        self.state = State()

    def __call__(self, event: dict[str, Any]) -> None:
        self.state.take(event)
        for line in (_line(event, self.state) or "").splitlines():
            note(line)


def _line(event: dict[str, Any], state: State) -> str | None:
    kind = event["event"]
    if kind == "start":
        return "resuming from the last checkpoint" if event["resumed"] else "starting"
    if kind == "data":
        return "\n".join([f"data of {event['task']}:", *(f"  {line}" for line in event["text"].splitlines())])
    if kind == "teacher":
        return f"asking the teachers: {event['message']}"
    if kind == "text":
        return f"text: {event['message']}"
    if kind == "vocabulary":
        return _vocabulary(event)
    if kind == "perplexity":
        when = f"after step {event['step']:,}" if event["step"] else "before the first step"
        return f"held-out perplexity {when}: {event['perplexity']:,.2f}, {duration(event['seconds'])}"
    if kind == "examples":
        return f"{event['number']:,} examples of {event['tokens']:,} tokens"
    if kind == "step":
        losses = " ".join(f"{name} {loss:.4f}" for name, loss in sorted(event["losses"].items()))
        return f"{state.head()}; loss: {losses}"
    if kind == "scores":
        each = " ".join(f"{name} {score:.2f}" for name, score in event["scores"].items())
        return f"development after epoch {event['epoch']}: {event['mean']:.2f} ({each}), {duration(event['seconds'])}"
    return None


def _vocabulary(event: dict[str, Any]) -> str:
    """What another vocabulary saves."""
    saved, whole = event["parameters_saved"], event["parameters"] + event["parameters_saved"]
    length = event["sample_after"] / max(event["sample_before"], 1) - 1
    return (
        f"vocabulary: {event['tokens_after']:,} tokens in place of {event['tokens_before']:,}; "
        f"{abs(saved):,} parameters {'fewer' if saved >= 0 else 'more'} ({abs(100 * saved / max(whole, 1)):.1f} % of the encoder); "
        f"the same text is {abs(100 * length):.1f} % {'shorter' if length <= 0 else 'longer'} in tokens"
    )


@contextmanager
def shown() -> Iterator[Show]:
    """Show a run's events on stderr."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Table

    state = State()
    bar = Progress(TextColumn("{task.description}", markup=False), BarColumn(bar_width=None))
    task = bar.add_task("reading corpora", total=None)

    with Live(bar, console=Console(stderr=True), refresh_per_second=4) as live:

        def show(event: dict[str, Any]) -> None:
            state.take(event)
            if event["event"] in TOLD:
                live.console.print(_line(event, state), markup=False, highlight=False)
            if state.total:
                bar.update(task, description=state.head(), total=state.total, completed=state.step)
            table = Table("task", "loss", "development", box=None, header_style="bold")
            for name in sorted({*state.losses, *state.scores}):
                loss = f"{state.losses[name]:.4f}" if name in state.losses else ""
                score = f"{state.scores[name]:.2f}" if name in state.scores else ""
                table.add_row(sentence(name), loss, score)
            live.update(Group(bar, table))

        yield show


class needs_torch:  # noqa: N801
    """Turns a missing package into an error that says which one it is and how to install it."""

    def __init__(self, extra: str = "train") -> None:
        self.extra = extra

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ModuleNotFoundError):
            command = "pip install 'biomux[train]'" if self.extra == "train" else f"pip install {self.extra}"
            raise UsageError(
                "BX003", f"training needs the package {error.name!r}, which is not installed", hint=command
            ) from None


def new_run(run: Path | None, name: str) -> Path:
    """The folder of a new run: the one of --run, or the next of its name in `runs`."""
    from biomux.training.trained_run import next_folder

    if run is None and os.environ.get("WORLD_SIZE", "1") != "1":
        raise UsageError(
            "BX001", "--run is required when several processes train together", hint="give all of them the same folder"
        )
    return run or next_folder(Path("runs"), name)


def refuse_with_resume(*given: object, options: str) -> None:
    """Refuse options that say how a run is started, where one is resumed."""
    if any(given):
        raise UsageError(
            "BX001",
            f"cannot use {options} with --resume: a run is resumed as it was started",
            hint="leave them out, or start another run",
        )


@contextmanager
def followed(folder: Path, *, command: str) -> Iterator[Show]:
    """Show a run's events, and say how to resume it if it is stopped. Of several processes, only the first one prints anything."""
    from biomux.training.run import resuming, writes

    if not writes():
        yield lambda event: None  # noqa: ARG005
        return
    try:
        with shown() as show:
            yield show
    except (KeyboardInterrupt, SystemExit):
        note(f"stopped; resume with: {resuming(command, folder, int(os.environ.get('WORLD_SIZE', '1')))}")
        raise


def report_end(progress: TrainingProgress, best: str) -> None:
    """Say how many steps there were, how long they took, and the best score."""
    note(f"done: {progress.step:,} steps in {duration(progress.seconds)}{best}")
