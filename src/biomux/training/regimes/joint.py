"""Paper D: the losses of all heads on the same batch are summed, α · ner + β · mtCLS + γ · bCLS + δ · mCLS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.training.plan import Draw, Plan, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan(
    heads: Mapping[str, str],
    *,
    weights: Mapping[str, float] | None = None,
    learned_weights: bool = False,
    keep_empty: float = 1.0,
    fraction: float = 1.0,
    by: Literal["sentences", "documents"] = "sentences",
) -> Plan:
    """Auxiliary tasks label the examples of the task they are derived from. Each loss is the mean over its own positions, times its weight.

    `learned_weights` learns the weights from each loss's uncertainty s: exp(−s) · loss + s / 2, times the weight given.
    """
    draw = Draw("mixed", keep_empty=keep_empty, fraction=fraction, by=by)
    return Plan(draw, objectives(heads, weights), mean="heads", joint=True, learned_weights=learned_weights)
