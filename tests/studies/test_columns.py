"""One head for several types stands in the columns of each, scored on each corpus for what that annotates."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from training import invented

from biomux.errors import RecipeError
from biomux.studies import findings
from biomux.studies.members import of_study
from biomux.studies.run import run_study
from biomux.studies.schema import Study

if TYPE_CHECKING:
    from pathlib import Path


def _study(place: Path, **columns: Any) -> Study:
    alone = invented.recipe(loop={"epochs": 3})
    task = {"corpus": "bc5cdr", "also": ["bc2gm"], "join": "union"}
    both = invented.recipe(tasks={"both": task}, regime={"kind": "single"}, loop={"epochs": 3})
    for name, recipe in (("mtl", alone), ("multi", both)):
        (place / f"{name}.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    systems = {"mtl": {"recipe": "mtl.yaml"}, "multi-class": {"recipe": "multi.yaml", "columns": columns}}
    return Study.model_validate({"name": "s", "systems": systems, "score": {"split": "test", "samples": 20}})


def test_a_multi_class_head_is_scored_on_each_corpus_for_its_own_types(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=30)
    study = _study(tmp_path, drugs={"task": "both", "corpus": "bc5cdr"}, genes={"task": "both", "corpus": "bc2gm"})
    members = of_study(study, place=tmp_path, folder=tmp_path / "study")
    described = study.model_dump(mode="json")
    outcomes = run_study(described, members, tmp_path / "study", kind="study", scoring=study.score, directory=directory)
    assert {one.state for one in outcomes.values()} == {"done"}, outcomes
    scored = tmp_path / "study" / "runs" / "multi-class.seed-1" / "scored" / "test"
    told = json.loads((scored / "scores.json").read_text())["tasks"]
    assert {name: one["corpus"] for name, one in told.items()} == {"drugs": "bc5cdr", "genes": "bc2gm"}
    types = {
        name: {
            span["type"]
            for line in (scored / f"{name}.predictions.jsonl").read_text().splitlines()
            for span in json.loads(line).get("spans", [])
        }
        for name in told
    }
    assert types["genes"] <= {"GENE"}
    assert types["drugs"] <= {"Chemical", "Disease"}
    found = findings.report(findings.read(tmp_path / "study"))
    assert {(one["task"], one["system"]) for one in found["values"]} == {
        (task, system) for task in ("drugs", "genes") for system in ("mtl", "multi-class")
    }


def test_a_column_of_a_task_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="the recipe has no task 'boht'") as caught:
        of_study(_study(tmp_path, drugs={"task": "boht", "corpus": "bc5cdr"}), place=tmp_path)
    assert caught.value.code == "BX305"


def test_a_column_of_a_corpus_that_does_not_exist_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="unknown corpus 'bc5crd'") as caught:
        of_study(_study(tmp_path, drugs={"task": "both", "corpus": "bc5crd"}), place=tmp_path)
    assert caught.value.code == "BX201"
    assert str(caught.value.where).endswith("multi-class → columns → drugs → corpus")


def test_a_task_that_is_null_is_left_out(tmp_path: Path) -> None:
    _study(tmp_path)
    study = Study.model_validate({"name": "s", "recipe": "mtl.yaml", "set": {"tasks.genes": None}})
    (member,) = of_study(study, place=tmp_path)
    assert list(member.recipe.tasks) == ["drugs"]
