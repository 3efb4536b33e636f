"""Mixed batches (paper A): a batch holds examples of all tasks, each moving its own head and the shared encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.training.plan import Draw, Plan, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan(
    heads: Mapping[str, str],
    *,
    exponent: float = 1.0,
    last_exponent: float | None = None,
    boost: Mapping[str, float] | None = None,
    keep_empty: float = 1.0,
    fraction: float = 1.0,
    by: Literal["sentences", "documents"] = "sentences",
    weights: Mapping[str, float] | None = None,
    joint: bool = False,
) -> Plan:
    """Everything is trained; a task is drawn in proportion to its size to the power of `exponent`.

    With `joint`, auxiliary tasks label the examples of the task they are derived from, as in paper D, instead of their own.
    """
    draw = Draw("mixed", exponent, last_exponent, boost or {}, keep_empty, fraction, by)
    return Plan(draw, objectives(heads, weights), joint=joint)
