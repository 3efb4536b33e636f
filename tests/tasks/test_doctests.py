"""Examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import biomux.tasks
import biomux.training

MODULES = [
    *(f"biomux.tasks.{found.name}" for found in pkgutil.iter_modules(biomux.tasks.__path__)),
    "biomux.training.plan",
    "biomux.training.shared_texts",
    "biomux.training.optimizers",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
