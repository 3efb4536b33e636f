"""Recipes with tasks and regimes of every kind, from YAML-like data to a run that can be loaded and exported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from corpora.samples import put
from safetensors.torch import load_file
from training import invented

from biomux.document import Document
from biomux.errors import BiomuxError, RecipeError
from biomux.training.build import build
from biomux.training.run import start

if TYPE_CHECKING:
    from pathlib import Path

AUXILIARIES: dict[str, Any] = {
    which: {
        "kind": "auxiliary",
        "of": "ner",
        "settings": {"which": which},
        "head": {"kind": "linear"} if which == "extent" else {"kind": "pooled", "settings": {"pooling": "max"}},
    }
    for which in ("extent", "has", "number")
}
JOINT: dict[str, Any] = {
    "tasks": {"ner": {"corpus": "ncbi-disease"}, **AUXILIARIES},
    "regime": {"kind": "joint", "settings": {"weights": {"has": 0.5}}},
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = invented.corpora(tmp_path_factory.mktemp("corpora"))
    rows = "".join(
        f"{number}\taspirin given\t{word} level\t{score}\n"
        for number, (word, score) in enumerate([("aspirin", 4.0), ("fever", 0.0)] * 8)
    )
    for split in ("train", "dev", "test"):
        put(root, f"pairs/BIOSSES/blurb/{split}.tsv", "index\tsentence1\tsentence2\tscore\n" + rows)
    return root


def test_joint_training_labels_one_set_of_examples(directory: Path, tmp_path: Path) -> None:
    recipe = invented.recipe(**JOINT)
    built = build(recipe, directory=directory)
    assert all(set(example.labels) == {"ner", "extent", "has", "number"} for example in built.examples)
    start(recipe, tmp_path / "run", directory=directory)
    told = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert {name: scores["main"] for name, scores in told["tasks"].items()} == {
        "ner": "f1",
        "extent": "f1",
        "has": "accuracy",
        "number": "accuracy",
    }


def test_a_joint_run_is_loaded_and_exported_without_its_auxiliaries(directory: Path, tmp_path: Path) -> None:
    from biomux.engine.load import load
    from biomux.training.export import export
    from biomux.training.load_run import load_run

    start(invented.recipe(**JOINT), tmp_path / "run", directory=directory)
    export(tmp_path / "run", tmp_path / "bundle", precision="fp32", measure=False)
    text = "Aspirin given after severe ulcer."
    assert load_run(tmp_path / "run").heads == load(tmp_path / "bundle").heads == ("ner",)
    (answered,) = load_run(tmp_path / "run").answer([Document("1", text)], heads=["has", "number"])
    assert [label.head for label in answered.labels] == ["has", "number"]
    assert [s.type for s in load_run(tmp_path / "run")(text, heads=["ner"]).spans] == [
        s.type for s in load(tmp_path / "bundle")(text, heads=["ner"]).spans
    ]


def test_without_joint_training_each_task_has_its_examples(directory: Path) -> None:
    built = build(invented.recipe(**{**JOINT, "regime": {"kind": "one-task"}}), directory=directory)
    assert {(example.task, *example.labels) for example in built.examples} == {
        (name, name) for name in ("ner", "extent", "has", "number")
    }


def test_one_head_for_types_of_several_corpora_learns_from_texts_that_all_annotate(
    directory: Path, tmp_path: Path
) -> None:
    """A text that only one of them has says nothing about the other's types."""
    root = invented.corpora(tmp_path / "corpora", number=12)
    lines = (root / "ner/BC5CDR/train.tsv").read_text().split("\n\n")
    put(root, "ner/NCBI-disease/train.tsv", "\n\n".join(lines[:5]).replace("-Chemical", "-Disease") + "\n")
    task = {"corpus": "bc5cdr[Chemical]", "also": ["ncbi-disease"]}
    recipe = invented.recipe(tasks={"both": task}, regime={"kind": "single"}, leaks="ignore")
    built = build(recipe, directory=root)
    assert built.counts["both"]["documents"] == 5
    assert built.tasks[0].labels == ("O", "B-Chemical", "I-Chemical", "B-Disease", "I-Disease")
    put(root, "ner/NCBI-disease/train.tsv", "Fever\tB-Disease\nrises\tO\n\n" + "\n\n".join(lines[:5]) + "\n")
    union = recipe.model_copy(update={"tasks": {"both": recipe.tasks["both"].model_copy(update={"join": "union"})}})
    built = build(union, directory=root)
    assert built.counts["both"]["documents"] == 12 + 1
    assert len({example.source for example in built.examples}) == len(built.examples)


