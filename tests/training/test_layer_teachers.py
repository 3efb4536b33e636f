"""Tagging recipes whose students learn a teacher's layers in the step, and its answers about words, tokens and windows from disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from training import invented, plain
from training.interruption import assert_resumes_to_the_same_weights
from training.processes import run_two

from biomux.errors import BiomuxError, TrainingError
from biomux.training import distil, loop, run

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.recipes.schema import Recipe

FEATURES = [
    {"loss": "hidden-mse", "layers": "embeddings"},
    {"loss": "hidden-mse", "layers": "all", "weight": 0.5},
    {"loss": "hidden-cosine", "layers": "last"},
    {"loss": "attention-mse", "layers": "all"},
    {"loss": "attention-kl", "layers": [1]},
]
NAMES = {"hidden-mse 0-0", "hidden-mse 1-2", "hidden-cosine 1-2", "attention-mse 1-2", "attention-kl 1-2"}
JOINT = {
    "ner": {"corpus": "bc5cdr", "settings": {"learns": "all"}},
    "has": {"kind": "auxiliary", "of": "ner", "settings": {"which": "has"}, "head": {"kind": "pooled"}},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora, a narrow and a wide encoder, and a run of the wide one."""
    folder = tmp_path_factory.mktemp("layers")
    invented.corpora(folder / "corpora", number=24)
    plain.encoder(folder / "narrow", layers=1)
    plain.encoder(folder / "wide", layers=2, width=64, seed=8)
    run.start(_recipe(folder / "wide", tasks=JOINT), folder / "teacher", directory=folder / "corpora")
    return folder


def _recipe(encoder: Path, **changes: Any) -> Recipe:
    model = {
        "encoder": {"name": str(encoder), "limit": 30},
        "head": {"kind": "linear", "settings": {"dropout": 0.0}},
    }
    loop = {"epochs": 1, **changes.pop("loop", {})}
    defaults = {"tasks": {"ner": {"corpus": "bc5cdr"}}, "regime": {"kind": "joint"}, "model": model}
    return invented.recipe(**(defaults | changes), loop=loop)


def _student(place: Path, **changes: Any) -> Recipe:
    return _recipe(place / "narrow", distil={"teacher": str(place / "teacher"), "features": FEATURES}, **changes)


def _losses(folder: Path) -> list[dict[str, float]]:
    told = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    return [event["losses"] for event in told if event["event"] == "step"]


def test_a_tagger_learns_its_labels_and_the_layers_of_a_wider_run(place: Path, tmp_path: Path) -> None:
    run.start(_student(place, loop={"epochs": 4}), tmp_path / "run", directory=place / "corpora")
    told = _losses(tmp_path / "run")
    assert set(told[0]) == {"ner", *NAMES}
    assert told[-1]["hidden-mse 0-0"] < told[0]["hidden-mse 0-0"]
    assert told[-1]["hidden-cosine 1-2"] < 0.9 * told[0]["hidden-cosine 1-2"]
    saved = set(load_file(tmp_path / "run" / "model.safetensors"))
    assert all(name.startswith(("encoder.", "heads.ner.")) for name in saved)
    begun = json.loads((tmp_path / "run" / "begun.json").read_text())
    recipe = _student(place)
    assert begun["distil"] == distil.checksum(recipe.distil)
    run.start(_recipe(place / "narrow"), tmp_path / "alone", directory=place / "corpora")
    assert saved == set(load_file(tmp_path / "alone" / "model.safetensors"))


@pytest.mark.parametrize("regime", ["mixed", "random-task"])
def test_projections_are_learned_whatever_the_regime(place: Path, tmp_path: Path, regime: str) -> None:
    """Also where each task has an optimizer of its own: the projections belong to none of them."""
    kept: list[loop.LoopInputs] = []
    train = loop.train

    def watched(given: loop.LoopInputs) -> Any:
        kept.append(given)
        return train(given)

    first = {}
    tasks = {"ner": {"corpus": "bc5cdr"}, "genes": {"corpus": "bc2gm"}}
    teacher = tmp_path / "teacher"
    run.start(_recipe(place / "wide", tasks=tasks, regime={"kind": "mixed"}), teacher, directory=place / "corpora")
    made = _recipe(
        place / "narrow",
        tasks=tasks,
        regime={"kind": regime},
        distil={"teacher": str(teacher), "features": FEATURES},
    )
    from biomux.training import step_teacher

    projections = step_teacher.projections

    def remembered(*arguments: Any) -> Any:
        found = projections(*arguments)
        first.update({name: one.weight.detach().clone() for name, one in found.items()})
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "train", watched)
        patch.setattr(step_teacher, "projections", remembered)
        run.start(made, tmp_path / "run", directory=place / "corpora")
    (inputs,) = kept
    assert set(first) == {"hidden-mse 0-0", "hidden-mse 1-2", "hidden-cosine 1-2"}
    for name, before in first.items():
        assert not torch.equal(before, inputs.projections[name].weight)


