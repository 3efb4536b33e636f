"""The examples in docstrings of this room run."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import biomux.scoring


@pytest.mark.parametrize("name", [info.name for info in pkgutil.iter_modules(biomux.scoring.__path__)])
def test_examples_run(name: str) -> None:
    assert doctest.testmod(import_module(f"biomux.scoring.{name}")).failed == 0


@pytest.mark.parametrize("name", ["reference/scores.md", "explanation/subword-scores.md"])
def test_the_pages_about_scores_run(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / name
    assert doctest.testfile(str(page), module_relative=False).failed == 0
