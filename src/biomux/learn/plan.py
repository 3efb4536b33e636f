"""A plan: which parameters move, which batches come, which objectives count. A regime makes one; the loop runs any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Draw:
    """Which examples come in an epoch, and in which batches.

    A task with n examples is drawn with a share proportional to n to the power of `exponent`: 1 is proportional, 0.5 square-root,
    0 uniform. Where `last_exponent` differs, the exponent moves linearly from the first epoch to the last (annealed). An epoch
    has as many examples as there are, whatever the shares. `boost` multiplies a task's share. `keep_empty` is the chance that an
    example without any mention is kept, anew each epoch. `batches` says whether a batch mixes tasks or holds one task's examples.
    """

    batches: Literal["mixed", "one-task"] = "mixed"
    exponent: float = 1.0
    last_exponent: float | None = None
    boost: Mapping[str, float] = field(default_factory=dict)
    keep_empty: float = 1.0
    fraction: float = 1.0

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
    """A loss by its name, the head it reads, and its weight."""

    loss: str
    head: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What the loop does.

    `moving` lists parameter names or prefixes that are trained; all others stay. `optimizers` is "shared", or "per-task": one
    optimizer for each task, stepping on that task's batches over the shared and its own parameters. `learned_weights` gives each
    objective a weight of its own that is learned from its uncertainty.
    """

    draw: Draw
    objectives: tuple[Objective, ...]
    moving: tuple[str, ...] = ("",)
    optimizers: Literal["shared", "per-task"] = "shared"
    learned_weights: bool = False

    def moves(self, name: str) -> bool:
        """Whether the parameter of that name is trained."""
        return any(name.startswith(prefix) for prefix in self.moving)
