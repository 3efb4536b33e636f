"""One task per mini-batch (paper B's refinement, Algorithm 1): all tasks' batches are pooled and shuffled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.training.plan import Draw, Plan, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan(
    heads: Mapping[str, str],
    *,
    sampling: Literal["proportional", "square-root", "uniform", "annealed"] = "proportional",
    boost: Mapping[str, float] | None = None,
    keep_empty: float = 1.0,
    fraction: float = 1.0,
    by: Literal["sentences", "documents"] = "sentences",
    weights: Mapping[str, float] | None = None,
) -> Plan:
    """A step trains the shared parameters and those of its task. Annealed sampling goes from proportional to uniform."""
    first, last = EXPONENTS[sampling]
    draw = Draw("one-task", first, last, boost or {}, keep_empty, fraction, by)
    return Plan(draw, objectives(heads, weights), mean="heads")


EXPONENTS: dict[str, tuple[float, float | None]] = {
    "proportional": (1.0, None),
    "square-root": (0.5, None),
    "uniform": (0.0, None),
    "annealed": (1.0, 0.0),
}
"""Sampling → the exponent of a task's size at the start and, if it changes, at the end."""