def test_an_auxiliary_task_labels_the_examples_of_one_that_reads_alike(directory: Path) -> None:
    """has-any of a tagger that reads passages is on its examples; of one that reads sentences it has its own."""
    numbers = {}
    for by in ("passage", "sentence"):
        tasks = {
            "ner": {"corpus": "bc5cdr", "settings": {"by": by}},
            "any": {"kind": "auxiliary", "of": "ner", "settings": {"which": "has-any"}, "head": {"kind": "pooled"}},
        }
        built = build(invented.recipe(tasks=tasks, regime={"kind": "joint"}), directory=directory)
        numbers[by] = {(example.task, tuple(sorted(example.labels))) for example in built.examples}
    assert numbers == {"passage": {("ner", ("any", "ner"))}, "sentence": {("ner", ("ner",)), ("any", ("any",))}}


def test_a_fraction_is_told(directory: Path) -> None:
    recipe = invented.recipe(
        tasks={"ner": {"corpus": "ncbi-disease"}}, regime={"kind": "single", "settings": {"fraction": 0.25}}
    )
    built = build(recipe, directory=directory)
    left = built.counts["all tasks"]["examples left out by the fraction"]
    assert left == len(built.examples) - round(0.25 * len(built.examples))


def test_a_frozen_encoder_comes_from_another_run(directory: Path, tmp_path: Path) -> None:
    start(invented.recipe(), tmp_path / "first", directory=directory)
    recipe = invented.recipe(
        tasks={"ills": {"corpus": "ncbi-disease"}},
        model={"encoder": {"kind": "random", "run": str(tmp_path / "first")}},
        regime={"kind": "frozen"},
    )
    start(recipe, tmp_path / "second", directory=directory)
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "second"))
    shared = [name for name in after if name.startswith("encoder.")]
    assert shared
    assert all(torch.equal(before[name], after[name]) for name in shared)
    assert {name.split(".")[1] for name in after if name.startswith("heads.")} == {"ills"}


def test_a_run_that_is_not_there_is_told(directory: Path, tmp_path: Path) -> None:
    recipe = invented.recipe(model={"encoder": {"kind": "random", "run": str(tmp_path / "nowhere")}})
    with pytest.raises(BiomuxError, match="BX405"):
        build(recipe, directory=directory)


def test_tasks_of_several_kinds_share_an_encoder(directory: Path, tmp_path: Path) -> None:
    recipe = invented.recipe(
        tasks={
            "drugs": {"corpus": "bc5cdr", "types": ["Chemical"]},
            "alike": {"kind": "similarity", "corpus": "biosses"},
            "words": {"kind": "masked-words", "corpus": "bc2gm"},
        },
        regime={"kind": "one-task", "settings": {"sampling": "square-root"}},
        leaks="ignore",
    )
    start(recipe, tmp_path / "run", directory=directory)
    told = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert {name: scores["main"] for name, scores in told["tasks"].items()} == {
        "drugs": "f1",
        "alike": "pearson",
        "words": "accuracy",
    }


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ({"x": {"corpus": "bc5cdr", "kind": "taging"}}, "unknown kind of task 'taging'"),
        ({"x": {"corpus": "bc5cdr", "settings": {"colour": 1}}}, "colour"),
        ({"x": {"kind": "auxiliary", "of": "y", "settings": {"which": "has"}}}, "no tagging task 'y'"),
        ({"x": {"kind": "tagging"}}, "corpus"),
        (
            {"x": {"corpus": "bc5cdr", "head": {"kind": "pooled", "settings": {"pooling": "min"}}}},
            "pooling: must be 'cls', 'mean' or 'max'",
        ),
    ],
)
def test_what_a_recipe_gets_wrong_is_named(directory: Path, tasks: dict[str, Any], said: str) -> None:
    with pytest.raises(BiomuxError, match=said):
        build(invented.recipe(tasks=tasks), directory=directory)


