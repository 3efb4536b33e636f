"""The examples in docstrings of this room run."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import biomux.scoring


@pytest.mark.parametrize("name", [info.name for info in pkgutil.iter_modules(biomux.scoring.__path__)])
def test_examples_run(name: str) -> None:
    assert doctest.testmod(import_module(f"biomux.scoring.{name}")).failed == 0
