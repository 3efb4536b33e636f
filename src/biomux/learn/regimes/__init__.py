"""Regimes: how tasks share training. Each is a function from tasks and settings to a plan. One file each, one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.learn.regimes import mixed, single

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.learn.plan import Plan

REGIMES: dict[str, Callable[..., Plan]] = {
    "single": single.plan,
    "mixed": mixed.plan,
}
"""Name → regime, taking the names of the heads and its own settings."""
