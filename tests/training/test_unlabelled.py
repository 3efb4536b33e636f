"""Plain text that teachers label: a share of each epoch, only what they are sure of, for the heads that are named, and nothing that is held out."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from training import invented
from training.interruption import assert_resumes_to_the_same_weights, stop_at

from biomux.corpora import corpus
from biomux.errors import RecipeError, TrainingError
from biomux.tasks.examples import Example, Labels, ModelInput
from biomux.text.tokens import Tokens
from biomux.training import run
from biomux.training.batches import epoch_batches
from biomux.training.build import build
from biomux.training.plan import Draw
from biomux.training.teachers import UNLABELLED

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.recipes.schema import Recipe

TASKS = {"drugs": {"corpus": "bc5cdr"}, "genes": {"corpus": "bc2gm"}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora, a teacher of two tasks, and text: a document a line."""
    folder = tmp_path_factory.mktemp("text")
    invented.corpora(folder / "corpora", number=24)
    run.start(invented.recipe(loop={"epochs": 6}), folder / "teacher", directory=folder / "corpora")
    (folder / "text.txt").write_text("".join(tiny.text(30, seed=at) + "\n" for at in range(40)))
    return folder


def _recipe(
    place: Path, *, tasks: dict[str, Any] = TASKS, text: dict[str, Any] | None = None, **changes: Any
) -> Recipe:
    told = {"files": [str(place / "text.txt")], "format": "lines", **(text or {})}
    teacher = {"models": [str(place / "teacher")], "alpha": 0.5, "text": told, **changes.pop("teacher", {})}
    return invented.recipe(tasks=tasks, teacher=teacher, **changes)


def _arrays(folder: Path) -> dict[str, Any]:
    with np.load(folder / "cache" / "examples.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


def _counts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "counts.json").read_text())["examples"]
    return found


def _example(task: str, number: int) -> Example:
    ids = np.arange(6, dtype=np.int32)
    labels = {task: Labels("word", np.zeros(6, dtype=np.int32))}
    return Example(task, ModelInput(Tokens(ids, ids, ids, ids + 1)), labels, (task, number))


@pytest.mark.parametrize("batches", ["mixed", "one-task"])
def test_text_is_the_share_of_each_epoch_that_is_asked_for(batches: Any) -> None:
    made = [_example("a", at) for at in range(30)] + [_example("t", at) for at in range(50)]
    draw = Draw(batches, beside={"t": 0.25}, fraction=0.5)
    seen: Counter[int] = Counter()
    for epoch in range(10):
        chosen = [
            index for batch in epoch_batches(made, draw, epoch=epoch, epochs=10, budget=64, seed=3) for index in batch
        ]
        assert sum(made[index].task == "a" for index in chosen) == 15  # of which half are left out
        text = [index for index in chosen if made[index].task == "t"]
        assert len(text) == 5
        seen.update(text)
    assert len(seen) == 50  # each once, before one comes again
    assert set(seen.values()) == {1}


def test_a_run_says_how_often_it_will_repeat_too_little_text(place: Path, tmp_path: Path) -> None:
    recipe = _recipe(place, text={"share": 0.9}, loop={"epochs": 3})
    run.start(recipe, tmp_path / "run", directory=place / "corpora")
    told = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    arrays, counts = _arrays(tmp_path / "run"), _counts(tmp_path / "run")
    text = counts["text without labels"]["examples"]
    times = 3 * 9 * (len(arrays["task"]) - text) / text
    assert [event["message"] for event in told if event["event"] == "teacher"][-1] == (
        f"text: its {text:,} examples are too few for its share, so each is read {times:.1f} times"
    )


def test_text_is_drawn_by_lot_where_tasks_are() -> None:
    made = [_example("a", at) for at in range(300)] + [_example("t", at) for at in range(40)]
    draw = Draw("random-task", beside={"t": 0.4})
    batches = epoch_batches(made, draw, epoch=0, epochs=1, budget=8, seed=3)
    assert len(batches) == round(300 / 0.6)
    text = sum(made[batch[0]].task == "t" for batch in batches)
    assert 0.33 < text / len(batches) < 0.47


@pytest.mark.parametrize("regime", ["mixed", "one-task", "random-task"])
def test_a_student_learns_labels_and_text_in_every_regime(place: Path, tmp_path: Path, regime: str) -> None:
    recipe = _recipe(place, regime={"kind": regime}, loop={"epochs": 1})
    run.start(recipe, tmp_path / "run", directory=place / "corpora")
    told = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    losses = [event["losses"] for event in told if event["event"] == "step"]
    assert set().union(*losses) == {"drugs", "genes", "drugs@teacher", "genes@teacher"}
    counts = _counts(tmp_path / "run")["text without labels"]
    assert counts["documents"] == 40
    assert counts["drugs: answers learned"] == counts["genes: answers learned"] > 800
    arrays = _arrays(tmp_path / "run")
    tasks = json.loads((tmp_path / "run" / "cache" / "examples.json").read_text())["tasks"]
    assert int((arrays["task"] == tasks.index(UNLABELLED)).sum()) == counts["examples"]


