"""One task by itself: the baseline of every paper. From a refined encoder (`model.encoder.run`) it is paper B's fine-tuning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from biomux.errors import RecipeError
from biomux.training.plan import Draw, Plan, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping


def plan(
    heads: Mapping[str, str],
    *,
    keep_empty: float = 1.0,
    fraction: float = 1.0,
    by: Literal["sentences", "documents"] = "sentences",
) -> Plan:
    """Everything is trained, on all examples once per epoch."""
    if len(heads) != 1:
        raise RecipeError(
            "BX305",
            f"the regime 'single' trains exactly one task, got {len(heads)}",
            where="regime → kind",
            hint="use 'mixed', or keep one task only",
        )
    return Plan(Draw(keep_empty=keep_empty, fraction=fraction, by=by), objectives(heads))
