"""The journal for TensorBoard: losses, speed and development scores by step, below the run's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.utils.tensorboard import SummaryWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def writer(folder: Path) -> Callable[[dict[str, Any]], None]:
    """Takes the events of a run's journal and writes RUN/tensorboard, from the first event on: before that, the run may still be refused."""
    target: Any = None
    step = 0

    def write(event: dict[str, Any]) -> None:
        nonlocal step, target
        target = target or SummaryWriter(str(folder / "tensorboard"))
        if event["event"] == "step":
            step = event["step"]
            for name, loss in event["losses"].items():
                target.add_scalar(f"loss/{name}", loss, step)
            target.add_scalar("tokens_per_second", event["tokens_per_second"], step)
        elif event["event"] == "scores":
            for name, score in event["scores"].items():
                target.add_scalar(f"development/{name}", score, step)
            target.add_scalar("development", event["mean"], step)
        target.flush()

    return write
