"""Paper E's comparison on invented corpora, from teachers to the table: one model a corpus, one for all, and students of one and of all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import torch
import yaml
from safetensors.torch import load_file
from training import invented

from biomux.studies import findings
from biomux.studies.members import of_study
from biomux.studies.run import run_study
from biomux.studies.schema import Study, read_study

if TYPE_CHECKING:
    from pathlib import Path


CORPORA = {"drugs": "bc5cdr", "genes": "bc2gm"}


def test_students_learn_from_the_teacher_of_their_seed_or_from_all(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=16)
    tasks = {
        name: {"corpus": corpus, "train": ["train", "devel"]} for name, corpus in CORPORA.items()
    }  # as paper E does
    recipe = invented.recipe(tasks=tasks, regime={"kind": "random-task"}, loop={"epochs": 1})
    (tmp_path / "mtm.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    shipped = read_study("e/students")[0]
    chosen = ("stm", "mtm", "student-alpha-0", "student-alpha-1", "ensemble-alpha-0", "ensemble-alpha-1")
    study = Study.model_validate(
        {
            "name": "e",
            "recipe": "mtm.yaml",
            "systems": {name: shipped.systems[name].model_dump() for name in chosen},
            "seeds": [1, 2],
            "score": {"split": "test", "samples": 20},
        }
    )
    folder = tmp_path / "study"
    members = of_study(study, place=tmp_path, folder=folder)
    described = study.model_dump(mode="json")
    outcomes = run_study(described, members, folder, kind="study", scoring=study.score, directory=directory)
    assert {one.state for one in outcomes.values()} == {"done"}, outcomes
    assert len(outcomes) == 2 * (5 * 2 + 1)
    alone = [member for member in members if member.system != "mtm"]
    assert {member.recipe.hold_out for member in alone} == {("bc5cdr", "bc2gm")}
    assert {member.recipe.hold_out_parts for member in alone} == {("test",)}  # what the model of all leaves out
    found = findings.report(findings.read(folder))
    assert {one["system"] for one in found["values"]} == set(chosen)

    def teachers(name: str) -> list[str]:
        return list(json.loads((folder / "runs" / name / "begun.json").read_text())["teachers"])

    assert [name.rsplit("/", 1)[1] for name in teachers("student-alpha-0.drugs.seed-2")] == ["mtm.seed-2"]
    both = [name.rsplit("/", 1)[1] for name in teachers("ensemble-alpha-0.drugs.seed-2")]
    assert both == ["mtm.seed-1", "mtm.seed-2"]

    def weights(name: str) -> dict[str, torch.Tensor]:
        return load_file(folder / "runs" / name / "model.safetensors")

    # Read as it is written, α = 1 has no teacher: both students are the model of one corpus again.
    for name in ("student-alpha-1", "ensemble-alpha-1"):
        ours, theirs = weights(f"{name}.genes.seed-1"), weights("stm.genes.seed-1")
        assert all(torch.equal(ours[part], theirs[part]) for part in theirs)
    one, all_ = weights("student-alpha-0.genes.seed-1"), weights("ensemble-alpha-0.genes.seed-1")
    assert not all(np.array_equal(one[part].numpy(), all_[part].numpy()) for part in one)
