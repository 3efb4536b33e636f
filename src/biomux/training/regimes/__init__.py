"""Regimes: how tasks share training. Each is a function from tasks and settings to a plan (`training.plan.Plan`: which parameters move, which batches come, which losses count), in a file of its own and with one line in `REGIMES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.training.regimes import frozen, joint, mixed, one_task, random_task, single

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.training.plan import Plan

REGIMES: dict[str, Callable[..., Plan]] = {
    "single": single.plan,
    "mixed": mixed.plan,
    "one-task": one_task.plan,
    "random-task": random_task.plan,
    "joint": joint.plan,
    "frozen": frozen.plan,
}
"""Name → regime, taking each head's name and loss, and its own settings."""
