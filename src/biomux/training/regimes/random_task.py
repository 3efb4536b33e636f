"""Paper E: at each step a data set is drawn at random, and its own optimizer updates the shared layers and its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.training.plan import Draw, Plan, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan(
    heads: Mapping[str, str],
    *,
    exponent: float = 0.0,
    keep_empty: float = 1.0,
    fraction: float = 1.0,
    by: Literal["sentences", "documents"] = "sentences",
    optimizers: Literal["shared", "per-task"] = "per-task",
) -> Plan:
    """All data sets are equally likely unless `exponent` says otherwise; an epoch has as many steps as there are batches."""
    draw = Draw("random-task", exponent, keep_empty=keep_empty, fraction=fraction, by=by)
    return Plan(draw, objectives(heads), optimizers=optimizers, mean="heads")
