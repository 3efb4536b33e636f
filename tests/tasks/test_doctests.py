"""Examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import biomux.learn
import biomux.tasks

MODULES = [
    *(f"biomux.tasks.{found.name}" for found in pkgutil.iter_modules(biomux.tasks.__path__)),
    "biomux.learn.plan",
    "biomux.learn.same_texts",
    "biomux.learn.optimizers",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