def test_a_stopped_student_goes_on_to_the_same_weights_with_both_kinds_of_teachers(place: Path, tmp_path: Path) -> None:
    recipe = _student(place, teacher={"models": [str(place / "teacher")]}, loop={"epochs": 3})
    assert_resumes_to_the_same_weights(4, recipe, tmp_path, directory=place / "corpora")
    last = [load_file(tmp_path / name / "checkpoints" / "last" / "state.safetensors") for name in ("stopped", "whole")]
    beside = [name for name in last[1] if name.startswith("extra/beside/")]
    assert len(beside) == 3
    assert all(torch.equal(last[0][name], last[1][name]) for name in beside)


TWO = """
import sys
from pathlib import Path
from biomux.recipes.read import read
from biomux.training import run
run.start(read(sys.argv[1]), Path(sys.argv[2]), directory=Path(sys.argv[3]), report_every=1e9)
"""


def test_two_processes_do_what_one_does_with_both_kinds_of_teachers(place: Path, tmp_path: Path) -> None:
    """Nothing is on disk when the two begin: one computes what the teacher says, and the other waits for it."""
    import yaml

    recipe = _student(place, teacher={"models": [str(place / "teacher")]}, loop={"epochs": 2, "accumulate": 2})
    run.start(recipe, tmp_path / "one" / "run", directory=place / "corpora", report_every=1e9)  # once an epoch
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    run_two(TWO, tmp_path / "recipe.yaml", tmp_path / "two" / "run", place / "corpora")
    one, two = (load_file(tmp_path / name / "run" / "model.safetensors") for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=2e-5, rtol=1e-4)
    left, right = (_losses(tmp_path / name / "run") for name in ("one", "two"))
    assert set(left[0]) == {"ner", "ner@teacher", *NAMES}
    assert left == [pytest.approx(losses, abs=1e-3) for losses in right]


def test_a_student_that_is_its_teacher_has_nothing_to_learn(place: Path, tmp_path: Path) -> None:
    """Layers, words by all their tokens, and sentences: every loss but those of labels is zero before anything moves."""
    features = [{"loss": one} for one in ("hidden-mse", "hidden-cosine", "attention-mse", "attention-kl")]
    model = {
        "encoder": {"name": str(place / "wide"), "limit": 30, "run": str(place / "teacher")},
        "head": {"kind": "linear", "settings": {"dropout": 0.0}},
        "heads": "kept",
    }
    heads = {"has": {**JOINT["has"], "head": {"kind": "pooled", "settings": {"dropout": 0.0}}}}
    recipe = _recipe(
        place / "wide",
        model=model,
        tasks=JOINT | heads,
        distil={"teacher": str(place / "teacher"), "features": features},
        teacher={"models": [str(place / "teacher")], "alpha": 0.5},
        loop={"steps": 1, "batch_tokens": 10_000},
    )
    run.start(recipe, tmp_path / "run", directory=place / "corpora")
    (told,) = _losses(tmp_path / "run")
    assert told.pop("ner") > 0.05
    assert told.pop("has") > 0.05
    assert set(told) >= {"ner@teacher", "has@teacher", "attention-kl 2-2"}
    assert all(abs(value) < 1e-4 for value in told.values())


def test_words_tokens_and_windows_have_what_the_teacher_says(place: Path, tmp_path: Path) -> None:
    recipe = _recipe(place / "narrow", tasks=JOINT, teacher={"models": [str(place / "teacher")]})
    run.start(recipe, tmp_path / "run", directory=place / "corpora")
    counts = json.loads((tmp_path / "run" / "counts.json").read_text())["examples"]
    assert counts["has"] == {"readings that a teacher answers for": 24, "readings without a partner in a teacher's": 0}
    assert counts["ner"]["words without a partner in a teacher's"] == 0
    with np.load(tmp_path / "run" / "cache" / "examples.npz") as arrays:
        tokens, labels = arrays["labels/ner@teacher"], arrays["labels/ner"]
        windows = arrays["labels/has@teacher"]
        first = arrays["tokens/first"]
    assert tokens.shape == (len(labels), 5)
    assert windows.shape == (24, 2)
    assert np.isfinite(windows).all()
    assert np.array_equal(np.isnan(tokens[:, 0]), labels == -100)
    assert counts["ner"]["words that a teacher answers for"] == len(first)


