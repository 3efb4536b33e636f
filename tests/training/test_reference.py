"""The loop against training loops written out here, and against itself: resumed, and with a batch in parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import tiny
import torch
from training import small
from transformers import BertConfig, BertForTokenClassification

from biomux.recipes.schema import HeadSettings
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.tagging import Tagging
from biomux.training import loop
from biomux.training.batches import epoch_batches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from biomux.training.model import Model

TASK = Tagging("ner", ("Chemical", "Disease"))
DOCUMENTS = {"ner": small.documents(40, seed=5)}


def test_single_task_tagging_is_what_a_plain_transformers_loop_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same weights, batches and optimizer: the loss of twenty steps is the same to 1e-5."""
    made = small.examples([TASK], DOCUMENTS)
    network = small.model([TASK])
    config = {**tiny.config(), "num_labels": len(TASK.labels), "classifier_dropout": 0.0}
    config.pop("model_type")
    plain = BertForTokenClassification(BertConfig(**config))
    plain.bert.load_state_dict(network.encoder.body.state_dict())
    plain.classifier.load_state_dict(network.heads["ner"].get_submodule("1").state_dict())
    ours: list[float] = []
    step = loop.step

    def watched(*arguments: Any) -> Any:
        told = step(*arguments)
        ours.append(told[0]["ner"])
        return told

    monkeypatch.setattr(loop, "step", watched)
    settings: dict[str, Any] = {
        "learning_rate": 1e-3,
        "weight_decay": 0.01,
        "batch_tokens": 120,
        "warmup": 0.1,
        "epochs": 2,
    }
    loop.train(small.run(tmp_path, network, small.plan("single", [TASK]), made, **settings))
    theirs = list(_plain_losses(plain, made, steps=20, **settings))
    assert len(ours) >= 20
    assert max(abs(left - right) for left, right in zip(ours, theirs, strict=False)) <= 1e-5


