"""`biomux train` and `biomux runs`: what they print, what they leave, how they stop."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
import yaml
from cli.stopping import stop_at_first_step
from training import invented

from biomux.cli import run as biomux
from biomux.cli.ui import training_output
from biomux.errors import BiomuxError
from biomux.training.trained_run import described, next_folder

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with corpora and a recipe."""
    folder = tmp_path_factory.mktemp("train")
    invented.corpora(folder / "corpora", number=20)
    described = invented.recipe(loop={"epochs": 1}).model_dump(mode="json")
    (folder / "recipe.yaml").write_text(yaml.safe_dump(described))
    return folder


def test_a_recipe_is_trained_listed_and_gone_on_with(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert biomux(["train", "recipe.yaml", "--set", "loop.seed=3"]) == 0
    said = capsys.readouterr()
    assert said.out == "runs/invented-1\n"
    assert "loss: drugs" in said.err
    assert "development after epoch 1" in said.err
    assert biomux(["train", "--resume", "runs/invented-1"]) == 0
    assert "resuming from the last checkpoint" in capsys.readouterr().err
    assert biomux(["runs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["run"], found["recipe"], found["state"]) == ("runs/invented-1", "invented", "done")
    assert set(found["scores"]) == {"drugs", "genes"}
    assert biomux(["runs"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split("\t")[:6] == ["run", "recipe", "state", "best", "drugs", "genes"]
    assert row.startswith("runs/invented-1\tinvented\tdone\t")


def test_ctrl_c_says_how_to_go_on(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    stop_at_first_step(monkeypatch)
    assert biomux(["train", "recipe.yaml", "--run", "stopped"]) == 130
    assert "resume with: biomux train --resume stopped" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert biomux(["runs", "stopped", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "stopped"
    assert biomux(["train", "--resume", "stopped"]) == 0
    assert biomux(["runs", "stopped", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["state"] == "done"


def test_a_dry_run_says_what_would_be_done_and_leaves_nothing(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["--dry-run", "--quick", "--corpora", str(place / "corpora")]
    assert biomux(["train", str(place / "recipe.yaml"), *arguments]) == 0
    said = capsys.readouterr()
    assert "quick: documents=" in said.err
    for part in ("drugs\t20\t20\t20\t", "leaks: ", "tokens a second", "estimated time: ", "regime:\n  kind: mixed"):
        assert part in said.out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_counts_the_steps_that_a_recipe_names(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr("biomux.training.time_estimate.MEASURE", 0.1)
    assert biomux(["train", "recipe.yaml", "--dry-run", "--corpora", "corpora", "--set", "loop.steps=13"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    steps = [int(row[1]) for row in rows if len(row) == 3 and row[0].isdigit()]
    assert sum(steps) == 13
    assert steps[-1] <= steps[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "a/mlt"], "did you mean 'a/mtl'"),
        (["train", "--resume", "nowhere"], "nowhere: no such folder"),
        (["train", "--resume", "x", "--set", "a=1"], "a run is resumed as it was started"),
        (["train", "recipe.yaml", "--set", "loop.epochs=0"], "loop → epochs"),
        (["runs", "nowhere"], "no such folder"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(place)
    assert biomux(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_several_processes_must_be_told_their_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert biomux(["train", "recipe.yaml"]) == 2
    assert "--run is required" in capsys.readouterr().err


def test_runs_are_numbered(tmp_path: Path) -> None:
    assert next_folder(tmp_path / "runs", "a b").name == "a-b-1"
    for name in ("x-1", "x-9", "x-new", "xx-20"):
        (tmp_path / name).mkdir()
    assert next_folder(tmp_path, "x").name == "x-10"


def test_a_damaged_run_is_still_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("a", "name: [\n"), ("b", "name: fine\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "recipe.yaml").write_text(content)
        (tmp_path / name / "journal.jsonl").write_text('{"event": "start"}\n{"event": "st')
        (tmp_path / name / "scores.json").write_text("{")
    assert biomux(["runs", str(tmp_path), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["recipe"], one["state"]) for one in found] == [("?", "stopped"), ("fine", "stopped")]


def test_a_terminal_gets_a_bar_and_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    step = {"event": "step", "total": 10, "epoch": 0, "tokens_per_second": 1234.0, "losses": {"genes [x]": 0.5}}
    with training_output.shown() as show:
        show({"event": "start", "resumed": False})
        show({**step, "step": 1, "seconds": 2.0})
        show({**step, "step": 5, "seconds": 10.0})
        show({"event": "scores", "epoch": 1, "mean": 50.0, "scores": {"genes [x]": 50.0}, "seconds": 1.0})
    said = shown.getvalue()
    for part in ("step 5 of 10, 1,234 tokens/s, 10 s left", "genes [x]", "0.5000", "50.00"):
        assert part in said


def test_the_journal_goes_to_tensorboard_too(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.chdir(place)
    assert biomux(["train", "recipe.yaml", "--run", str(tmp_path / "run"), "--tensorboard"]) == 0
    assert "error" not in capsys.readouterr().err
    written = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    written.Reload()
    assert set(written.Tags()["scalars"]) == {
        "loss/drugs",
        "loss/genes",
        "tokens_per_second",
        "development",
        "development/drugs",
        "development/genes",
    }
    (score,) = written.Scalars("development")
    journal = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    assert score.value == pytest.approx(next(event["mean"] for event in journal if event["event"] == "scores"))


def test_tensorboard_that_is_not_installed_is_told(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard" or "utils.tensorboard" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "biomux.training.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert biomux(["train", "recipe.yaml", "--run", str(tmp_path / "run"), "--tensorboard"]) == 2
    said = capsys.readouterr().err
    assert "tensorboard" in said
    assert "pip install tensorboard" in said
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_called_like_a_recipe_is_not_taken_for_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "mtl").mkdir(parents=True)
    assert described("a/mtl").paper == "A"
    with pytest.raises(BiomuxError, match="BX"):
        described("./a/mtl")  # the folder, which holds no data
