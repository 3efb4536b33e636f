"""Other packages bring tasks, heads, encoders, objectives and regimes by entry points, and a recipe names them as it names ours."""

from __future__ import annotations

import json
import sys
import types
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import pytest
import torch
from training import invented

from biomux import plugins
from biomux.errors import RecipeError, UsageError
from biomux.tasks.tagging import Tagging
from biomux.training import run
from biomux.training.encoders import Kind, random_weights, transformer
from biomux.training.heads import HEADS
from biomux.training.heads.linear import AtPlaces
from biomux.training.plan import Draw, Objective, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

USED: set[str] = set()


def head(width: int, labels: int, *, slope: float = 0.1) -> torch.nn.Module:
    USED.add(f"head {slope}")
    made = AtPlaces(torch.nn.LeakyReLU(slope), torch.nn.Linear(width, labels))
    made.objective = "smooth"  # type: ignore[assignment]
    return made


def smooth(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    USED.add("objective")
    return torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.1, reduction="sum")


def regime(heads: Mapping[str, str], *, exponent: float = 1.0) -> Plan:
    USED.add("regime")
    return Plan(Draw("mixed", exponent), tuple(Objective(loss, name) for name, loss in heads.items()))


def make(settings: Any, texts: Any) -> Any:
    USED.add(f"encoder {settings.settings['depth']}")
    return random_weights.make(settings, texts)


ENTRIES = {"tasks": Tagging, "heads": head, "objectives": smooth, "regimes": regime}
NAMES = {"tasks": "toy", "heads": "leaky", "objectives": "smooth", "regimes": "plain", "encoders": "own"}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("toy_package")
    for group, value in {**ENTRIES, "encoders": Kind(make, transformer.build)}.items():
        setattr(module, group, value)
    monkeypatch.setitem(sys.modules, "toy_package", module)
    found = {group: EntryPoint(name, f"toy_package:{group}", f"biomux.{group}") for group, name in NAMES.items()}
    monkeypatch.setattr(plugins, "_entries", lambda group: {found[group].name: found[group]})


@pytest.mark.usefixtures("installed")
def test_a_run_made_of_parts_from_outside(tmp_path: Path) -> None:
    recipe = invented.recipe(
        tasks={"drugs": {"kind": "toy", "corpus": "bc5cdr", "settings": {"types": ["Chemical"]}}},
        model={
            "encoder": {"kind": "own", "layers": 1, "settings": {"depth": 7}},
            "head": {"kind": "leaky", "settings": {"slope": 0.2}},
        },
        regime={"kind": "plain"},
        loop={"epochs": 1},
    )
    directory = invented.corpora(tmp_path / "corpora", number=10)
    assert run.start(recipe, tmp_path / "run", directory=directory).done
    assert {"head 0.2", "objective", "regime", "encoder 7"} <= USED
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["tasks"].keys() == {"drugs"}


@pytest.mark.usefixtures("installed")
def test_ours_come_first_and_what_is_wrong_with_a_package_is_told_as_its_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plugins.names(HEADS, "heads") == [*HEADS, "leaky"]
    assert plugins.find({"leaky": 1}, "leaky", "heads") == 1
    assert plugins.find(HEADS, "nobody", "heads") is None
    monkeypatch.delitem(sys.modules, "toy_package")
    with pytest.raises(UsageError, match=r"toy_package:heads: cannot load 'leaky' .*: ModuleNotFoundError"):
        plugins.find(HEADS, "leaky", "heads")


def test_an_encoder_that_nobody_brings_is_refused() -> None:
    with pytest.raises(
        RecipeError,
        match="unknown encoder 'own'; choose one of transformer, bilstm, convolution, lexical, shaped, random",
    ):
        invented.recipe(model={"encoder": {"kind": "own"}})
