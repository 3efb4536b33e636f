"""Pre-training from end to end: what it leaves, how it goes on, what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tiny
import torch
from safetensors.torch import load_file
from training import invented, plain
from training.processes import run_two

from biomux.errors import RecipeError, TrainingError
from biomux.recipes import pretraining
from biomux.training import loop, pretrain, run
from biomux.training.build import build
from biomux.training.encoders import transformer

if TYPE_CHECKING:
    from biomux.recipes.pretraining import Pretraining

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder and text."""
    folder = tmp_path_factory.mktemp("pretrain")
    plain.encoder(folder / "encoder")
    plain.texts(folder / "text.txt")
    return folder


def _recipe(place: Path, **sections: Any) -> Pretraining:
    return plain.recipe(place / "encoder", place / "text.txt", **sections)


@pytest.fixture(scope="module")
def finished(place: Path) -> Path:
    pretrain.start(_recipe(place), place / "finished")
    return place / "finished"


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    return [event for event in found if event["event"] == kind]


def test_held_out_text_gets_less_surprising(finished: Path) -> None:
    scores = json.loads((finished / "scores.json").read_text())
    told = events(finished, "perplexity")
    assert [one["step"] for one in told] == [0, *(int(step) for step in scores["steps"] if step != "0")]
    assert len(told) == 3  # before, and after each of two epochs
    assert scores["perplexity"] < 0.7 * scores["before"]
    counts = json.loads((finished / "counts.json").read_text())["text"]
    assert counts["documents"] + counts["held_out_documents"] == 60
    assert counts["held_out_documents"] > 0


def test_the_encoder_is_taken_by_recipes_by_its_folder_and_by_its_run(finished: Path, tmp_path: Path) -> None:
    encoder, _, _ = transformer.load(str(finished / "encoder"))
    kept = load_file(finished / "model.safetensors")
    for name, value in encoder.state_dict().items():
        assert torch.equal(kept[f"encoder.{name}"], value)
    corpora = invented.corpora(tmp_path / "corpora", number=20)
    for chosen in ({"name": str(finished / "encoder")}, {"name": "x", "run": str(finished)}):
        recipe = invented.recipe(model={"encoder": {**chosen, "limit": 30}}, loop={"epochs": 1})
        for name, value in build(recipe, directory=corpora).model.encoder.state_dict().items():
            assert torch.equal(kept[f"encoder.{name}"], value)
    run.start(recipe, tmp_path / "run", directory=corpora)


def test_pre_training_goes_on_from_what_it_left(place: Path, finished: Path) -> None:
    """The head is in the folder too: the first perplexity is the last one of the run before."""
    best = json.loads((finished / "scores.json").read_text())["perplexity"]
    for name, encoder in (("folder", {"name": str(finished / "encoder")}), ("run", {"run": str(finished)})):
        recipe = _recipe(place, model={"encoder": {"name": "x", "limit": 30, **encoder}}, loop={"steps": 1})
        pretrain.start(recipe, place / f"on-{name}")
        assert events(place / f"on-{name}", "perplexity")[0]["perplexity"] == pytest.approx(best, rel=1e-4)
    model = {"encoder": {"name": str(finished / "encoder"), "limit": 30}, "head": "fresh"}
    pretrain.start(_recipe(place, model=model, loop={"steps": 1}), place / "fresh")
    assert events(place / "fresh", "perplexity")[0]["perplexity"] > 1.2 * best


def _stop_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    step = loop.step

    def stops(*arguments: Any) -> Any:
        if arguments[0].progress.step == number:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(loop, "step", stops)


SECTIONS: dict[str, Any] = {"loop": {"steps": 11, "ema": 0.9}, "score": {"every": 4}, "masking": {"whole_words": True}}


@pytest.mark.parametrize("taught", [False, True])
def test_a_stopped_run_ends_with_the_same_weights(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taught: bool
) -> None:
    sections = SECTIONS | ({"distil": _distil(place)} if taught else {})
    recipe = _recipe(place, **sections)
    pretrain.start(recipe, tmp_path / "whole")
    _stop_at(monkeypatch, 7)
    with pytest.raises(KeyboardInterrupt):
        pretrain.start(recipe, tmp_path / "stopped")
    monkeypatch.undo()
    assert not (tmp_path / "stopped" / "encoder").exists()
    progress = pretrain.start(pretrain.resumed(tmp_path / "stopped"), tmp_path / "stopped")
    assert progress.step == 11
    for file in ("model.safetensors", "encoder/model.safetensors", "checkpoints/last/model.safetensors"):
        one, two = (load_file(tmp_path / name / file) for name in ("whole", "stopped"))
        assert one.keys() == two.keys()
        assert all(torch.equal(one[name], two[name]) for name in one)
    told = [
        {one["step"]: one["perplexity"] for one in events(tmp_path / name, "perplexity")}
        for name in ("whole", "stopped")
    ]
    assert told[0] == told[1]
    assert list(told[0]) == [0, 4, 8, 11]


