"""Optimizers and schedules: how far each parameter moves at each step."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import torch

from biomux.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

    from biomux.recipes.schema import Loop
    from biomux.training.plan import Plan

TABLES = ".tables"
"""The optimizer of tables with sparse gradients, in any plan; no task can have this name."""
BESIDE = ".beside"
"""If each task has its own optimizer, the one for what is trained besides the model: it steps with each of them."""
_LAYER = re.compile(r"\.layers?\.(\d+)\.")


def freeze(model: nn.Module, *, moves: Callable[[str], bool]) -> None:
    """Freeze the parameters that do not move."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(moves(name))


def build(
    model: nn.Module,
    settings: Loop,
    *,
    moves: Callable[[str], bool],
    weights: Mapping[str, nn.Parameter] | None = None,
) -> torch.optim.Optimizer:
    """An optimizer over the parameters that move, and over the objectives' learned weights.

    Biases and normalisation are not decayed. With `layer_decay` below 1 a layer learns slower the farther it is from the heads.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    depth = 1 + max((_depth(name) for name, _ in model.named_parameters()), default=0)
    for name, parameter in model.named_parameters():
        if not moves(name):
            continue
        if name.startswith("heads."):
            rate = settings.head_learning_rate or settings.learning_rate
        else:
            rate = settings.learning_rate * settings.layer_decay ** (depth - _depth(name))
        decay = settings.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    described: list[dict[str, Any]] = [
        {"params": parameters, "lr": rate, "weight_decay": decay}
        for (rate, decay), parameters in sorted(groups.items(), key=lambda item: item[0])
    ]
    if weights:
        rate = settings.head_learning_rate or settings.learning_rate
        described.append({"params": list(weights.values()), "lr": rate, "weight_decay": 0.0})
    return _make(settings.optimizer, described)


def of_plan(
    model: nn.Module, plan: Plan, settings: Loop, weights: Mapping[str, nn.Parameter]
) -> dict[str, torch.optim.Optimizer]:
    """The optimizers that a plan asks for, by name: one named "shared", or one for each task over the shared parameters and its own.

    Tables with sparse gradients have one more, `TABLES`: Adam for the rows that a step uses, without weight decay.
    """
    freeze(model, moves=plan.moves)
    tables = {f"{name}.weight" for name, module in model.named_modules() if getattr(module, "sparse", False)}
    moving = [parameter for name, parameter in model.named_parameters() if name in tables and plan.moves(name)]
    sparse = {TABLES: torch.optim.SparseAdam(moving, lr=settings.learning_rate)} if moving else {}

    def moves(name: str) -> bool:
        return name not in tables and plan.moves(name)

    if plan.optimizers == "shared":
        return {"shared": build(model, settings, moves=moves, weights=weights), **sparse}
    if settings.accumulate > 1:
        raise RecipeError(
            "BX305",
            "cannot accumulate batches with one optimizer per task: the batches may be of different tasks",
            where="loop → accumulate",
            hint="set loop.accumulate to 1, and raise loop.batch_tokens",
        )
    heads = [objective.head for objective in plan.objectives]

    def of(head: str) -> Callable[[str], bool]:
        return lambda name: moves(name) and (not name.startswith("heads.") or name.startswith(f"heads.{head}."))

    by_head = {head: build(model, settings, moves=of(head)) for head in heads}
    beside = {BESIDE: build(model, settings, moves=lambda _: False, weights=weights)} if weights else {}
    return {**by_head, **beside, **sparse}


def _make(name: str, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    if name == "adamax":
        return torch.optim.Adamax(groups)
    # The fused kernels do in one pass over memory what the default does in a dozen, which saves a fifth of a small encoder's step.
    kind = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
    return kind(groups, fused=True)


def scale(step: int, *, total: int, warmup: float, schedule: str) -> float:
    """The share of the full learning rate at a step, counted from 0.

    >>> [round(scale(step, total=10, warmup=0.2, schedule="linear"), 2) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.12]
    """
    warmup_steps = round(total * warmup)
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    if schedule == "constant" or total <= warmup_steps:
        return 1.0
    progress = (step - warmup_steps) / (total - warmup_steps)
    return 0.5 * (1 + math.cos(math.pi * progress)) if schedule == "cosine" else 1 - progress


def _depth(name: str) -> int:
    layer = _LAYER.search(name)
    return int(layer.group(1)) + 1 if layer else 0
