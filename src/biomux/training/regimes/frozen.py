"""A frozen encoder (paper A): only heads are trained.

Frozen1 is the encoder as pre-trained, Frozen2 the encoder of another run (`model.encoder.run`). Heads read the last layer, or a learned mix
of all (`head: {kind: mix}`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.training.plan import Draw, Plan, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan(
    heads: Mapping[str, str],
    *,
    exponent: float = 1.0,
    keep_empty: float = 1.0,
    fraction: float = 1.0,
    by: Literal["sentences", "documents"] = "sentences",
    weights: Mapping[str, float] | None = None,
) -> Plan:
    """Mixed batches; the encoder is not trained."""
    draw = Draw("mixed", exponent, keep_empty=keep_empty, fraction=fraction, by=by)
    return Plan(draw, objectives(heads, weights), moving=("heads.",))
