"""A run's folder: what it holds, who may use it, and that nothing that goes wrong costs more than the last few minutes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from safetensors.torch import save_file as write_file
from training import invented
from training.processes import run_two

from biomux import formats
from biomux.errors import BiomuxError, CorpusError, RecipeError, TrainingError
from biomux.files import in_use
from biomux.recipes.run_folder import RunFolder
from biomux.recipes.schema import Recipe
from biomux.training import checkpoint, loop, optimizers, run
from biomux.training.build import build
from biomux.training.development_scores import predict

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return invented.corpora(tmp_path_factory.mktemp("corpora"))


@pytest.fixture(scope="module")
def finished(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "finished"
    run.start(invented.recipe(), folder, directory=directory)
    return folder


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def same_weights(left: Path, right: Path) -> bool:
    one, other = load_file(left), load_file(right)
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_finished_run_tells_everything(finished: Path) -> None:
    assert [event["event"] for event in events(finished)] == [
        "start",
        "examples",
        *(["step", "scores"] * 2),
        "end",
    ]
    scores = json.loads((finished / "scores.json").read_text())
    assert set(scores["tasks"]) == {"drugs", "genes"}
    counts = json.loads((finished / "counts.json").read_text())
    assert counts["examples"]["drugs"]["mentions"] > 0
    assert json.loads((finished / "machine.json").read_text())["cores"]
    for name in ("drugs", "genes"):
        predicted = list(formats.read(finished / "predictions" / f"{name}.jsonl"))
        assert len(predicted) == 8
        assert all(span.head == name for document in predicted for span in document.spans)
    assert not in_use(finished)


def test_a_finished_run_is_not_trained_again(finished: Path, directory: Path) -> None:
    before = (finished / "model.safetensors").read_bytes()
    progress = run.resume(finished, directory=directory)
    assert progress.done
    assert (finished / "model.safetensors").read_bytes() == before


def test_predictions_are_those_of_the_best_weights_and_not_computed_twice(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[str] = []

    def counting(annotator: Any, task: Any, documents: Any) -> Any:
        scored.append(task.name)
        if len(scored) in (7, 8):  # as if the last weights found nothing: the best are those before
            return [task.bare(document) for document in documents]
        return predict(annotator, task, documents)

    monkeypatch.setattr(run, "predict", counting)
    recipe = invented.recipe(loop={"epochs": 4})
    run.start(recipe, tmp_path, directory=directory)
    means = [event["mean"] for event in events(tmp_path) if event["event"] == "scores"]
    assert max(means) > means[-1]
    assert scored == ["drugs", "genes"] * 4
    assert json.loads((tmp_path / "scores.json").read_text())["mean"] == pytest.approx(max(means) / 100, abs=1e-4)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "predictions").iterdir()}
    scores = (tmp_path / "scores.json").read_bytes()
    run.resume(tmp_path, directory=directory)  # a process that has scored nothing computes them from the weights
    assert scored == ["drugs", "genes"] * 5
    assert kept == {path.name: path.read_bytes() for path in (tmp_path / "predictions").iterdir()}
    assert scores == (tmp_path / "scores.json").read_bytes()


def test_another_recipe_is_refused_and_one_that_says_the_same_otherwise_is_not(finished: Path, directory: Path) -> None:
    with pytest.raises(TrainingError, match="another recipe"):
        run.start(invented.recipe(loop={"seed": 2}), finished, directory=directory)
    text = (finished / "recipe.yaml").read_text()
    (finished / "recipe.yaml").write_text("# a comment\n" + text.replace("documents: null\n", ""))
    run.start(invented.recipe(about="The same."), finished, directory=directory)
    assert RunFolder(finished).recipe.about == "The same."


def test_development_scores_are_taken_as_seldom_as_asked(directory: Path, tmp_path: Path) -> None:
    recipe = invented.recipe(loop={"epochs": 5}, development={"every": 2, "limit": 2}, documents=10)
    run.start(recipe, tmp_path, directory=directory)
    assert [event["epoch"] for event in events(tmp_path) if event["event"] == "scores"] == [2, 4, 5]


def in_process(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with the tests' helpers at hand."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


KILLED = """
import os, signal, sys
from pathlib import Path
from training import invented
from biomux.training import run
def listen(event):
    if event["event"] == "step" and event["step"] == 7:
        os.kill(os.getpid(), signal.SIGKILL)
