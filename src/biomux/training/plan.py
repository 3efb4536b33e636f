"""A plan: which parameters are trained, which batches are read, which objectives count. A regime makes one; the loop runs any."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from biomux.errors import RecipeError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Draw:
    """Which examples an epoch has, and in which batches.

    A task with n examples is drawn with a share proportional to n to the power of `exponent`: 1 is proportional, 0.5 square-root,
    0 uniform. If `last_exponent` differs, the exponent changes linearly from the first epoch to the last (annealed). An epoch
    has as many examples as all tasks together, whatever the shares. `boost` multiplies a task's share. `keep_empty` is the chance that an
    example without any mention is kept, drawn again each epoch. `fraction` is the share of each task's sentences, or documents (`by`), that is kept, the
    same ones in every epoch.

    `batches` says whether a batch mixes tasks ("mixed"), or has one task's examples, with all tasks' batches pooled and shuffled
    ("one-task"), or with a random task drawn at each step ("random-task").

    `beside` gives the shares of examples without their own labels: they are added to the others to make up that share of all, each used once before any repeats.
    """

    batches: Literal["mixed", "one-task", "random-task"] = "mixed"
    exponent: float = 1.0
    last_exponent: float | None = None
    boost: Mapping[str, float] = field(default_factory=dict)
    keep_empty: float = 1.0
    fraction: float = 1.0
    by: Literal["sentences", "documents"] = "sentences"
    beside: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"fraction: must be above 0 and at most 1, got {self.fraction}")
        if not 0 <= self.keep_empty <= 1:
            raise ValueError(f"keep_empty: must be between 0 and 1, got {self.keep_empty}")
        for name, value in self.boost.items():
            if not 0 < value < math.inf:
                raise ValueError(f"boost → {name}: must be above 0, got {value}")

    def exponent_at(self, epoch: int, epochs: int) -> float:
        """The exponent in an epoch, counted from 0.

        >>> [Draw(exponent=1.0, last_exponent=0.0).exponent_at(epoch, 3) for epoch in range(3)]
        [1.0, 0.5, 0.0]
        """
        if self.last_exponent is None or epochs < 2:
            return self.exponent
        return self.exponent + (self.last_exponent - self.exponent) * epoch / (epochs - 1)


@dataclass(frozen=True, slots=True)
class Objective:
    """A loss by its name, the head it reads, and its weight.

    It compares the head's logits with the labels, with a teacher's logits that were kept with the examples ("teacher"), or with those of a
    teacher that reads the same batch ("step-teacher"), at the places of the labels. A head may have several objectives; `settings` are those of
    the loss, such as a temperature.
    """

    loss: str
    head: str
    weight: float = 1.0
    source: Literal["labels", "teacher", "step-teacher"] = "labels"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the loss in the journal and in checkpoints: the head's, with a suffix if it is the teacher's.

        >>> Objective("cross-entropy", "ner").name, Objective("logit-mse", "ner", source="teacher").name
        ('ner', 'ner@teacher')
        """
        return self.head if self.source == "labels" else taught(self.head)


@dataclass(frozen=True, slots=True)
class FeatureObjective:
    """A loss between a layer of the student's encoder and one of its teacher's, where 0 is the embeddings, and its weight."""

    loss: str
    student_layer: int
    teacher_layer: int
    weight: float = 1.0

    @property
    def name(self) -> str:
        """The name of the loss in the journal and in checkpoints.

        >>> FeatureObjective("hidden-mse", 2, 4).name
        'hidden-mse 2-4'
        """
        return f"{self.loss} {self.student_layer}-{self.teacher_layer}"


def taught(head: str) -> str:
    """The name of a teacher's outputs for a head."""
    return f"{head}@teacher"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the loop does.

    `moving` lists parameter names or prefixes that are trained; all others are frozen. `optimizers` is "shared", or "per-task": one
    optimizer for each task, stepping on that task's batches over the shared and its own parameters. `mean` says what the loss of
    a batch is: the mean over all positions of all heads, or the weighted sum of each head's own mean. `learned_weights` gives each
    objective its own weight, learned from its uncertainty. With `joint`, auxiliary tasks label the examples of the task that
    they are derived from, instead of their own examples. `features` are losses between a student's encoder and its teacher's, each the mean over
    tokens, whatever `mean` says.
    """

    draw: Draw
    objectives: tuple[Objective, ...]
    moving: tuple[str, ...] = ("",)
    optimizers: Literal["shared", "per-task"] = "shared"
    learned_weights: bool = False
    mean: Literal["positions", "heads"] = "positions"
    joint: bool = False
    features: tuple[FeatureObjective, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all losses."""
        return [*(objective.name for objective in self.objectives), *(objective.name for objective in self.features)]

    def moves(self, name: str) -> bool:
        """Whether the parameter of that name is trained."""
        return any(name.startswith(prefix) for prefix in self.moving)


def objectives(heads: Mapping[str, str], weights: Mapping[str, float] | None = None) -> tuple[Objective, ...]:
    """An objective for each head by its loss, with the given weights and 1 for the others."""
    chosen = weights or {}
    unknown = sorted(set(chosen) - set(heads))
    if unknown:
        raise RecipeError(
            "BX305",
            f"cannot weight the task {unknown[0]!r}: the recipe has no such task",
            where="regime → settings → weights",
            hint=did_you_mean(unknown[0], heads),
        )
    return tuple(Objective(loss, head, chosen.get(head, 1.0)) for head, loss in heads.items())