def test_all_tokens_of_a_word_have_its_logits_and_context_has_none() -> None:
    from biomux.tasks.examples import Example, Labels, ModelInput
    from biomux.text.tokens import Tokens
    from biomux.training import teachers

    tokens = Tokens(*(np.array(part, dtype=np.int32) for part in ([5, 6, 7, 8], [1, 3], [0, 4], [3, 9])))
    example, logits = Example("ner", ModelInput(tokens)), np.array([[1, 2], [3, 4]], dtype=np.float32)
    found = teachers.spelt(logits, Labels("token", np.array([-100, 0, 0, 1])), example).values
    assert np.isnan(found[0]).all()
    assert found[1:].tolist() == [[1, 2], [1, 2], [3, 4]]
    words = teachers.spelt(logits, Labels("word", np.array([-100, 1])), example).values
    assert np.isnan(words[0]).all()
    assert words[1].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"regime": {"kind": "frozen"}}, "BX560", "a frozen encoder cannot learn"),
        ({"distil": {"teacher": "nowhere", "features": FEATURES}}, "BX401", "cannot load the teacher"),
        ({"distil": {"features": [{"loss": "hidden-mse", "layers": [7]}]}}, "BX306", "the student has no layer 7"),
        ({"distil": {"features": [{"loss": "hidden-mse", "layers": []}]}}, "BX306", "no layer has a weight"),
        ({"hold_out": ["bc2gm"]}, "BX451", "did not hold out bc2gm devel, bc2gm test"),
        (
            {
                "teacher": {"loss": "kl-divergence", "heads": {"topic": "ner"}},
                "tasks": {"topic": {"kind": "similarity"}},
            },
            "BX561",
            "compares one choice among labels",
        ),
    ],
)
def test_what_cannot_be_taught_is_refused(
    place: Path, tmp_path: Path, changes: dict[str, Any], code: str, message: str
) -> None:
    if code == "BX561":
        from biomux.recipes.schema import TeacherSettings
        from biomux.tasks.similarity import Similarity
        from biomux.training import teachers

        with pytest.raises(TrainingError, match=message) as wrong:
            teachers.pupils(TeacherSettings(models=("t",), loss="kl-divergence"), [Similarity("topic")])
        assert wrong.value.code == code
        return
    given = {"teacher": str(place / "teacher"), "features": FEATURES} | changes.pop("distil", {})
    with pytest.raises(BiomuxError, match=message) as caught:
        run.start(_recipe(place / "narrow", distil=given, **changes), tmp_path / "run", directory=place / "corpora")
    assert caught.value.code == code
    assert (tmp_path / "run" / "checkpoints").exists() is False


def test_a_teacher_of_another_vocabulary_or_without_attention_is_refused(place: Path, tmp_path: Path) -> None:
    other = invented.recipe(tasks={"ner": {"corpus": "bc5cdr"}}, regime={"kind": "single"}, loop={"epochs": 1})
    run.start(other, tmp_path / "other", directory=place / "corpora")
    recipe = _recipe(place / "narrow", distil={"teacher": str(tmp_path / "other"), "features": FEATURES})
    with pytest.raises(TrainingError, match="vocabulary differs from its student") as caught:
        run.start(recipe, tmp_path / "run", directory=place / "corpora")
    assert caught.value.code == "BX551"
    model = {"encoder": {"kind": "convolution", "name": str(place / "narrow"), "limit": 30, "layers": 1}}
    distil = {"teacher": str(place / "teacher"), "features": FEATURES}
    with pytest.raises(TrainingError, match="which only transformers have") as caught:
        run.start(_recipe(place / "narrow", model=model, distil=distil), tmp_path / "cnn", directory=place / "corpora")
    assert caught.value.code == "BX450"
    states = {"teacher": str(place / "teacher"), "features": [{"loss": "hidden-cosine", "layers": "last"}]}
    run.start(_recipe(place / "narrow", model=model, distil=states), tmp_path / "states", directory=place / "corpora")
    assert "hidden-cosine 1-2" in _losses(tmp_path / "states")[0]