recipe = invented.recipe(loop={"checkpoint_minutes": 1e-9})
run.start(recipe, Path(sys.argv[1]), directory=Path(sys.argv[2]), listen=listen, report_every=0)
"""


def test_a_run_that_was_killed_ends_with_the_same_weights(directory: Path, tmp_path: Path) -> None:
    recipe = invented.recipe(loop={"checkpoint_minutes": 1e-9})
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run.start(recipe, whole, directory=directory)
    done = in_process(KILLED, killed, directory)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not in_use(killed)
    assert_goes_on_to_the_same(killed, whole, directory)


@pytest.mark.parametrize(("moment", "ema"), [("step", 0.0), ("scores", 0.0), ("scores", 0.9), ("examples", 0.0)])
def test_a_run_stopped_by_ctrl_c_ends_with_the_same_weights(
    directory: Path, tmp_path: Path, moment: str, ema: float
) -> None:
    recipe = invented.recipe(loop={"ema": ema})
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run.start(recipe, whole, directory=directory)

    def listen(event: dict[str, Any]) -> None:
        if event["event"] == moment and event.get("step", 7) == 7:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run.start(recipe, stopped, directory=directory, listen=listen, report_every=0)
    assert events(stopped)[-1]["event"] == "stopped"
    assert not in_use(stopped)
    assert_goes_on_to_the_same(stopped, whole, directory)


def assert_goes_on_to_the_same(stopped: Path, whole: Path, directory: Path) -> None:
    progress = run.resume(stopped, directory=directory)
    assert events(stopped)[-1]["event"] == "end"
    assert progress.step == events(whole)[-1]["step"]
    for file in ("model.safetensors", "checkpoints/last/model.safetensors", "checkpoints/last/state.safetensors"):
        assert same_weights(whole / file, stopped / file)


def stopped_run(folder: Path, directory: Path, **changes: Any) -> Path:
    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run.start(invented.recipe(**changes), folder, directory=directory, listen=listen, report_every=0)
    return folder


def test_a_run_does_not_go_on_with_another_recipe_or_other_corpora(tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora")
    folder = stopped_run(tmp_path / "run", directory)
    kept = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(kept.replace("epochs: 2", "epochs: 3"))
    with pytest.raises(TrainingError, match=r"its recipe \(loop → epochs\) changed since the run was started"):
        run.resume(folder, directory=directory)
    (folder / "recipe.yaml").write_text(kept)
    corpus = directory / "ner/BC2GM/train.tsv"
    before = corpus.read_text()
    corpus.write_text(before.replace("aspirin", "aspirine"))
    with pytest.raises(TrainingError, match="its corpora changed since the run was started") as caught:
        run.resume(folder, directory=directory)
    assert caught.value.code == "BX405"
    corpus.write_text(before)
    assert run.resume(folder, directory=directory).done


@pytest.mark.parametrize("file", ["state.safetensors", "model.safetensors", "progress.json"])
def test_a_damaged_checkpoint_is_told(directory: Path, tmp_path: Path, file: str) -> None:
    folder = stopped_run(tmp_path / "run", directory)
    (folder / "checkpoints/last" / file).write_bytes(b"{")
    with pytest.raises(TrainingError, match="the checkpoint is damaged") as caught:
        run.resume(folder, directory=directory)
    assert caught.value.code == "BX406"


def test_a_folder_in_use_is_refused_and_a_lock_left_behind_is_taken_over(directory: Path, tmp_path: Path) -> None:
    with run.held(tmp_path), pytest.raises(TrainingError, match=r"BX405: .*another process is using this folder"):
        run.start(invented.recipe(), tmp_path, directory=directory)
    for left in ('{"pid": 4194305, "host": "elsewhere", "begun": null}', ""):
        (tmp_path / "lock").write_text(left)
        assert not in_use(tmp_path)
        with run.held(tmp_path):
            assert in_use(tmp_path)


def test_a_loss_that_is_no_number_stops_the_run_and_names_step_and_task(directory: Path, tmp_path: Path) -> None:
    recipe = invented.recipe(loop={"head_learning_rate": 1e38, "clip": 0.0})
    with pytest.raises(TrainingError, match=r"loss of '(drugs|genes)' is (nan|inf) at step 1") as caught:
        run.start(recipe, tmp_path, directory=directory)
    assert caught.value.code == "BX403"
    assert events(tmp_path)[-1]["event"] == "failed"
    assert not (tmp_path / "checkpoints" / "last").exists()


def test_weights_that_are_no_numbers_do_not_replace_the_last_good_checkpoint(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = invented.recipe(loop={"checkpoint_minutes": 1e-9})
    scale = optimizers.scale
    monkeypatch.setattr(loop, "rate_scale", lambda step, **how: float("inf") if step == 5 else scale(step, **how))
    with pytest.raises(TrainingError, match="not a number at step 6"):
        run.start(recipe, tmp_path, directory=directory)
    place = checkpoint.find(tmp_path / "checkpoints" / "last")
    assert place is not None
    assert json.loads((place / "progress.json").read_text())["step"] == 5
    assert all(bool(torch.isfinite(value).all()) for value in load_file(place / "model.safetensors").values())


def test_a_full_disk_leaves_the_checkpoint_before(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = invented.recipe(loop={"checkpoint_minutes": 1e-9})
    saved: list[str] = []

    def save_file(tensors: dict[str, torch.Tensor], path: Path) -> None:
        saved.append(path.name)
        if len(saved) > 6:
            path.write_bytes(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        write_file(tensors, path)

    monkeypatch.setattr(checkpoint, "save_file", save_file)
    with pytest.raises(TrainingError, match="No space left on device") as caught:
        run.start(recipe, tmp_path, directory=directory)
    assert caught.value.code == "BX402"
    monkeypatch.undo()
    place = checkpoint.find(tmp_path / "checkpoints" / "last")
    assert place is not None
    assert json.loads((place / "progress.json").read_text())["step"] == 3
    whole = tmp_path / "whole"
    run.start(recipe, whole, directory=directory)
    run.resume(tmp_path, directory=directory)
    assert same_weights(whole / "model.safetensors", tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("tasks", "kind", "said"),
    [
        ({"x": {"corpus": "bc5cdr", "types": ["Chemicals"]}}, CorpusError, "no type 'Chemicals'"),
        ({"x": {"corpus": "bc5cdr", "train": ["training"]}}, CorpusError, "no split 'training'"),
        ({"x": {"corpus": "jnlpba"}}, CorpusError, "has no file 'ner/JNLPBA/train.tsv"),
        ({"x": {"corpus": "bc5cd"}}, CorpusError, "unknown corpus 'bc5cd'"),
        (
            {"x": {"corpus": "nope"}, "y": {"corpus": "jnlpba"}},
            RecipeError,
            r"tasks → x: .*\(.*\); tasks → y: .*\(.*\)",
        ),
    ],
)
def test_what_is_missing_is_told_before_there_is_a_folder(
    directory: Path, tmp_path: Path, tasks: dict[str, Any], kind: type[BiomuxError], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        run.start(invented.recipe(tasks=tasks), tmp_path / "run", directory=directory)
    assert caught.value.hint or len(tasks) > 1  # several problems have each its own in brackets
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("split", ["train", "devel"])
def test_an_empty_split_is_told(tmp_path: Path, split: str) -> None:
    directory = invented.corpora(tmp_path / "corpora")
    (directory / f"ner/BC2GM/{split}.tsv").write_text("")
    with pytest.raises(TrainingError, match=f"{split} of bc2gm has no documents") as caught:
        run.start(invented.recipe(), tmp_path / "run", directory=directory)
    assert caught.value.code == "BX404"


TWO = """
import sys
from pathlib import Path
from training import invented
from biomux.training import run
recipe = invented.recipe(model=invented.NO_DROPOUT, loop={"accumulate": 2})
run.start(recipe, Path(sys.argv[1]), directory=Path(sys.argv[2]), report_every=1e9)
"""


def test_two_processes_do_what_one_does(directory: Path, tmp_path: Path) -> None:
    recipe = invented.recipe(model=invented.NO_DROPOUT, loop={"accumulate": 2})
    run.start(recipe, tmp_path / "one", directory=directory, report_every=1e9)  # once an epoch, however slow
    run_two(TWO, tmp_path / "two", directory)
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert one.keys() == two.keys()
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=2e-5, rtol=1e-4)
    left, right = (
        [event["losses"] for event in events(tmp_path / name) if event["event"] == "step"] for name in ("one", "two")
    )
    assert left == [pytest.approx(losses, abs=1e-4) for losses in right]


AVERAGED = """
import torch
from torch import nn
from biomux.recipes.schema import Loop
from biomux.training.distributed import joined
with joined(Loop(accumulate=2, local_steps=3)) as processes:
    weight, fixed = (nn.Parameter(torch.full((2,), float(processes.rank)), requires_grad=moves) for moves in (True, False))
    processes.average_weights([weight, fixed])
    assert weight.tolist() == [0.5, 0.5]
    assert fixed.tolist() == [processes.rank] * 2
    assert [processes.average_due(step) for step in range(1, 7)] == [False, False, True] * 2
    assert processes.summing.totals({"a": processes.rank}, ["a"]) == {"a": processes.rank}
    assert not processes.average_weights([weight], usable=processes.first)
    assert weight.tolist() == [0.5, 0.5]
