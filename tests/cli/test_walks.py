"""The pictures of how it works show modules that exist, below modules that call them."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import biomux

SOURCE = Path(biomux.__file__).parent
SCRIPT = SOURCE.parent.parent / "scripts" / "walks.py"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="needs the source tree, not the installed package")


@pytest.fixture(scope="module")
def walks() -> Any:
    spec = importlib.util.spec_from_file_location("walks_script", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def imported(path: Path) -> set[str]:
    """Everything of Biomux that a module names in an import, at its top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("name", ["walk-annotate", "walk-train"])
def test_a_step_is_a_module_that_its_caller_imports(name: str, walks: Any) -> None:
    callers: list[str] = []
    for step in walks.WALKS[name][0]:
        assert (SOURCE / step.module).is_file(), step.module
        del callers[step.depth :]
        if callers:
            dotted = "biomux." + step.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            assert dotted in imported(SOURCE / callers[-1]), f"{callers[-1]} does not import {step.module}"
        callers.append(step.module)
