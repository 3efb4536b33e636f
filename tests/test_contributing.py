"""The examples in CONTRIBUTING.md work as they stand."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from biomux import cli, formats
from biomux.corpora.card import Card
from biomux.document import Document
from biomux.errors import FormatError
from biomux.formats.check import check_format
from biomux.recipes.schema import Recipe

PAGE = Path(__file__).parent.parent / "CONTRIBUTING.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs the source tree, not the installed package")


def example(section: str, language: str) -> str:
    """The first block of a language in a section."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def run(code: str, **names: Any) -> dict[str, Any]:
    exec(code, names)  # our own page
    return names


def test_the_format() -> None:
    chosen = run(example("Add a format", "python"))["FORMAT"]
    check_format(chosen, [Document("1", "TP53 in mice"), Document("2", "")])
    with pytest.raises(FormatError, match=r"BX113: a\.bar:1: there is no bar"):
        list(chosen.read(formats.of_bytes("a.bar", b"oops\n")))


def test_the_card() -> None:
    card = Card.model_validate(yaml.safe_load(example("Add a corpus", "yaml")))
    assert card.name == "my-corpus"


def test_the_recipe() -> None:
    recipe = Recipe.model_validate(yaml.safe_load(example("Add a recipe", "yaml")))
    assert recipe.name == "my-recipe"


def test_the_regime() -> None:
    pytest.importorskip("torch")
    plan = run(example("Add a regime", "python"))["plan"](["disease"])
    assert plan.moves("heads.disease.weight")
    assert not plan.moves("encoder.weight")


def test_the_head() -> None:
    torch = pytest.importorskip("torch")
    head = run(example("Add a head, an encoder or an objective", "python"))["build"](8, 3)
    assert head(torch.zeros(2, 8)).shape == (2, 3)


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = types.ModuleType("ids_command")
    module.command = run(example("Add a command", "python"), typer=typer)["command"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ids_command", module)
    monkeypatch.setitem(cli.COMMANDS, "ids", cli.Command("ids_command", "List the ids of documents."))
    formats.write([Document("7", "TP53")], tmp_path / "a.jsonl")
    assert cli.run(["ids", str(tmp_path / "a.jsonl")]) == 0
    assert capsys.readouterr().out == "7\n"
