"""`biomux study`, `biomux transfer` and `biomux tasks map`, end to end on tiny models: what they leave, and that nothing is done twice."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from corpora.samples import put
from training import invented

from biomux.cli import run as biomux

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora, recipes on them, a study and a transfer study."""
    folder = tmp_path_factory.mktemp("study")
    root = invented.corpora(folder / "corpora", number=24)
    rows = "".join(
        f"{number}\taspirin given\t{word} level\t{score}\n"
        for number, (word, score) in enumerate([("aspirin", 4.0), ("fever", 0.0)] * 6)
    )
    for split in ("train", "dev", "test"):
        put(root, f"pairs/BIOSSES/blurb/{split}.tsv", "index\tsentence1\tsentence2\tscore\n" + rows)
    tasks = {
        "drugs": {"corpus": "bc5cdr"},
        "genes": {"corpus": "bc2gm"},
        "same": {"corpus": "biosses", "kind": "similarity"},
    }
    both = invented.recipe(name="both", tasks=tasks, loop={"epochs": 1})
    alone = invented.recipe(name="alone", tasks={"drugs": tasks["drugs"]}, loop={"epochs": 1})
    for recipe in (both, alone):
        (folder / f"{recipe.name}.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    study = {
        "name": "small",
        "set": {"development.every": 10},
        "systems": {"alone": {"recipe": "alone.yaml"}, "both": {"recipe": "both.yaml"}},
        "grid": {"regime.settings.fraction": [1.0, 0.5]},
        "seeds": [1, 2],
        "score": {"samples": 50, "tasks": ["drugs"]},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    transfer = {"name": "who", "recipe": "both.yaml", "score": {"samples": 50}, "examples": 6}
    (folder / "transfer.yaml").write_text(yaml.safe_dump(transfer))
    return folder


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def told(folder: Path, name: str = "report.json") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / name).read_text())
    return content


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that were trained from now on."""
    from biomux.training import run

    names: list[str] = []
    real: Callable[..., Any] = run.start

    def start(recipe: Any, folder: Path, **options: Any) -> Any:
        names.append(folder.name)
        return real(recipe, folder, **options)

    monkeypatch.setattr(run, "start", start)
    return names


def test_a_study_is_run_reported_and_gone_on_with(
    here: Path, trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["study", "study.yaml", "--corpora", "corpora", "-o", "small"]
    assert biomux([*arguments, "--seeds", "1"]) == 0
    assert trained == [f"{system}.fraction-{share}.seed-1" for share in ("1.0", "0.5") for system in ("alone", "both")]
    capsys.readouterr()
    assert biomux(arguments) == 0
    said = capsys.readouterr()
    assert [name for name in trained if name.endswith("seed-1")] == trained[:4], "what is done is not done again"
    assert len(trained) == 8
    assert "left" in said.err
    found = told(here / "small")
    assert found["members"] == {"done": 8, "of": 8}
    one = next(value for value in found["values"] if (value["point"], value["system"]) == ("0.5", "both"))
    assert set(one["seeds"]) == {"1", "2"}
    assert one["mean"] == pytest.approx(sum(one["seeds"].values()) / 2)
    assert [(test["point"], test["second"]) for test in found["tests"]] == [("1.0", "both"), ("0.5", "both")]
    means = {(value["point"], value["system"]): value["mean"] for value in found["values"]}
    for test in found["tests"]:
        assert test["difference"] == pytest.approx(means[test["point"], "both"] - means[test["point"], "alone"])
    for name in found["figures"]:
        if name.endswith(".svg"):
            ET.fromstring((here / "small" / name).read_text())
    assert "| fraction |" in (here / "small" / "report.md").read_text()
    run = here / "small" / "runs" / "both.fraction-0.5.seed-2"
    assert (run / "model.safetensors").is_file()
    assert not (run / "checkpoints").exists()
    own = told(run, "scores.json")["tasks"]["drugs"]["f1"]
    assert told(run, "scored/devel/scores.json")["tasks"]["drugs"]["value"] == pytest.approx(own)


def test_a_member_that_fails_is_told_of_and_the_rest_goes_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from biomux.errors import TrainingError
    from biomux.training import run

    real: Callable[..., Any] = run.start

    def start(recipe: Any, folder: Path, **options: Any) -> Any:
        if folder.name.startswith("both.fraction-1.0"):
            raise TrainingError("BX403", "the loss is nan")
        return real(recipe, folder, **options)

    monkeypatch.setattr(run, "start", start)
    arguments = ["study", "study.yaml", "--corpora", "corpora", "-o", "failing", "--seeds", "1"]
    assert biomux(arguments) == 3
    assert "the loss is nan" in capsys.readouterr().err
    found = told(here / "failing")
    assert [one["name"] for one in found["failed"]] == ["both.fraction-1.0.seed-1"]
    assert found["members"] == {"done": 3, "of": 4}
    monkeypatch.setattr(run, "start", real)
    assert biomux(arguments) == 0
    assert told(here / "failing")["failed"] == []


def test_ctrl_c_ends_a_study_and_the_same_command_goes_on(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from biomux.training import run

    real: Callable[..., Any] = run.start

    def start(recipe: Any, folder: Path, **options: Any) -> Any:
        if folder.name.startswith("both"):
            raise KeyboardInterrupt
        return real(recipe, folder, **options)

    monkeypatch.setattr(run, "start", start)
    arguments = [
        "study",
        "study.yaml",
        "--corpora",
        "corpora",
        "-o",
        "stopped",
        "--seeds",
        "1",
        "--set",
        "documents=12",
    ]
    assert biomux(arguments) == 130
    assert "repeat the command to resume" in capsys.readouterr().err
    monkeypatch.setattr(run, "start", real)
    assert biomux(arguments) == 0
    assert told(here / "stopped")["members"] == {"done": 4, "of": 4}
    assert biomux([*arguments, "--set", "loop.learning_rate=0.5"]) == 2
    assert "another recipe" in capsys.readouterr().err


def test_transfer_trains_singles_and_pairs_and_says_who_helps_whom(
    here: Path, trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["transfer", "transfer.yaml", "--corpora", "corpora", "-o", "who"]
    assert biomux(arguments) == 0
    assert trained == [
        f"{name}.seed-1" for name in ("drugs", "genes", "same", "drugs+genes", "drugs+same", "genes+same")
    ]
    found = told(here / "who")
    assert {task["name"]: task["main"] for task in found["tasks"]} == {"drugs": "f1", "genes": "f1", "same": "pearson"}
    edges = {(edge["source"], edge["target"]): edge for edge in found["edges"]}
    assert len(edges) == 6
    alone = {task["name"]: task["value"] for task in found["tasks"]}
    pair = told(here / "who" / "runs" / "drugs+same.seed-1", "scored/devel/scores.json")["tasks"]
    assert edges["drugs", "same"]["gain"] == pytest.approx(pair["same"]["value"] - alone["same"])
    assert all(edge["gain"] == pytest.approx(edge["difference"], abs=1e-6) for edge in edges.values())
    assert {edge["verdict"] for edge in edges.values()} <= {"helps", "hurts", "no effect"}
    assert set(found["map"]["points"]) == {"drugs", "genes", "same"}
    for name in ("transfer-graph", "transfer-heat-map", "task-map"):
        drawing = (here / "who" / "figures" / f"{name}.svg").read_text()
        ET.fromstring(drawing)
        assert "genes" in drawing
    said = capsys.readouterr().out
    assert "Only pairs were trained" in said
    assert biomux([*arguments, "--no-map"]) == 0
    assert len(trained) == 6


def test_a_recipe_is_a_transfer_study_too_and_a_dry_run_leaves_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from biomux.studies import estimate

    monkeypatch.setattr(estimate, "MEASURE", 0.05)
    arguments = ["--dry-run", "--corpora", "corpora", "-o", "nothing", "--tasks", "drugs,same"]
    assert biomux(["transfer", "both.yaml", *arguments]) == 0
    said = capsys.readouterr().out
    lines = {line.split("\t")[0]: line.split("\t") for line in said.splitlines()}
    sums = [int(lines[f"{name}.seed-1"][4]) for name in ("drugs", "same", "drugs+same")]
    assert sums[0] + sums[1] == sums[2]
    assert "3 runs, 0 done" in said
    assert "estimated time" in said
    assert not (here / "nothing").exists()


def test_the_map_of_a_run_with_several_tasks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert biomux(["train", "both.yaml", "--run", "run", "--corpora", "corpora"]) == 0
    capsys.readouterr()
    arguments = ["tasks", "map", "run", "--corpora", "corpora", "--examples", "5"]
    assert biomux([*arguments, "-o", "map", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kinds"] == {"drugs": "tagging", "genes": "tagging", "same": "similarity"}
    near = found["similarity"]["drugs"]
    assert near["drugs"] == pytest.approx(1.0)
    assert near["genes"] > near["same"], "two taggers pull the encoder more alike than a tagger and a similarity"
    assert (here / "map" / "vectors.npy").is_file()
    assert biomux(arguments) == 0
    capsys.readouterr()
    assert biomux([*arguments, "run"]) == 2
    assert "BX001: several runs have a task called 'drugs (run)'" in capsys.readouterr().err


def test_the_map_of_a_recipe_is_one_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tasks", "map", "both.yaml", "--corpora", "corpora", "--examples", "5", "--json"]
    assert biomux([*arguments, "--set", "name=mapped"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert set(first["points"]) == {"drugs", "genes", "same"}
    written = (here / "runs" / "mapped-map" / "model.safetensors").stat().st_mtime_ns
    assert biomux([*arguments, "--set", "name=mapped"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert (here / "runs" / "mapped-map" / "model.safetensors").stat().st_mtime_ns == written


def test_two_models_are_shown_side_by_side_on_one_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("1", "2"):
        settings = ["--set", f"loop.seed={seed}", "--set", "loop.epochs=8"]
        assert biomux(["train", "alone.yaml", "--run", f"case-{seed}", "--corpora", "corpora", *settings]) == 0
    capsys.readouterr()
    text = "aspirin treats fever and ulcer with bexol."
    assert biomux(["compare", "one=case-1", "two=case-2", "--text", text, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == text
    assert {one["text"] for one in found["mentions"]} <= set(text.strip(".").split())
    assert found["mentions"]
    for one in found["mentions"]:
        assert text[one["start"] : one["end"]] == one["text"]
        assert set(one["scores"]) == {"one", "two"}
        assert any(score is not None for score in one["scores"].values())
    assert biomux(["compare", "one=case-1", "two=case-2", "--text", text]) == 0
    assert "mention\ttype\tplace\tone\ttwo" in capsys.readouterr().out


def test_the_map_of_a_run_with_a_crf(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = 'tasks.drugs.head={"kind": "crf"}'
    assert biomux(["train", "both.yaml", "--run", "chain", "--corpora", "corpora", "--set", head]) == 0
    capsys.readouterr()
    assert biomux(["tasks", "map", "chain", "--corpora", "corpora", "--examples", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["similarity"]["drugs"]["drugs"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["study", "d/learning-curv"], "did you mean 'd/learning-curve'"),
        (["study", "bad.yaml"], "sytems: unknown key (did you mean 'systems'?)"),
        (["study", "study.yaml", "--seeds", "one"], "--seeds must be whole numbers"),
        (["study", "study.yaml", "--split", "train", "--corpora", "corpora"], "is trained on 'train'"),
        (["transfer", "both.yaml", "--tasks", "drugs,gens"], "the recipe has no task 'gens'"),
        (["transfer", "b/transfr"], "did you mean 'b/transfer'"),
        (["tasks", "map", "corpora"], "not a run"),
        (["tasks", "map", "d/twelv"], "did you mean 'd/twelve'"),
        (["tasks", "map", "corpora", "--quick"], "are for recipes, not for runs"),
        (["tasks", "map", "alone.yaml"], "BX704: alone.yaml: a map needs at least two tasks"),
        (["tasks", "map", "both.yaml", "-o", "bad.yaml"], "BX004: bad.yaml: already exists"),
        (["study", "seeds.yaml"], "'first' has no seed 2: give both the same seeds, or set teachers: all-seeds"),
        (["study", "binary.yaml"], "BX301: binary.yaml: cannot read the recipe: it is not UTF-8 text"),
        (["transfer", "binary.yaml"], "BX301: binary.yaml: cannot read the recipe: it is not UTF-8 text"),
        (["compare", "a", "b", "--text", "Aspirin.", "-o", "x"], "BX001: --output is for scores, not for --text"),
        (["compare", "corpora", "--text", "Aspirin."], "needs at least two models"),
        (["compare", "corpora", "x=corpora", "--text", "Aspirin."], "BX501: corpora: not a bundle"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (here / "bad.yaml").write_text("name: bad\nsytems: {}\nrecipe: alone.yaml\n")
    systems = "{first: {seeds: [1]}, second: {seeds: [2], teacher_of: first}}"
    (here / "seeds.yaml").write_text(f"name: seeds\nrecipe: alone.yaml\nsystems: {systems}\n")
    (here / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert biomux(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