KILLED = """
import os, sys
from pathlib import Path
from biomux.training import loop, pretrain
from biomux.recipes import pretraining
step = loop.step
def dies(*arguments):
    if arguments[0].progress.step == int(sys.argv[3]):
        os.kill(os.getpid(), 9)
    return step(*arguments)
loop.step = dies
pretrain.start(pretraining.read(sys.argv[1]), Path(sys.argv[2]), report_every=1e9)
"""


def test_a_killed_run_goes_on_from_its_last_checkpoint(place: Path, tmp_path: Path) -> None:
    import yaml

    recipe = _recipe(place, loop={"steps": 40, "checkpoint_minutes": 1e-9})
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    command = [sys.executable, "-c", KILLED, str(tmp_path / "recipe.yaml"), str(tmp_path / "killed")]
    assert subprocess.run([*command, "9"], check=False, timeout=300).returncode == -9
    pretrain.start(recipe, tmp_path / "killed")
    pretrain.start(recipe, tmp_path / "whole")
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert events(tmp_path / "killed", "start")[-1]["resumed"]


def _distil(place: Path, **settings: Any) -> dict[str, Any]:
    """Everything that a teacher in the step can teach, of another width."""
    if not (place / "teacher").exists():
        plain.encoder(place / "teacher", layers=4, width=64, seed=9)
    return {
        "teacher": str(place / "teacher"),
        "map": "uniform",
        "words": 2.0,
        "output": {"temperature": 2.0, "weight": 5.0},
        "features": [
            {"loss": "hidden-cosine", "layers": "last"},
            {"loss": "hidden-mse", "layers": "embeddings", "weight": 0.5},
            {"loss": "attention-kl", "weight": [0.5, 1.0]},
            {"loss": "attention-mse", "layers": [2]},
        ],
        **settings,
    }


def test_a_student_learns_all_that_its_recipe_names(place: Path, tmp_path: Path) -> None:
    pretrain.start(_recipe(place, distil=_distil(place), loop={"epochs": 3}), tmp_path / "student")
    told = [event["losses"] for event in events(tmp_path / "student", "step")]
    assert set(told[0]) == {
        "words",
        "words@teacher",
        "hidden-cosine 2-4",
        "hidden-mse 0-0",
        "attention-kl 1-2",
        "attention-kl 2-4",
        "attention-mse 2-4",
    }
    for name in ("words@teacher", "hidden-cosine 2-4", "hidden-mse 0-0"):
        assert told[-1][name] < told[0][name]


def test_a_student_of_the_teacher_alone_has_no_loss_of_its_own(place: Path, tmp_path: Path) -> None:
    settings = {"output": {"loss": "soft-cross-entropy"}, "words": 0.0, "features": []}
    pretrain.start(_recipe(place, distil=_distil(place, **settings), loop={"steps": 3}), tmp_path / "student")
    assert set(events(tmp_path / "student", "step")[0]["losses"]) == {"words@teacher"}


def test_a_student_that_is_its_teacher_has_nothing_to_learn(place: Path, tmp_path: Path) -> None:
    distil = {
        "teacher": str(place / "encoder"),
        "words": 0.0,
        "output": {},
        "features": [{"loss": loss} for loss in ("hidden-cosine", "hidden-mse", "attention-mse", "attention-kl")],
    }
    model = {"encoder": {"name": str(place / "encoder"), "limit": 30}}
    recipe = _recipe(place, distil=distil, model=model, loop={"steps": 1, "batch_tokens": 1000})
    pretrain.start(recipe, tmp_path / "same")
    (told,) = events(tmp_path / "same", "step")
    assert len(told["losses"]) == 9
    assert all(abs(value) < 1e-4 for value in told["losses"].values())


TWO = """
import sys
from pathlib import Path
from biomux.recipes import pretraining
from biomux.training import pretrain
pretrain.start(pretraining.read(sys.argv[1]), Path(sys.argv[2]), report_every=1e9)
"""


