"""Students that learn from other runs: what a teacher says is kept once, put beside the labels by characters, and never leaks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from training import invented
from training.interruption import assert_resumes_to_the_same_weights, stop_at

import biomux
from biomux.document import Document
from biomux.errors import TrainingError
from biomux.training import run, teacher_outputs, teachers
from biomux.training.plan import Draw, Objective, Plan

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.recipes.schema import Recipe

HOLD_OUT = ["bc5cdr", "bc2gm"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return invented.corpora(tmp_path_factory.mktemp("corpora"))


@pytest.fixture(scope="module")
def teacher(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One encoder for two corpora."""
    folder = tmp_path_factory.mktemp("runs") / "teacher"
    run.start(invented.recipe(loop={"epochs": 4}), folder, directory=directory)
    return folder


def _student(*models: Path, **changes: Any) -> Recipe:
    settings = {"models": [str(one) for one in models], "heads": {"ner": "drugs"}, **changes.pop("teacher", {})}
    return invented.recipe(
        tasks={"ner": {"corpus": "bc5cdr"}},
        regime={"kind": "single"},
        hold_out=HOLD_OUT,
        teacher=settings,
        **changes,
    )


def _events(folder: Path, name: str) -> list[dict[str, Any]]:
    told = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    return [event for event in told if event["event"] == name]


def test_a_student_learns_from_labels_and_teacher(teacher: Path, directory: Path, tmp_path: Path) -> None:
    run.start(_student(teacher), tmp_path / "student", directory=directory)
    losses = _events(tmp_path / "student", "step")[-1]["losses"]
    assert set(losses) == {"ner", "ner@teacher"}
    counts = json.loads((tmp_path / "student" / "counts.json").read_text())["examples"]["ner"]
    assert counts["words that a teacher answers for"] > 300
    assert counts["words without a partner in a teacher's"] == 0


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"alpha": 0.0}, {"ner@teacher"}),
        ({"alpha": 1.0}, {"ner"}),
        ({"alpha": 1.0, "alpha_weighs": "teacher"}, {"ner@teacher"}),
        ({"alpha": 0.25, "loss": "kl-divergence", "temperature": 2.0}, {"ner", "ner@teacher"}),
    ],
)
def test_alpha_weighs_the_labels_or_by_its_other_reading_the_teacher(
    teacher: Path, directory: Path, tmp_path: Path, settings: dict[str, Any], wanted: set[str]
) -> None:
    run.start(_student(teacher, teacher=settings, loop={"epochs": 1}), tmp_path / "student", directory=directory)
    assert set(_events(tmp_path / "student", "step")[-1]["losses"]) == wanted


