"""The examples in docstrings run, in every module that has some."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import biomux

ROOT = Path(biomux.__file__).parent
MODULES = [
    ".".join(("biomux", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    if name.startswith(("biomux.training", "biomux.studies")):
        pytest.importorskip("torch")
    ran = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert ran.failed == 0
