"""A teacher inside the step: it reads the same batches as its student, since what is learned depends on what is masked in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from biomux.errors import TrainingError
from biomux.training.objectives import FEATURE_OBJECTIVES

if TYPE_CHECKING:
    from torch import Tensor

    from biomux.engine.packing import Batch
    from biomux.training.heads.features import Features
    from biomux.training.model import Model
    from biomux.training.plan import Plan


@dataclass(frozen=True)
class StepTeacher:
    """A model that only reads. Its vocabulary is its student's, since it reads the same tokens."""

    model: Model

    def features(self, batch: Batch, *, layers: bool, attention: bool) -> Features:
        """The features of the teacher's encoder for a batch, without gradients."""
        with torch.no_grad():
            return self.model.eval().features(batch, layers=layers, attention=attention)

    def logits(self, head: str, features: Features, rows: Tensor) -> Tensor:
        """The logits of the teacher's head at these rows."""
        with torch.no_grad():
            scores: Tensor = self.model.heads[head](features, rows)
            return scores


def projections(model: Model, plan: Plan, teacher: StepTeacher | None) -> dict[str, torch.nn.Linear]:
    """A learned matrix for each loss between states of different widths; refused if layers or maps cannot be compared."""
    matrices: dict[str, torch.nn.Linear] = {}
    if not plan.features:
        return matrices
    if teacher is None:
        raise TrainingError(
            "BX450", "losses between features need a teacher", where="distil", hint="name one in distil.teacher"
        )
    ours, theirs = model.encoder, teacher.model.encoder
    for objective in plan.features:
        loss = FEATURE_OBJECTIVES[objective.loss]
        least = 1 if loss.of == "attention" else 0
        for role, encoder, layer in (
            ("student", ours, objective.student_layer),
            ("teacher", theirs, objective.teacher_layer),
        ):
            if not least <= layer <= encoder.depth:
                raise TrainingError(
                    "BX450",
                    f"{objective.loss} cannot read layer {layer} of the {role}, which has {encoder.depth}",
                    where="distil",
                    hint=f"name layers from {least} to {encoder.depth}",
                )
        if loss.of == "attention" and not (hasattr(ours, "attention_heads") and hasattr(theirs, "attention_heads")):
            raise TrainingError(
                "BX450",
                f"{objective.loss} needs attention maps, which only transformers have",
                where="distil",
                hint="compare states instead, with hidden-mse or hidden-cosine",
            )
        if loss.of == "attention" and ours.attention_heads != theirs.attention_heads:
            raise TrainingError(
                "BX450",
                f"cannot compare attention maps of {ours.attention_heads} heads with maps of {theirs.attention_heads}",
                where="distil",
                hint="give the student as many attention heads as its teacher has, or leave attention losses out",
            )
        if loss.of == "states" and ours.width != theirs.width:
            matrices[objective.name] = torch.nn.Linear(ours.width, theirs.width, bias=False).to(model.device)
    if any(FEATURE_OBJECTIVES[objective.loss].of == "attention" for objective in plan.features):
        ours.use_plain_attention()
        theirs.use_plain_attention()
    return matrices