def _plain_losses(
    network: Any,
    made: Any,
    *,
    steps: int,
    learning_rate: float,
    weight_decay: float,
    batch_tokens: int,
    warmup: float,
    epochs: int,
) -> Any:
    batches = [
        batch
        for epoch in range(epochs)
        for batch in epoch_batches(
            made, small.plan("single", [TASK]).draw, epoch=epoch, epochs=epochs, budget=batch_tokens, seed=1
        )
    ]
    matrices = [value for value in network.parameters() if value.ndim > 1]
    vectors = [value for value in network.parameters() if value.ndim < 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}], lr=learning_rate
    )
    rising = round(len(batches) * warmup)
    network.train()
    for step, members in enumerate(batches[:steps]):
        rate = (step + 1) / rising if step < rising else 1 - (step - rising) / (len(batches) - rising)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * rate
        length = max(len(made[index].tokens) for index in members) + 2
        ids = torch.zeros(len(members), length, dtype=torch.int64)
        labels = torch.full((len(members), length), -100)
        for row, index in enumerate(members):
            tokens = made[index].tokens
            ids[row, : len(tokens) + 2] = torch.tensor([2, *tokens.ids.tolist(), 3])
            labels[row, tokens.first.astype("int64") + 1] = torch.from_numpy(made[index].labels["ner"].values).long()
        loss = network(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        yield loss.item()


def _trained(
    folder: Path, *, regime: str = "single", tasks: Sequence[Any] = (TASK,), **settings: Any
) -> tuple[Model, list[dict[str, Any]]]:
    heads = {"words": HeadSettings(kind="masked-words"), "has": HeadSettings(kind="pooled", settings={"dropout": 0.3})}
    network = small.model(tasks, heads)
    events: list[dict[str, Any]] = []
    plan = small.plan(regime, tasks, **({"learned_weights": True} if regime == "joint" else {}))
    made = small.examples(tasks, dict.fromkeys([task.name for task in tasks], DOCUMENTS["ner"]), joint=plan.joint)
    run = small.run(folder, network, plan, made, events=events, **settings)
    run.report_every = 0.0
    loop.train(run)
    return network, [event for event in events if event["event"] == "step"]


def test_expected_loss(tmp_path: Path) -> None:
    """A fixture: what changes it changes training."""
    _, steps = _trained(tmp_path, epochs=3)
    assert steps[0]["losses"]["ner"] == pytest.approx(FIRST_LOSS, abs=1e-4)
    assert steps[19]["losses"]["ner"] == pytest.approx(TWENTIETH_LOSS, abs=1e-4)


FIRST_LOSS = 1.30048
TWENTIETH_LOSS = 0.38404


class Killed(BaseException):
    """What a kill looks like from within: nothing is saved on the way out."""


HAS = Auxiliary("has", "has", ("Chemical", "Disease"), of="ner")
WORDS = MaskedWords("words")


@pytest.mark.parametrize(
    "settings",
    [
        {"ema": 0.9, "accumulate": 2},
        {"optimizer": "adamax", "schedule": "cosine", "regime": "one-task", "tasks": (TASK, WORDS)},
        {"regime": "random-task", "tasks": (TASK, HAS)},
        {"regime": "joint", "tasks": (TASK, HAS)},
    ],
    ids=["single", "one-task", "random-task", "joint"],
)
def test_a_killed_run_goes_on_to_the_same_weights(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = _trained(tmp_path / "whole", epochs=2, **settings)
    step, number = loop.step, 0

    def dies(*arguments: Any) -> Any:
        nonlocal number
        number += 1
        if number == 8:
            raise Killed
        return step(*arguments)

    monkeypatch.setattr(loop, "step", dies)
    with pytest.raises(Killed):
        _trained(tmp_path / "killed", epochs=2, checkpoint_minutes=1e-9, **settings)
    monkeypatch.setattr(loop, "step", step)
    resumed, steps = _trained(tmp_path / "killed", epochs=2, **settings)
    assert steps[0]["step"] == 8
    kept, other = resumed.state_dict(), whole.state_dict()
    assert all(torch.equal(kept[name], value) for name, value in other.items())


@pytest.mark.parametrize("regime", ["single", "joint"])
def test_accumulation_is_a_larger_batch(tmp_path: Path, regime: str) -> None:
    """One batch, or the same examples in three parts: the same step."""
    whole, parts = (
        _after_one_step(tmp_path, regime, chosen) for chosen in ([list(range(9))], [[0, 1], [2, 3, 4, 5], [6, 7, 8]])
    )
    assert whole.keys() == parts.keys()
    for name, value in whole.items():
        assert torch.allclose(value, parts[name], atol=1e-6), name


def _after_one_step(folder: Path, regime: str, chosen: list[list[int]]) -> dict[str, torch.Tensor]:
    """The weights after a step of plain gradient descent: what was there minus the gradient."""
    network = small.model([TASK])
    plan = small.plan(regime, [TASK], **({"learned_weights": True} if regime == "joint" else {}))
    run = small.run(folder, network, plan, small.examples([TASK], DOCUMENTS)[:9], clip=0.0)
    if plan.learned_weights:
        run.weights = {"ner": torch.nn.Parameter(torch.tensor(0.3))}
    moving = [*network.parameters(), *run.weights.values()]
    loop.step(run, {"shared": torch.optim.SGD(moving, lr=1.0)}, chosen)
    return {**small.copy(network), **{f"weight {head}": one.detach() for head, one in run.weights.items()}}


def test_gradient_checkpointing_changes_nothing_but_memory(tmp_path: Path) -> None:
    usual, _ = _trained(tmp_path / "a")
    sparing, _ = _trained(tmp_path / "b", gradient_checkpointing=True)
    kept = sparing.state_dict()
    assert all(torch.allclose(kept[name], value, atol=1e-6) for name, value in usual.state_dict().items())


def test_losses_fall(tmp_path: Path) -> None:
    _, steps = _trained(tmp_path, epochs=4)
    losses = [step["losses"]["ner"] for step in steps]
    assert math.fsum(losses[-5:]) < 0.6 * math.fsum(losses[:5])
