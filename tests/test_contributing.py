"""The examples in CONTRIBUTING.md work as they stand."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import tiny
import typer
import yaml

from biomux import cli, formats
from biomux.corpora.card import Card
from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats._conformance import check_format
from biomux.recipes.schema import Recipe
from biomux.tasks.conformance import check_task
from biomux.tasks.examples import make

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
    plan = run(example("Add a regime", "python"))["plan"]({"disease": "cross-entropy"})
    assert [(one.loss, one.head) for one in plan.objectives] == [("cross-entropy", "disease")]
    assert plan.moves("heads.disease.weight")
    assert not plan.moves("encoder.weight")


def test_the_head() -> None:
    torch = pytest.importorskip("torch")
    head = run(example("Add a head, an encoder or an objective", "python"))["build"](8, 3)
    from biomux.training.heads.features import Features

    hidden, mask = torch.zeros(1, 5, 8), torch.ones(1, 5, dtype=torch.int64)
    places = torch.tensor([1, 3])
    assert head(Features(hidden, mask, places), places).shape == (2, 3)


def test_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polarity", types.ModuleType("polarity"))
    task = run(example("Add a task", "python"), __name__="polarity")["Polarity"]
    documents = [
        Document("1", tiny.text(9, seed=1), labels=(Label("good"),)),
        Document("2", tiny.text(90, seed=2), labels=(Label("bad"),)),
        Document("3", tiny.text(9, seed=3)),
    ]
    check_task(task("tone"), documents, tiny.tokenizer())
    made = make(task("tone"), documents, tiny.tokenizer(), limit=40)
    assert made.counts == {"documents": 3, "documents without a polarity": 1, "texts read in windows": 1}
    assert len(made.examples) == 2
    assert task("tone").evaluate(documents, documents).value == 1.0


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = types.ModuleType("ids_command")
    module.command = run(example("Add a command", "python"), typer=typer)["command"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ids_command", module)
    monkeypatch.setitem(cli.COMMANDS, "ids", cli.Command("ids_command", "List the ids of documents."))
    formats.write([Document("7", "TP53")], tmp_path / "a.jsonl")
    assert cli.run(["ids", str(tmp_path / "a.jsonl")]) == 0
    assert capsys.readouterr().out == "7\n"