def test_what_a_teacher_says_is_computed_once_for_all_students(
    teacher: Path, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = _student(teacher, loop={"epochs": 1})
    run.start(recipe, tmp_path / "first", directory=directory)
    kept = sorted((tmp_path / teacher_outputs.FOLDER).iterdir())
    assert len(kept) == 1
    monkeypatch.setattr(teacher_outputs, "_logits", lambda *_: pytest.fail("computed again"))
    run.start(recipe.model_copy(update={"name": "other"}), tmp_path / "second", directory=directory)
    assert sorted((tmp_path / teacher_outputs.FOLDER).iterdir()) == kept


def test_what_was_not_done_when_it_was_killed_is_done_later(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotator = biomux.load(teacher)
    task = next(task for task in annotator.tasks if task.name == "drugs")
    documents = [Document(str(number), f"Aspirin {number} treats fever. Bexol does not.") for number in range(25)]
    monkeypatch.setattr(teacher_outputs, "TOGETHER", 10)
    options: dict[str, Any] = {"checksum": "x", "listen": lambda _: None}
    whole = teacher_outputs.kept(annotator, [task], documents, place=tmp_path / "whole", **options)["drugs"]
    compute, number = teacher_outputs._logits, 0

    def dies(*arguments: Any) -> Any:
        nonlocal number
        number += 1
        if number == 2:
            raise KeyboardInterrupt
        return compute(*arguments)

    monkeypatch.setattr(teacher_outputs, "_logits", dies)
    with pytest.raises(KeyboardInterrupt):
        teacher_outputs.kept(annotator, [task], documents, place=tmp_path / "killed", **options)
    monkeypatch.setattr(teacher_outputs, "_logits", compute)
    resumed = teacher_outputs.kept(annotator, [task], documents, place=tmp_path / "killed", **options)["drugs"]
    assert np.array_equal(resumed.logits, whole.logits)
    assert np.isfinite(whole.logits).all()
    assert len(whole.words) == whole.starts[-1] == len(whole.logits) > 200


def test_heads_that_read_the_same_text_are_asked_in_one_pass(teacher: Path, tmp_path: Path) -> None:
    annotator = biomux.load(teacher)
    tasks = [task for task in annotator.tasks if task.name in ("drugs", "genes")]
    assert len(tasks) == 2
    documents = [Document(str(number), f"Aspirin {number} treats fever. Bexol does not.") for number in range(25)]
    batches = []

    class Counting:
        def run(self, batch: Any) -> Any:
            batches.append(batch)
            return annotator.session.run(batch)

    options: dict[str, Any] = {"checksum": "x", "listen": lambda _: None}
    alone = {
        task.name: teacher_outputs.kept(annotator, [task], documents, place=tmp_path / "alone", **options)[task.name]
        for task in tasks
    }
    counting = replace(annotator, session=Counting())
    together = teacher_outputs.kept(counting, tasks, documents, place=tmp_path / "together", **options)
    assert sum(len(batch.ids) for batch in batches) == 50  # each sentence once, for both heads
    for name, outputs in together.items():
        assert np.array_equal(outputs.logits, alone[name].logits)
        assert np.array_equal(outputs.words, alone[name].words)


def test_a_head_that_is_on_disk_is_not_computed_again_with_the_others(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotator = biomux.load(teacher)
    drugs, genes = (next(task for task in annotator.tasks if task.name == name) for name in ("drugs", "genes"))
    documents = [Document("1", "Aspirin treats fever.")]
    options: dict[str, Any] = {"checksum": "x", "listen": lambda _: None, "place": tmp_path}
    teacher_outputs.kept(annotator, [drugs], documents, **options)
    compute, asked = teacher_outputs._logits, []

    def noting(annotator: Any, tasks: Any, documents: Any) -> Any:
        asked.append([task.name for task in tasks])
        return compute(annotator, tasks, documents)

    monkeypatch.setattr(teacher_outputs, "_logits", noting)
    both = teacher_outputs.kept(annotator, [drugs, genes], documents, **options)
    assert asked == [["genes"]]
    assert set(both) == {"drugs", "genes"}


def test_words_have_the_logits_of_the_teachers_words_at_the_same_characters(teacher: Path, tmp_path: Path) -> None:
    annotator = replace(biomux.load(teacher), limit=8)  # so that sentences are read in windows
    task = next(task for task in annotator.tasks if task.name == "drugs")
    text = "Aspirin treats fever and ulcer and tumour and fever in mice. Bexol does not."
    document = Document("1", text)
    found = teacher_outputs.kept(annotator, [task], [document], place=tmp_path, checksum="x", listen=lambda _: None)[
        "drugs"
    ]
    starts = np.array([0, 8, 8, 61], dtype=np.int32)
    ends = np.array([7, 14, 13, 66], dtype=np.int32)
    said = found.at("1", starts, ends)
    assert np.isfinite(said[[0, 1, 3]]).all()
    assert np.isnan(said[2]).all()
    assert np.isnan(found.at("2", starts, ends)).all()
    words = [text[start:end] for start, end in found.words.tolist()]
    assert words == [
        "Aspirin",
        "treats",
        "fever",
        "and",
        "ulcer",
        "and",
        "tumour",
        "and",
        "fever",
        "in",
        "mice",
        ".",
        "Bexol",
        "does",
        "not",
        ".",
    ]


def test_the_mean_of_several_teachers_is_learned_from(teacher: Path, directory: Path, tmp_path: Path) -> None:
    run.start(invented.recipe(loop={"epochs": 1, "seed": 5}), tmp_path / "other", directory=directory)
    targets = []
    for name, models in {"a": [teacher], "b": [tmp_path / "other"], "ab": [teacher, tmp_path / "other"]}.items():
        recipe = _student(*models, loop={"epochs": 1})
        run.start(recipe, tmp_path / name, directory=directory)
        with np.load(tmp_path / name / "cache" / "examples.npz") as arrays:
            targets.append(arrays["labels/ner@teacher"])
    assert np.allclose((targets[0] + targets[1]) / 2, targets[2], atol=1e-6)


def test_a_stopped_student_ends_with_the_same_weights(teacher: Path, directory: Path, tmp_path: Path) -> None:
    assert_resumes_to_the_same_weights(5, _student(teacher), tmp_path, directory=directory)


def test_a_teacher_that_changed_is_noticed(
    teacher: Path, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = _student(teacher)
    stop_at(3, recipe, tmp_path / "run", directory=directory)
    monkeypatch.setattr(teachers, "checksum", lambda _: "another")
    with pytest.raises(TrainingError, match="its teachers changed") as caught:
        run.start(recipe, tmp_path / "run", directory=directory)
    assert caught.value.code == "BX405"


@pytest.mark.parametrize(
    ("changes", "message", "code"),
    [
        ({"heads": {"ner": "dugs"}}, "has no head 'dugs'", "BX452"),
        ({"heads": {"ner": "genes"}}, "has other labels than 'ner'", "BX452"),
        ({"heads": {"nre": "drugs"}}, "there is no task 'nre' to teach", "BX452"),
        ({"only": ["nre"]}, "there is no task 'nre' to teach", "BX452"),
    ],
)
def test_a_teacher_that_cannot_teach_is_refused(
    teacher: Path, directory: Path, tmp_path: Path, changes: dict[str, Any], message: str, code: str
) -> None:
    with pytest.raises(TrainingError, match=message) as caught:
        run.start(_student(teacher, teacher=changes), tmp_path / "run", directory=directory)
    assert caught.value.code == code


def test_a_crf_teacher_is_refused_with_the_reason(directory: Path, tmp_path: Path) -> None:
    model = {"encoder": {"kind": "random", "layers": 1}, "head": {"kind": "crf"}}
    run.start(invented.recipe(model=model, loop={"epochs": 1}), tmp_path / "crf", directory=directory)
    with pytest.raises(TrainingError, match="conditional random field"):
        run.start(_student(tmp_path / "crf"), tmp_path / "run", directory=directory)


def test_a_teacher_that_has_read_what_the_student_holds_out_is_refused(directory: Path, tmp_path: Path) -> None:
    leaky = invented.recipe(tasks={"drugs": {"corpus": "bc5cdr"}}, regime={"kind": "single"}, loop={"epochs": 1})
    run.start(leaky, tmp_path / "teacher", directory=directory)
    with pytest.raises(TrainingError, match="did not hold out bc2gm devel, bc2gm test") as caught:
        run.start(_student(tmp_path / "teacher"), tmp_path / "run", directory=directory)
    assert caught.value.code == "BX451"
    assert not (tmp_path / "run").exists()
    careful = leaky.model_copy(update={"hold_out": ("bc2gm",)})
    run.start(careful, tmp_path / "careful", directory=directory)
    run.start(_student(tmp_path / "careful", loop={"epochs": 1}), tmp_path / "run", directory=directory)


def test_development_parts_that_are_trained_on_need_not_be_held_out(directory: Path, tmp_path: Path) -> None:
    tasks = {
        "drugs": {"corpus": "bc5cdr", "train": ["train", "devel"]},
        "genes": {"corpus": "bc2gm", "train": ["train", "devel"]},
    }
    run.start(invented.recipe(tasks=tasks, loop={"epochs": 1}), tmp_path / "teacher", directory=directory)
    changes: dict[str, Any] = {"loop": {"epochs": 1}}
    student = _student(tmp_path / "teacher", **changes)
    student = student.model_copy(
        update={"tasks": {"ner": student.tasks["ner"].model_copy(update={"train": ("train", "devel")})}}
    )
    with pytest.raises(TrainingError, match="did not hold out bc2gm devel, bc5cdr devel"):
        run.start(student, tmp_path / "run", directory=directory)
    run.start(student.model_copy(update={"hold_out_parts": ("test",)}), tmp_path / "run", directory=directory)


def test_a_bundle_teaches_only_if_asked_to_without_a_check(tmp_path: Path, directory: Path) -> None:
    import tiny

    bundle = tiny.bundle(tmp_path / "bundle")
    with pytest.raises(TrainingError, match="does not record which text") as caught:
        run.start(_student(bundle), tmp_path / "run", directory=directory)
    assert caught.value.code == "BX451"


def test_a_bundle_that_teaches_is_named_as_everywhere(tmp_path: Path, directory: Path) -> None:
    """The name "default", and the folder of a run that added a head, which holds the new bundle."""
    import tiny

    tiny.bundle(tmp_path / "added" / "bundle")
    for name in ("default", str(tmp_path / "added")):
        student = _student(tmp_path / "x")
        assert student.teacher is not None
        settings = student.teacher.model_copy(update={"models": (name,)})
        with pytest.raises(TrainingError, match="does not record which text") as caught:
            run.start(student.model_copy(update={"teacher": settings}), tmp_path / "run", directory=directory)
        assert (caught.value.code, caught.value.where) == ("BX451", name)
    assert teachers.load(str(tmp_path / "added")).folder == tmp_path / "added" / "bundle"
    assert teachers.load("default").checksum


def test_a_teacher_that_is_not_there_is_named(tmp_path: Path, directory: Path) -> None:
    with pytest.raises(TrainingError, match="no run or bundle found") as caught:
        run.start(_student(tmp_path / "nowhere"), tmp_path / "run", directory=directory)
    assert caught.value.code == "BX452"
    assert caught.value.where == str(tmp_path / "nowhere")


def test_weights_of_both_losses_add_up_to_that_of_the_head() -> None:
    from biomux.recipes.schema import TeacherSettings
    from biomux.tasks.tagging import Tagging

    tasks = [Tagging("a", ("X",)), Tagging("b", ("Y",))]
    plan = Plan(Draw(), (Objective("cross-entropy", "a", 2.0), Objective("cross-entropy", "b")))
    found = teachers.with_teacher(plan, TeacherSettings(models=("t",), alpha=0.25, only=("a",)), tasks)
    assert {one.name: one.weight for one in found.objectives} == {"a": 0.5, "a@teacher": 1.5, "b": 1.0}
