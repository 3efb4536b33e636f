"""The loop with a teacher: several objectives on one head, losses between features, projections beside the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
import torch
from training import small
from transformers import BertConfig, BertModel

from biomux.errors import TrainingError
from biomux.recipes.schema import HeadSettings
from biomux.tasks.examples import Labels
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.tagging import Tagging
from biomux.training import loop
from biomux.training.build import make_head
from biomux.training.encoders.transformer import Transformer
from biomux.training.model import Model, TorchSession
from biomux.training.plan import Draw, FeatureObjective, Objective, Plan, taught
from biomux.training.step_teacher import StepTeacher

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.tasks.examples import Example

TASK = Tagging("ner", ("Chemical", "Disease"))
DOCUMENTS = {"ner": small.documents(24, seed=5)}
HIDDEN = MaskedWords("words")
WORDS = {"words": HeadSettings(kind="masked-words")}


def _taught(made: list[Example], teacher: Model, *, masked: bool = False) -> list[Example]:
    """The examples with what the teacher says about each word."""
    from biomux.engine.packing import lay_out, padded

    found = []
    for example in made:
        batch = lay_out([example.input], padded(example.input.size), small.SPECIALS, windows=[0])
        logits = np.array(TorchSession(teacher).run(batch)["ner"], dtype=np.float32)
        if masked:
            logits[0] = np.nan
        found.append(replace(example, labels={**example.labels, taught("ner"): Labels("word", logits)}))
    return found


def _plan(alpha: float, **settings: Any) -> Plan:
    both = (
        Objective("cross-entropy", "ner", alpha),
        Objective("logit-mse", "ner", 1 - alpha, source="teacher", settings=settings),
    )
    return Plan(Draw(), both)


def test_two_objectives_of_one_head_both_count(tmp_path: Path) -> None:
    """The loss of the first step is α · cross-entropy + (1 − α) · squared difference of logits, written out."""
    made = _taught(small.examples([TASK], DOCUMENTS), small.model([TASK], seed=9))
    first: dict[float, dict[str, Any]] = {}
    for alpha in (1.0, 0.5, 0.0):
        network = small.model([TASK])
        events: list[dict[str, Any]] = []
        before = {name: value.detach().clone() for name, value in network.named_parameters()}
        loop.train(small.run(tmp_path / str(alpha), network, _plan(alpha), made, events=events, batch_tokens=10_000))
        first[alpha] = next(event for event in events if event["event"] == "step")["losses"]
        first[alpha]["moved"] = {name: value.detach() - before[name] for name, value in network.named_parameters()}
    assert set(first[0.5]) == {"ner", "ner@teacher", "moved"}
    assert first[0.5]["ner"] == pytest.approx(first[1.0]["ner"], rel=1e-5)
    matrix = "heads.ner.1.weight"
    ends = [first[alpha]["moved"][matrix] for alpha in (1.0, 0.0, 0.5)]
    assert not torch.allclose(ends[0], ends[1], atol=1e-5)
    assert not torch.allclose(ends[0], ends[2], atol=1e-6)
    assert not torch.allclose(ends[1], ends[2], atol=1e-6)


def test_words_that_the_teacher_says_nothing_about_count_for_nothing() -> None:
    teacher = small.model([TASK], seed=9)
    plain = small.examples([TASK], DOCUMENTS)
    from biomux.training.batches import collate

    whole = collate(_taught(plain, teacher)[:4], small.SPECIALS)
    masked = collate(_taught(plain, teacher, masked=True)[:4], small.SPECIALS)
    assert len(whole.targets[taught("ner")].rows) == len(masked.targets[taught("ner")].rows) + 4
    assert np.isfinite(masked.targets[taught("ner")].labels).all()
    assert len(masked.targets["ner"].rows) == len(whole.targets["ner"].rows)


def test_a_student_that_is_its_teacher_has_no_loss(tmp_path: Path) -> None:
    teacher = small.model([TASK])
    made = _taught(small.examples([TASK], DOCUMENTS), teacher)
    student = small.model([TASK])
    events: list[dict[str, Any]] = []
    loop.train(small.run(tmp_path, student, _plan(0.0), made, events=events, batch_tokens=100_000))
    (told,) = [event["losses"] for event in events if event["event"] == "step"]  # one batch, before anything moves
    assert told["ner@teacher"] < 1e-8
    assert told["ner"] > 0.5


def _distil(folder: Path, *, seed: int = 1, **settings: Any) -> tuple[loop.LoopInputs, Any]:
    """Hidden words, the teacher's word for them, states and attention, all at once."""
    task, documents = HIDDEN, {"words": small.documents(16, seed=3)}
    student, teacher = small.model([task], WORDS, seed=3), small.model([task], WORDS, seed=9)
    torch.manual_seed(seed)
    plan = Plan(
        Draw(),
        (
            Objective("cross-entropy", "words"),
            Objective("kl-divergence", "words", source="step-teacher", settings={"temperature": 2.0}),
        ),
        features=(
            FeatureObjective("hidden-cosine", 1, 1),
            FeatureObjective("hidden-mse", 0, 0, 0.5),
            FeatureObjective("attention-kl", 1, 1),
            FeatureObjective("attention-mse", 1, 1),
        ),
    )
    run = small.run(folder, student, plan, small.examples([task], documents), **settings)
    run.teacher = StepTeacher(teacher)
    return run, teacher


