"""What is public: a name that is added or taken away here is a decision, not an accident."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import biomux

PUBLIC = {
    "Answer",
    "Argument",
    "BiomuxError",
    "Document",
    "Label",
    "Passage",
    "Question",
    "Relation",
    "Span",
    "__version__",
    "load",
    "train",
}

ROOT = Path(biomux.__file__).parent


def test_the_public_names_are_these() -> None:
    assert set(biomux.__all__) == PUBLIC
    assert all(hasattr(biomux, name) for name in PUBLIC)


def test_load_takes_these_arguments() -> None:
    parameters = inspect.signature(biomux.load).parameters
    assert list(parameters) == ["path_or_name", "threads", "budget", "runtime"]
    assert all(one.kind is one.KEYWORD_ONLY for name, one in parameters.items() if name != "path_or_name")


@pytest.mark.parametrize("path", sorted(ROOT.rglob("__init__.py")), ids=lambda path: str(path.relative_to(ROOT).parent))
def test_every_room_says_what_it_is_for(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert len(said.split()) >= 9