def test_two_processes_do_what_one_does_with_a_teacher(place: Path, tmp_path: Path) -> None:
    import yaml

    model = {"encoder": {"name": str(place / "encoder"), "limit": 30}}
    recipe = _recipe(place, model=model, distil=_distil(place), loop={"steps": 6, "accumulate": 2})
    pretrain.start(recipe, tmp_path / "one" / "run", report_every=1e9)  # once an epoch, however slow
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    run_two(TWO, tmp_path / "recipe.yaml", tmp_path / "two" / "run")
    one, two = (load_file(tmp_path / name / "run" / "model.safetensors") for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=2e-5, rtol=1e-4)
    left, right = ([event["losses"] for event in events(tmp_path / name / "run", "step")] for name in ("one", "two"))
    assert left == [pytest.approx(losses, abs=1e-3) for losses in right]


def test_text_may_have_no_held_out_part(place: Path, tmp_path: Path) -> None:
    recipe = _recipe(place, loop={"steps": 3})
    recipe = recipe.model_copy(update={"text": recipe.text.model_copy(update={"held_out": 0.0})})
    progress = pretrain.start(recipe, tmp_path / "run")
    assert progress.best < 0
    assert not (tmp_path / "run" / "scores.json").exists()
    assert (tmp_path / "run" / "encoder" / "config.json").is_file()


