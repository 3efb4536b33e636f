"""`biomux pretrain`: what it prints, what it leaves, how it stops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from cli.stopping import stop_at_first_step
from training import plain

from biomux.cli import run as biomux

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder, text and a recipe without text."""
    folder = tmp_path_factory.mktemp("pretrain")
    plain.encoder(folder / "encoder")
    plain.texts(folder / "text.txt")
    described = plain.recipe(folder / "encoder", folder / "text.txt").model_dump(mode="json")
    described["text"]["files"] = []
    described["small"] = {"loop.steps": 4, "model.encoder.vocabulary": {"kind": "trim"}}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(described))
    return folder


def test_an_encoder_is_pre_trained_and_its_folder_printed(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert biomux(["pretrain", "recipe.yaml", "text.txt", "--small", "--set", "loop.seed=3"]) == 0
    said = capsys.readouterr()
    assert said.out == "runs/tiny-1/encoder\n"
    for part in (
        "text: splitting ",
        "vocabulary: ",
        "parameters fewer",
        "held-out perplexity before the first step: ",
        "held-out perplexity after step 4: ",
        "step 4 of 4",
        "done: 4 steps",
    ):
        assert part in said.err
    assert (place / "runs/tiny-1/encoder/config.json").is_file()
    assert biomux(["runs", "--json"]) == 0
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["run"], found["recipe"], found["kind"], found["state"]) == ("runs/tiny-1", "tiny", "pretrain", "done")
    scores = json.loads((place / "runs/tiny-1/scores.json").read_text())
    assert found["perplexity"] == {"before": scores["before"], "best": scores["perplexity"]}
    assert (found["best"], found["step"], found["steps"]) == (None, 4, 4)
    assert biomux(["runs"]) == 0
    shown = f"{scores['before']:.2f} → {scores['perplexity']:.2f}"
    assert shown in capsys.readouterr().out
    assert biomux(["report", "runs/tiny-1", "-o", "page"]) == 0
    page = (place / "page" / "report.md").read_text()
    assert f"Perplexity of held-out text: {scores['before']:.2f} after 0 updates; " in page
    assert "pre-training, done, 4 of 4 updates" in page
    assert (place / "page" / "figures" / "run1-perplexity.svg").is_file()


def test_ctrl_c_says_how_to_go_on(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    stop_at_first_step(monkeypatch)
    assert biomux(["pretrain", "recipe.yaml", "text.txt", "--run", "stopped"]) == 130
    assert "resume with: biomux pretrain --resume stopped" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert biomux(["pretrain", "--resume", "stopped"]) == 0
    said = capsys.readouterr()
    assert "resuming from the last checkpoint" in said.err
    assert said.out == "stopped/encoder\n"


def test_recipes_are_listed_shown_and_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert biomux(["recipes", "list"]) == 0
    assert "c/tiny\tbiomux pretrain\t\tTinyBioBERT: " in capsys.readouterr().out
    assert biomux(["recipes", "show", "c/tiny"]) == 0
    assert capsys.readouterr().out.startswith("# biomux pretrain c/tiny ")
    assert biomux(["recipes", "copy", "c/tiny"]) == 0
    assert "next, biomux pretrain tiny.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["c/bio-distill", "text.txt"], "did you mean 'c/bio-distil'"),
        (["recipe.yaml"], "BX550"),
        (["recipe.yaml", "nowhere.txt"], "nowhere.txt"),
        (["recipe.yaml", "text.txt", "--set", "masking.mask=0.95"], "must add up to at most 1, got 1.05"),
        (["recipe.yaml", "text.txt", "--set", "distil={teacher: encoder}"], "a teacher needs something to teach"),
        (["recipe.yaml", "text.txt", "--set", "text.hold_out=0.1"], "did you mean"),
        (["--resume", "nowhere"], "no such folder"),
        (["--resume", "stopped", "text.txt"], "a run is resumed as it was started"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(place)
    before = sorted(path.name for path in place.iterdir())
    assert biomux(["pretrain", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in place.iterdir()) == before


def test_a_run_that_could_not_begin_is_begun_anew_with_a_mended_recipe(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.txt").write_text("one document alone\n")
    arguments = ["pretrain", str(place / "recipe.yaml"), "one.txt", "--small", "--run", "run", "--set"]
    assert biomux([*arguments, "text.held_out=0.5"]) == 2
    assert "set text.held_out to 0" in capsys.readouterr().err
    assert biomux([*arguments, "text.held_out=0"]) == 0
    assert biomux([*arguments, "text.held_out=0", "--set", "loop.seed=5"]) == 2
    assert "BX405: run: the folder already contains a run of another recipe" in capsys.readouterr().err
    assert biomux(["train", str(place / "recipe.yaml"), "--run", "run"]) == 2


def test_formats_are_named_by_the_setting(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\1")
    (tmp_path / "one.txt").write_text("a text\n")
    arguments = ["pretrain", str(place / "recipe.yaml"), "--set", "text.format=null", "--run", "run"]
    for files in (["picture.png"], ["one.txt", "picture.png"]):
        assert biomux([*arguments, *files]) == 2
        said = capsys.readouterr().err
        assert "BX110: picture.png" in said
        assert "name the format with text.format" in said
        assert "--from" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["pretrain", "a/mtl"],
            "BX303: unknown pre-training recipe 'a/mtl'; it is a recipe for `biomux train a/mtl`",
        ),
        (["train", "c/tiny"], "BX303: unknown recipe 'c/tiny'; it is a pre-training recipe: biomux pretrain c/tiny"),
        (["pretrain", "c/tiny", "--set", "text.held_out=1"], "text → held_out: must be less than 1, got 1"),
        (["pretrain", "c/tiny", "--set", "distil.map=foo"], "distil → map: must be 'first', 'last'"),
    ],
)
def test_what_is_wrong_is_told_in_words_of_recipes(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert biomux(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_teacher_that_is_not_there_is_told_before_there_is_a_folder(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("{}")
    for teacher, told in (
        ("empty", "BX401: distil → teacher: cannot load the teacher 'empty'"),
        ("file", "BX401: cannot load config.json of 'file': it is not a folder"),
        ("runs/first/encoder", "there is no such folder; give the folder of an encoder, such as RUN/encoder"),
    ):
        distil = f"distil={{teacher: {teacher}, output: {{}}}}"
        arguments = ["pretrain", str(place / "recipe.yaml"), str(place / "text.txt"), "--set", distil]
        assert biomux(arguments) == 2
        assert told in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_kinds_of_runs_do_not_share_a_folder(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for mark, other in (("recipe.yaml", "biomux train"), ("adding.json", "biomux train --with")):
        (tmp_path / mark).write_text("{}")
        assert biomux(["pretrain", str(place / "recipe.yaml"), str(place / "text.txt"), "--run", "."]) == 2
        assert f"BX405: .: the folder already contains a run of `{other}`; name another" in capsys.readouterr().err
        (tmp_path / mark).unlink()
    assert not list(tmp_path.iterdir())