def test_a_task_without_a_positive_example_is_refused(tmp_path: Path) -> None:
    """Relations of concepts that no mention carries, as they would be if identifiers were written otherwise."""
    lines = "1|t|Aspirin after ulcer.\n1|a|\n1\t0\t7\tAspirin\tChemical\tD1\n1\t14\t19\tulcer\tDisease\tD2\n"
    for split in ("Training", "Development", "Test"):
        put(
            tmp_path,
            f"relations/BC5CDR-CID/CDR_{split}Set.PubTator.txt.gz",
            lines.replace("Aspirin", "Zolmide" if split == "Training" else "Aspirin") + "1\tCID\tMESH:D1\tMESH:D2\n",
        )
    recipe = invented.recipe(tasks={"cid": {"kind": "relation", "corpus": "bc5cdr-cid", "head": {"kind": "pooled"}}})
    with pytest.raises(BiomuxError) as refused:
        build(recipe, directory=tmp_path)
    assert refused.value.code == "BX409"
    assert refused.value.where == "tasks → cid"
    assert "train of bc5cdr-cid gives this task no positive example" in refused.value.message
    assert "relations of concepts without a mention: 1" in refused.value.message
    assert refused.value.hint


def test_a_student_begins_as_some_layers_of_another_run_with_its_heads(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=12)
    model: dict[str, Any] = {"encoder": {"kind": "random", "layers": 2}}
    start(invented.recipe(model=model, loop={"epochs": 1}), tmp_path / "first", directory=directory)
    student = {"encoder": {"kind": "random", "run": str(tmp_path / "first"), "layers": 1, "take": "last"}}
    recipe = invented.recipe(model={**student, "heads": "kept"}, loop={"epochs": 1, "learning_rate": 1e-9})
    start(recipe, tmp_path / "second", directory=directory)
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "second"))
    assert not any(".layer.1." in name for name in after)
    for name, value in after.items():
        origin = before[name.replace(".layer.0.", ".layer.1.")]
        assert torch.allclose(value, origin, atol=1e-6), name


def test_heads_that_a_run_knows_start_from_it_and_the_others_are_new(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=12)
    model: dict[str, Any] = {"encoder": {"kind": "random"}}
    start(invented.recipe(model=model, loop={"epochs": 1}), tmp_path / "first", directory=directory)
    student = {"encoder": {"kind": "random", "run": str(tmp_path / "first"), "feed_forward": 8}, "heads": "known"}
    tasks = {**invented.recipe().model_dump(mode="json")["tasks"], "more": {"corpus": "ncbi-disease"}}
    built = build(invented.recipe(model=student, tasks=tasks), directory=directory)
    before, after = load_file(tmp_path / "first" / "model.safetensors"), built.model.state_dict()
    heads = [name for name in after if name.startswith("heads.")]
    assert {name for name in heads if name in before} == {name for name in heads if not name.startswith("heads.more.")}
    assert all(torch.equal(after[name], before[name]) for name in heads if name in before)
    assert built.model.encoder.config.intermediate_size == 8


def test_feed_forward_units_of_an_encoder_without_them_are_refused(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=8)
    encoder = {"kind": "lexical", "layers": 2, "lexical": {"width": 16}, "feed_forward": 8}
    with pytest.raises(RecipeError, match="not a transformer"):
        build(invented.recipe(model={"encoder": encoder}), directory=directory)


def test_layers_of_a_run_without_a_transformer_are_refused(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=8)
    model: dict[str, Any] = {"encoder": {"kind": "lexical", "layers": 2, "lexical": {"width": 16}}}
    start(invented.recipe(model=model, loop={"epochs": 1}), tmp_path / "first", directory=directory)
    student = {"encoder": {"kind": "lexical", "run": str(tmp_path / "first"), "take": [2]}}
    with pytest.raises(RecipeError, match="not a transformer"):
        start(invented.recipe(model=student), tmp_path / "second", directory=directory)