def test_only_what_the_teachers_are_sure_of_and_only_named_heads_learn_from_text(place: Path, tmp_path: Path) -> None:
    recipe = _recipe(place, text={"confidence": {"drugs": 0.6}, "heads": ["drugs"]}, loop={"epochs": 1})
    run.start(recipe, tmp_path / "run", directory=place / "corpora")
    counts = _counts(tmp_path / "run")["text without labels"]
    assert counts["drugs: answers not sure enough"] > 0
    assert "genes: answers learned" not in counts
    arrays = _arrays(tmp_path / "run")
    tasks = json.loads((tmp_path / "run" / "cache" / "examples.json").read_text())["tasks"]
    text = arrays["task"] == tasks.index(UNLABELLED)
    assert (arrays["labels/genes@teacher/sizes"][text] == -1).all()
    assert (arrays["labels/drugs/sizes"][text] == -1).all()
    sizes = arrays["labels/drugs@teacher/sizes"]
    begin = int(sizes[~text].clip(min=0).sum())  # examples of text come last
    rows = arrays["labels/drugs@teacher"][begin:]
    known = np.isfinite(rows[:, 0])
    assert int(known.sum()) == counts["drugs: answers learned"]
    chances = np.exp(rows[known]) / np.exp(rows[known]).sum(axis=1, keepdims=True)
    assert chances.max(axis=1).min() >= 0.6 - 1e-6


def test_a_stopped_student_of_text_ends_with_the_same_weights(place: Path, tmp_path: Path) -> None:
    assert_resumes_to_the_same_weights(9, _recipe(place), tmp_path, directory=place / "corpora")


def test_other_text_is_noticed_when_a_run_goes_on(place: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text((place / "text.txt").read_text())
    recipe = _recipe(place, text={"files": [str(tmp_path / "text.txt")]})
    stop_at(2, recipe, tmp_path / "run", directory=place / "corpora")
    (tmp_path / "text.txt").write_text("Aspirin treats fever.\n")
    with pytest.raises(TrainingError, match="changed since the run was started") as caught:
        run.start(recipe, tmp_path / "run", directory=place / "corpora")
    assert caught.value.code == "BX405"


def test_text_that_is_held_out_is_taken_out(place: Path, tmp_path: Path) -> None:
    """A sentence of a test part that stands in the text would be learned from a teacher's answers, and then scored."""
    held = max((document.text for document in corpus.load("bc5cdr", "test", directory=place / "corpora")), key=len)
    assert len(held) > 60
    (tmp_path / "text.txt").write_text((place / "text.txt").read_text() + held + "\n")
    recipe = _recipe(place, text={"files": [str(tmp_path / "text.txt")]})
    built = build(recipe, directory=place / "corpora", outputs=tmp_path / "outputs")
    assert built.leaks is not None
    assert any(leak.training == "text without labels" for leak in built.leaks.leaks)
    assert built.counts["text without labels"]["documents"] == 40


def test_a_task_may_have_no_development_part(place: Path, tmp_path: Path) -> None:
    tasks = {"drugs": {"corpus": "bc5cdr"}, "genes": {"corpus": "bc2gm", "scored": False}}
    (tmp_path / "corpora").symlink_to(place / "corpora")
    run.start(invented.recipe(tasks=tasks, loop={"epochs": 1}), tmp_path / "run", directory=place / "corpora")
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert list(scores["tasks"]) == ["drugs"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ({"heads": ["dugs"]}, "BX562", "cannot learn 'dugs' from text"),
        ({"confidence": {"dugs": 0.5}}, "BX562", "cannot learn 'dugs' from text"),
        ({"files": ["nowhere.txt"]}, "BX002", "nowhere.txt"),
        ({"confidence": 1.0}, "BX562", "gives nothing to learn"),
    ],
)
def test_text_of_which_nothing_is_learned_is_refused(
    place: Path, tmp_path: Path, text: dict[str, Any], code: str, message: str
) -> None:
    from biomux.errors import BiomuxError

    with pytest.raises(BiomuxError, match=message) as caught:
        run.start(_recipe(place, text=text), tmp_path / "run", directory=place / "corpora")
    assert caught.value.code == code


def test_text_without_words_is_said_to_have_none(place: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n\n \n")
    with pytest.raises(TrainingError, match=r"nothing to learn \(it has no words\)"):
        run.start(
            _recipe(place, text={"files": [str(tmp_path / "blank.txt")]}),
            tmp_path / "run",
            directory=place / "corpora",
        )
    with pytest.raises(TrainingError, match=r"nothing to learn \(no task is taught\)"):
        run.start(_recipe(place, teacher={"only": []}), tmp_path / "other", directory=place / "corpora")


def test_text_needs_a_teacher_with_a_weight(place: Path) -> None:
    with pytest.raises(RecipeError, match="but their loss has weight 0"):
        _recipe(place, teacher={"alpha": 1.0})


def test_teachers_can_teach_plain_text_alone(place: Path, tmp_path: Path) -> None:
    recipe = _recipe(place, teacher={"labelled": False}, loop={"epochs": 1})
    run.start(recipe, tmp_path / "run", directory=place / "corpora")
    counts = _counts(tmp_path / "run")
    assert counts["text without labels"]["drugs: answers learned"] > 100
    assert "words that a teacher answers for" not in counts["drugs"]
    steps = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    assert {"drugs", "drugs@teacher"} <= set(next(event for event in steps if event["event"] == "step")["losses"])


def test_teachers_of_neither_labels_nor_text_are_refused(place: Path) -> None:
    with pytest.raises(RecipeError, match="nothing to teach"):
        invented.recipe(tasks=TASKS, teacher={"models": [str(place / "teacher")], "labelled": False})
