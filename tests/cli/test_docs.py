"""The docs cannot drift: what is made from the code is current, and the tables are whole."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import biomux
from biomux import formats
from biomux.cli import COMMANDS, load
from biomux.errors import CODES

SOURCE = Path(biomux.__file__).parent
ROOT = SOURCE.parent.parent
CODE = re.compile(r"BX\d{3}")


@cache
def made_pages() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "docs.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "scripts"))  # as when it is run
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    pages: dict[str, str] = module.pages()
    return pages


def strings(path: Path) -> set[str]:
    """The codes that stand as strings of their own in a module, the table of codes left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    table = next((node for node in ast.walk(tree) if is_codes(node)), None)
    inside = set(ast.walk(table)) if table else set()
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
        and node not in inside
    }


def is_codes(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "CODES"


def every_command() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name in COMMANDS:
        command = load(name)
        parts = getattr(command, "commands", {})
        found += [(f"{name} {part}", parts[part]) for part in parts] or [(name, command)]
    return found


@pytest.mark.skipif(not (ROOT / "scripts").is_dir(), reason="needs the source tree, not the installed package")
@pytest.mark.parametrize(
    "path",
    [
        "docs/reference/commands.md",
        "docs/reference/errors.md",
        "docs/reference/formats.md",
        "docs/reference/python.md",
        "docs/reference/recipes.md",
        "docs/figures/walk-annotate.svg",
        "docs/figures/walk-train.svg",
    ],
)
def test_a_page_made_from_the_code_is_current(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == made_pages()[path], "run: python scripts/docs.py"


@pytest.mark.skipif(not (ROOT / "scripts").is_dir(), reason="needs the source tree, not the installed package")
@pytest.mark.parametrize("name", [name for name in biomux.__all__ if not name.startswith("_")])
def test_the_python_reference_has_every_public_name(name: str) -> None:
    assert f"### `biomux.{name}`\n" in made_pages()["docs/reference/python.md"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_says_what_the_command_says(name: str) -> None:
    assert load(name).help.split("\n")[0] == COMMANDS[name].help


@pytest.mark.parametrize(
    ("name", "command"), every_command(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_command_has_help_and_an_example(name: str, command: Any) -> None:
    assert command.help
    assert re.search(rf"^    (.*\| )?biomux {name}\b", command.help, re.MULTILINE), (
        "give an example in an indented block"
    )
    for param in command.params:
        assert getattr(param, "help", None), f"{param.name} has no help"


@pytest.mark.parametrize(
    ("name", "command"), every_command(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_formats_that_an_example_names_exist(name: str, command: Any) -> None:
    examples = "\n".join(line for line in command.help.splitlines() if line.startswith("    "))
    for found in re.findall(r"--(?:from|to) ([a-z][\w-]*)", examples):
        assert found in formats.names()


def test_codes_stand_in_order_and_once() -> None:
    tree = ast.parse((SOURCE / "error_codes.py").read_text(encoding="utf-8"))
    table = next(node for node in ast.walk(tree) if is_codes(node))
    assert isinstance(table, ast.AnnAssign)
    assert isinstance(table.value, ast.Dict)
    codes = [key.value for key in table.value.keys if isinstance(key, ast.Constant)]
    assert codes == sorted(set(map(str, codes)))


def test_every_code_is_raised_somewhere_and_every_code_raised_is_known() -> None:
    raised = set().union(*(strings(path) for path in SOURCE.rglob("*.py")))
    assert raised - set(CODES) == set(), "add these to error_codes.CODES"
    assert set(CODES) - raised == set(), "nothing raises these: take them out of error_codes.CODES"