"""


def test_weights_of_processes_that_move_apart_are_averaged() -> None:
    run_two(AVERAGED)


FAULT = """
import os
from biomux.errors import TrainingError
from biomux.training import loop
real = loop.step
def faulty(run, *rest):
    if os.environ["RANK"] == "1" and run.progress.step == 1:
        raise TrainingError("BX403", "the loss of 'genes' is nan")
    return real(run, *rest)
loop.step = faulty
try:
    exec(sys.argv[3])
except TrainingError as error:
    assert error.code == "BX403", error
else:
    raise SystemExit("no error")
"""


def test_a_loss_that_is_not_a_number_in_one_process_is_an_error_in_all(directory: Path, tmp_path: Path) -> None:
    run_two(FAULT, tmp_path / "two", directory, TWO.replace('"accumulate": 2', '"accumulate": 2, "local_steps": 3'))
    assert events(tmp_path / "two")[-1]["event"] == "failed"


def test_averaging_processes_cannot_be_resumed_with_another_number(directory: Path, tmp_path: Path) -> None:
    place, settings = tmp_path / "two", {"accumulate": 2, "local_steps": 3, "steps": 4}
    recipe = invented.recipe(model=invented.NO_DROPOUT, loop=settings)
    run_two(TWO.replace('"accumulate": 2', '"accumulate": 2, "local_steps": 3, "steps": 4'), place, directory)
    with pytest.raises(TrainingError, match="the run was started with 2") as caught:
        run.start(recipe, place, directory=directory)
    assert caught.value.code == "BX405"
    assert f"torchrun --nproc-per-node 2 -m -- biomux train --resume {place}" in str(caught.value)


def test_averaging_processes_keep_no_running_averages(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    recipe = invented.recipe(loop={"accumulate": 2, "local_steps": 3, "ema": 0.9})
    with pytest.raises(TrainingError, match="cannot keep running averages"):
        run.start(recipe, tmp_path / "two", directory=directory)


def test_processes_that_average_weights_read_the_whole_corpus_once(directory: Path, tmp_path: Path) -> None:
    """Each takes its own batches, all of them together read what one process reads, and one model comes out."""
    settings = {"accumulate": 2, "local_steps": 3}
    run.start(invented.recipe(model=invented.NO_DROPOUT, loop=settings), tmp_path / "one", directory=directory)
    run_two(TWO.replace('"accumulate": 2', '"accumulate": 2, "local_steps": 3'), tmp_path / "two", directory)
    one, two = (events(tmp_path / name)[-1] for name in ("one", "two"))
    assert (one["event"], one["tokens"], one["step"]) == (two["event"], two["tokens"], two["step"])
    left, right = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert all(bool(torch.isfinite(value).all()) for value in right.values())
    assert any(not torch.equal(left[name], value) for name, value in right.items())


def test_processes_that_cannot_share_a_step_are_told_how_they_could(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(TrainingError, match="must be a multiple of the number of processes, 2, got 1") as caught:
        run.start(invented.recipe(), tmp_path, directory=directory)
    assert caught.value.code == "BX407"


def test_a_run_can_go_on_from_another_with_its_heads(finished: Path, directory: Path, tmp_path: Path) -> None:
    """A last fit on train and devel together: at the first step everything is what the first run ended with."""
    before = load_file(finished / "model.safetensors")
    kept = build(_last_fit(finished), directory=directory).model.state_dict()
    fresh = build(_last_fit(finished, heads="fresh"), directory=directory).model.state_dict()
    assert all(torch.equal(kept[name], value) for name, value in before.items())
    assert all(torch.equal(fresh[name], value) == name.startswith("encoder.") for name, value in before.items())
    run.start(_last_fit(finished), tmp_path / "last", directory=directory)
    assert not same_weights(tmp_path / "last" / "model.safetensors", finished / "model.safetensors")


def test_heads_that_cannot_be_kept_are_named(finished: Path, directory: Path) -> None:
    with pytest.raises(TrainingError, match=r"cannot keep the head 'drugs'.*another kind"):
        build(_last_fit(finished, head={"kind": "two-layer"}), directory=directory)
    described = json.loads((finished / "model.json").read_text())
    try:
        (finished / "model.json").write_text(json.dumps(described | {"tasks": described["tasks"][:1]}))
        with pytest.raises(TrainingError, match=r"cannot keep the head 'genes'.*not in the run"):
            build(_last_fit(finished), directory=directory)
    finally:
        (finished / "model.json").write_text(json.dumps(described))


def test_heads_can_only_be_kept_from_a_run() -> None:
    with pytest.raises(RecipeError, match=r"name it in model\.encoder\.run"):
        invented.recipe(model={"encoder": {"kind": "random"}, "heads": "kept"})


def _last_fit(finished: Path, **model: Any) -> Recipe:
    first = invented.recipe().model_dump(mode="json")
    for task in first["tasks"].values():
        task["train"] = ["train", "devel"]
    encoder = first["model"]["encoder"] | {"run": str(finished)}
    return Recipe.model_validate(first | {"model": {**first["model"], "encoder": encoder, "heads": "kept", **model}})
