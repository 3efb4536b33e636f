"""The losses of a batch: the heads' logits against labels or a teacher's logits, and the encoder's features against a teacher's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from biomux import plugins
from biomux.errors import RecipeError, did_you_mean
from biomux.training import precision
from biomux.training.objectives import FEATURE_OBJECTIVES, OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from biomux.training.batches import HeadTarget, LearnBatch
    from biomux.training.heads.features import Features
    from biomux.training.loop import LoopInputs
    from biomux.training.plan import FeatureObjective, Objective, Plan


def positions(plan: Plan, part: LearnBatch) -> dict[str, float]:
    """How many positions of a batch each objective counts, without objectives that have none."""
    targets = {objective.name: _target(objective, part) for objective in plan.objectives}
    counts = {name: float(len(target.rows)) for name, target in targets.items() if target is not None}
    return counts | dict.fromkeys((objective.name for objective in plan.features), float(part.batch.mask.sum()))


def of_batch(run: LoopInputs, part: LearnBatch) -> dict[str, Tensor]:
    """The loss of each objective that the batch has targets for, summed over its positions."""
    device, plan = run.model.device, run.plan
    losses: dict[str, Tensor] = {}
    attention = any(FEATURE_OBJECTIVES[objective.loss].of == "attention" for objective in plan.features)
    with precision.autocast(precision.choose(run.settings.precision, device), device):
        features = run.model.features(part.batch, layers=bool(plan.features), attention=attention)
        taught = None
        if run.teacher is not None:
            taught = run.teacher.features(part.batch, layers=bool(plan.features), attention=attention)
        for objective in plan.objectives:
            target = _target(objective, part)
            if target is None or not len(target.rows):
                continue
            rows = torch.from_numpy(target.rows).to(device)
            head: Any = run.model.heads[objective.head]
            if objective.source == "step-teacher" and run.teacher is not None and taught is not None:
                labels = run.teacher.logits(objective.head, taught, rows)
            else:
                labels = torch.from_numpy(target.labels).to(device)
            if objective.source == "labels" and hasattr(head, "loss"):
                losses[objective.name] = head.loss(features, rows, labels)
            else:
                losses[objective.name] = _measure(objective)(head(features, rows), labels, **objective.settings)
        if taught is not None:
            present = features.mask.bool()
            for between in plan.features:
                losses[between.name] = _between(between, features, taught, present, run.projections)
    return losses


def total(run: LoopInputs, losses: Mapping[str, Tensor], counts: Mapping[str, float], part: LearnBatch) -> Tensor:
    """The loss to minimise: the plan's mean of the weighted losses; `counts` are the positions of each objective in the whole step.

    If losses are averaged over the positions of all heads, a head with several objectives counts once.
    """
    plan = run.plan
    heads: dict[str, float] = {}
    for objective in plan.objectives:
        heads[objective.head] = max(heads.get(objective.head, 0.0), counts.get(objective.name, 0.0))
    local_counts = positions(plan, part)
    parts = []
    for objective in plan.objectives:
        if objective.name not in losses:
            continue
        size = sum(heads.values()) if plan.mean == "positions" else counts[objective.name]
        loss = losses[objective.name] / size
        if run.weights:
            doubt = run.weights[objective.name]
            share = local_counts[objective.name] / counts[objective.name]
            loss = torch.exp(-doubt) * loss + 0.5 * share * doubt
        parts.append(objective.weight * loss)
    parts += [
        objective.weight * losses[objective.name] / counts[objective.name]
        for objective in plan.features
        if objective.name in losses
    ]
    return torch.stack(parts).sum()


def _target(objective: Objective, part: LearnBatch) -> HeadTarget | None:
    """The positions and labels of an objective in a batch; a teacher in the step is read at the positions of the labels."""
    return part.targets.get(objective.name if objective.source == "teacher" else objective.head)


def _measure(objective: Objective) -> Callable[..., Tensor]:
    measure: Callable[..., Tensor] | None = plugins.find(OBJECTIVES, objective.loss, "objectives")
    if measure is None:
        raise RecipeError(
            "BX306",
            f"unknown objective {objective.loss!r}",
            where=f"head of {objective.head!r}",
            hint=did_you_mean(objective.loss, plugins.names(OBJECTIVES, "objectives")),
        )
    return measure


def _between(
    objective: FeatureObjective,
    ours: Features,
    theirs: Features,
    present: Tensor,
    projections: Mapping[str, torch.nn.Linear],
) -> Tensor:
    """A loss between a layer of the student and one of the teacher; through a projection if there is one."""
    loss = FEATURE_OBJECTIVES[objective.loss]
    if loss.of == "attention":  # the embeddings are layer 0 and have no attention: maps begin with layer 1
        student, teacher = ours.attention[objective.student_layer - 1], theirs.attention[objective.teacher_layer - 1]
        return loss.summed(student, teacher, present)
    student, teacher = ours.layers[objective.student_layer], theirs.layers[objective.teacher_layer]  # type: ignore[index]
    projection = projections.get(objective.name)
    return loss.summed(student if projection is None else projection(student), teacher, present)