def test_other_text_or_another_teacher_is_refused_on_the_way(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = plain.texts(tmp_path / "text.txt")
    teacher = plain.encoder(tmp_path / "teacher")
    recipe = plain.recipe(place / "encoder", text, loop={"steps": 5}, distil=_distil(place, teacher=str(teacher)))
    _stop_at(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        pretrain.start(recipe, tmp_path / "run")
    monkeypatch.undo()
    written = text.read_text()
    text.write_text(written + "another line\n")
    with pytest.raises(TrainingError, match=r"BX405.*its text changed"):
        pretrain.start(recipe, tmp_path / "run")
    text.write_text(written)
    plain.encoder(teacher, seed=11)
    with pytest.raises(TrainingError, match=r"BX405.*its teacher changed"):
        pretrain.start(recipe, tmp_path / "run")
    with pytest.raises(TrainingError, match=r"BX405.*another recipe"):
        pretrain.start(recipe.model_copy(update={"distil": None}), tmp_path / "run")


def test_teachers_that_cannot_teach_are_refused(place: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    described = tiny.config()
    described.pop("model_type")
    BertModel(BertConfig(**described)).save_pretrained(tmp_path / "headless")
    tiny.tokenizer().save(str(tmp_path / "headless" / "tokenizer.json"))
    distil = _distil(place, teacher=str(tmp_path / "headless"))
    with pytest.raises(TrainingError, match=r"BX551.*no head that predicts masked words"):
        pretrain.start(_recipe(place, distil=distil), tmp_path / "one")
    trimmed = {"name": str(place / "encoder"), "limit": 30, "vocabulary": {"kind": "trim"}}
    recipe = _recipe(place, distil=_distil(place), model={"encoder": trimmed})
    with pytest.raises(TrainingError, match="BX401"):
        pretrain.start(_recipe(place, distil=_distil(place, teacher=str(tmp_path / "none"))), tmp_path / "three")
    assert not (tmp_path / "three").exists()
    with pytest.raises(TrainingError, match=r"BX551.*vocabulary differs from its student"):
        pretrain.start(recipe, tmp_path / "two")


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ([{"loss": "hidden-mse", "layers": [3]}], "the student has no layer 3"),
        ([{"loss": "hidden-mse", "weight": [1.0]}], "one weight for each of the 2 layers, got 1"),
        ([{"loss": "hidden-mse"}, {"loss": "hidden-mse", "layers": "last"}], "is given twice"),
    ],
)
def test_layers_that_do_not_fit_are_told(place: Path, tmp_path: Path, features: Any, said: str) -> None:
    with pytest.raises(RecipeError, match=said) as caught:
        pretrain.start(_recipe(place, distil=_distil(place, features=features)), tmp_path / "run")
    assert caught.value.hint


@pytest.mark.parametrize(
    "encoder",
    [
        {"kind": "random"},
        {"kind": "convolution", "convolution": {"width": 16}},
        {"kind": "bilstm", "bilstm": {"hidden": 16, "word_width": 16}},
        {"kind": "lexical", "lexical": {"word_rows": 64, "gram_rows": 64, "width": 16}},
        {"kind": "shaped", "shape": {"layers": 1, "width": 16, "heads": 2, "feed_forward": 32}},
    ],
    ids=lambda encoder: encoder["kind"],
)
def test_other_encoders_can_be_pre_trained_too(place: Path, tmp_path: Path, encoder: dict[str, Any]) -> None:
    name = {"name": str(place / "encoder")} if encoder["kind"] in ("convolution", "shaped") else {}
    recipe = _recipe(place, model={"encoder": {**encoder, **name, "limit": 30}}, loop={"epochs": 3})
    pretrain.start(recipe, tmp_path / "run")
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert scores["perplexity"] < scores["before"]
    assert (tmp_path / "run" / "encoder").is_dir() == (encoder["kind"] in ("random", "shaped"))


def test_a_new_vocabulary_is_trained_and_what_it_saves_is_told(place: Path, tmp_path: Path) -> None:
    encoder = {"name": str(place / "encoder"), "limit": 30, "vocabulary": {"kind": "train", "size": 100}}
    pretrain.start(_recipe(place, model={"encoder": encoder}, loop={"steps": 2}), tmp_path / "run")
    (told,) = events(tmp_path / "run", "vocabulary")
    assert told["tokens_before"] == len(tiny.PIECES)
    assert told["tokens_after"] <= 100
    assert told["parameters_saved"] == (told["tokens_before"] - told["tokens_after"]) * 32
    loaded, tokenizer, _ = transformer.load(str(tmp_path / "run" / "encoder"))
    assert len(loaded.embeddings) == tokenizer.get_vocab_size() == told["tokens_after"]


LOSSES = {
    "c/bio-distil": {"words"},
    "c/bio-tiny": {"words"},
    "c/bio-mobile": {"words"},
    "c/distil": {"words", "words@teacher", "hidden-cosine"},
    "c/tiny": {"words@teacher", "hidden-mse", "attention-mse"},
    "c/compact": {"words", "words@teacher", "hidden-cosine", "attention-kl"},
}


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of BioBERT's depth and heads."""
    return plain.encoder(tmp_path_factory.mktemp("deep") / "encoder", layers=12, width=48, heads=12)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_every_recipe_of_paper_c_learns_what_the_paper_names(
    place: Path, deep: Path, tmp_path: Path, name: str, small: bool
) -> None:
    assert set(pretraining.names()) == set(LOSSES)
    settings = [
        f"model.encoder.name={deep}",
        "model.encoder.limit=30",
        "text.format=lines",
        "text.held_out=0.1",
        "loop.steps=1",
        "loop.accumulate=1",
        "loop.batch_tokens=128",
    ]
    if "@teacher" in " ".join(LOSSES[name]):
        settings.append(f"distil.teacher={deep}")
    recipe = pretraining.read(name, texts=[str(place / "text.txt")], settings=settings, small=small)
    pretrain.start(recipe, tmp_path / "run")
    (told,) = events(tmp_path / "run", "step")
    layers = {"c/distil": 6, "c/tiny": 4, "c/compact": 6}.get(name, 0) if not small else 3
    assert {one.partition(" ")[0] for one in told["losses"]} == LOSSES[name]
    if name == "c/tiny":
        assert len(told["losses"]) == 2 + 2 * layers
        assert f"attention-mse {layers}-12" in told["losses"]
        assert "hidden-mse 0-0" in told["losses"]
    elif name == "c/compact":
        assert len(told["losses"]) == 2 + 2 * layers
        assert f"hidden-cosine 1-{2}" in told["losses"]
    elif name == "c/distil":
        assert f"hidden-cosine {layers}-12" in told["losses"]
    assert (tmp_path / "run" / "encoder" / "model.safetensors").is_file()


def test_shipped_recipes_are_whole(tmp_path: Path) -> None:
    """Every recipe and its small variant can be read; the text is the user's."""
    for name in pretraining.names():
        for small in (False, True):
            recipe = pretraining.read(name, texts=["a.txt"], small=small)
            assert recipe.text.files == ("a.txt",)
            assert recipe.loop.steps
            assert recipe.about
    plainly = tmp_path / "plain.yaml"
    plainly.write_text("name: x\nmodel: {encoder: {name: y}}\n")
    with pytest.raises(RecipeError, match="BX552"):
        pretraining.read(str(plainly), small=True)
    with pytest.raises(RecipeError, match="BX303"):
        pretraining.read("c/nothing-like-it")
