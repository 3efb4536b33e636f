"""The settings of tasks, heads and regimes are as strict as the rest of a recipe."""

from __future__ import annotations

from typing import Any

import pytest

from biomux.errors import RecipeError
from biomux.recipes.settings import checked

pytest.importorskip("torch")
from biomux.tasks import TASKS
from biomux.training.heads import HEADS
from biomux.training.plan import Draw
from biomux.training.regimes import REGIMES


@pytest.mark.parametrize(
    ("regime", "settings", "said"),
    [
        ("mixed", {"exponents": 1}, r"regime → settings: exponents: unknown key \(did you mean 'exponent'"),
        ("mixed", {"exponent": "x"}, "exponent: must be a number"),
        ("mixed", {"boost": {"drugs": "x"}}, "boost → drugs: must be a number"),
        (
            "one-task",
            {"sampling": "sqrt"},
            "sampling: must be 'proportional', 'square-root', 'uniform' or 'annealed'",
        ),
        ("joint", {"weights": {"a": []}, "fraction": "x"}, "weights → a: .*; fraction: "),
    ],
)
def test_a_regimes_settings(regime: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said) as caught:
        checked(REGIMES[regime], settings, where="regime")
    assert caught.value.code == "BX306"


def test_a_heads_and_a_tasks_settings() -> None:
    with pytest.raises(RecipeError, match=r"drop: unknown key \(did you mean 'dropout'"):
        checked(HEADS["linear"], {"drop": 0.1}, where="head")
    with pytest.raises(RecipeError, match="pooling: must be 'cls', 'mean' or 'max'"):
        checked(HEADS["pair"], {"pooling": "min"}, where="head")
    kind = TASKS["tagging"]
    with pytest.raises(RecipeError, match="tasks → x → settings: longest: must be a whole number"):
        checked(kind.of_documents, {"longest": "x"}, where="tasks → x", fields=kind)
    assert checked(kind.of_documents, {"types": ["A"]}, where="tasks → x", fields=kind) == {"types": ("A",)}


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"fraction": 0.0}, "fraction"), ({"keep_empty": 1.5}, "keep_empty"), ({"boost": {"a": -1.0}}, "boost → a")],
)
def test_shares_that_are_none(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Draw(**settings)