def test_a_teacher_in_the_step_is_read_and_never_moves(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    run, teacher = _distil(tmp_path, events=events, epochs=3)
    before = {name: value.detach().clone() for name, value in teacher.named_parameters()}
    loop.train(run)
    assert all(torch.equal(before[name], value) for name, value in teacher.named_parameters())
    told = [event["losses"] for event in events if event["event"] == "step"]
    names = {"words", "words@teacher", "hidden-cosine 1-1", "hidden-mse 0-0", "attention-kl 1-1", "attention-mse 1-1"}
    assert set(told[0]) == names
    assert told[-1]["hidden-cosine 1-1"] < told[0]["hidden-cosine 1-1"]
    assert told[-1]["hidden-mse 0-0"] < told[0]["hidden-mse 0-0"]


def test_layers_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    run, _ = _distil(tmp_path)
    run.plan = replace(run.plan, features=(FeatureObjective("hidden-mse", 1, 99),))
    with pytest.raises(TrainingError, match="cannot read layer 99 of the teacher"):
        loop.train(run)


def test_features_without_a_teacher_are_refused(tmp_path: Path) -> None:
    run, _ = _distil(tmp_path)
    run.teacher = None
    with pytest.raises(TrainingError, match="need a teacher"):
        loop.train(run)


def _wide_teacher() -> Model:
    """A teacher whose states are twice as wide as the student's."""
    torch.manual_seed(9)
    config = {**tiny.config(width=64), "num_attention_heads": 4}
    config.pop("model_type")
    body = BertModel(BertConfig(**config))
    body.pooler = None
    encoder = Transformer(body)
    return Model(encoder, {"words": make_head(HeadSettings(kind="masked-words"), encoder, len(tiny.PIECES))}, UNITS)


UNITS: dict[str, Any] = {"words": "token"}


def _through_a_projection(folder: Path, **settings: Any) -> loop.LoopInputs:
    run, _ = _distil(folder, batch_tokens=60, **settings)
    run.teacher = StepTeacher(_wide_teacher())
    return run


def test_states_of_another_width_are_compared_through_a_projection_that_is_no_part_of_the_model(tmp_path: Path) -> None:
    run = _through_a_projection(tmp_path)
    names = set(run.model.state_dict())
    loop.train(run)
    assert set(run.projections) == {"hidden-cosine 1-1", "hidden-mse 0-0"}
    assert run.projections["hidden-mse 0-0"].weight.shape == (64, 32)
    assert set(run.model.state_dict()) == names


def test_a_killed_run_with_a_teacher_in_the_step_ends_with_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _through_a_projection(tmp_path / "whole", epochs=2)
    loop.train(whole)
    killed, step = _through_a_projection(tmp_path / "killed", epochs=2), loop.step

    def fails(*arguments: Any) -> Any:
        if arguments[0].progress.step == 7:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(loop, "step", fails)
    with pytest.raises(KeyboardInterrupt):
        loop.train(killed)
    monkeypatch.setattr(loop, "step", step)
    resumed = _through_a_projection(tmp_path / "killed", epochs=2, seed=5)
    loop.train(resumed)
    assert resumed.progress.step == whole.progress.step > 7
    ours, theirs = resumed.model.state_dict(), whole.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert all(torch.equal(resumed.beside[name], whole.beside[name]) for name in whole.beside)
