"""One task by itself: the baseline of every paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.errors import RecipeError
from biomux.learn.plan import Draw, Objective, Plan

if TYPE_CHECKING:
    from collections.abc import Sequence


def plan(heads: Sequence[str], *, keep_empty: float = 1.0, fraction: float = 1.0) -> Plan:
    """Everything moves, all examples come once an epoch."""
    if len(heads) != 1:
        raise RecipeError(
            "BX305",
            f"the regime 'single' trains one task, not {len(heads)}",
            where="regime → kind",
            hint="use 'mixed', or leave one task",
        )
    return Plan(Draw(keep_empty=keep_empty, fraction=fraction), (Objective("cross-entropy", heads[0]),))
