"""Each setting of the loop does what it says: every test here fails if its setting does nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file
from training import small

from biomux.recipes.schema import Loop
from biomux.tasks.tagging import Tagging
from biomux.training import loop, optimizers
from biomux.training.batches import epoch_batches

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.training.model import Model

TASK = Tagging("ner", ("Chemical", "Disease"))
EXAMPLES = small.examples([TASK], {"ner": small.documents(20, seed=5)})
PLAN = small.plan("single", [TASK])


def prepared(folder: Path, network: Model | None = None, **settings: Any) -> loop.LoopInputs:
    return small.run(folder, network or small.model([TASK]), PLAN, EXAMPLES, **settings)


def test_the_mean_of_the_weights_is_what_is_scored_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = prepared(tmp_path, ema=0.5)
    mean = small.copy(one.model)
    step = loop.step

    def followed(*arguments: Any) -> Any:
        told = step(*arguments)
        for name, value in small.copy(one.model).items():
            mean[name] = 0.5 * mean[name] + 0.5 * value
        return told

    scored: list[dict[str, torch.Tensor]] = []
    one.evaluate = lambda: scored.append(small.copy(one.model)) or 0.5  # type: ignore[func-returns-value]
    monkeypatch.setattr(loop, "step", followed)
    loop.train(one)
    kept = load_file(tmp_path / "model.safetensors")
    for name, value in mean.items():
        torch.testing.assert_close(kept[name], value, atol=1e-6, rtol=1e-5)
        assert torch.equal(scored[0][name], kept[name])
    last = load_file(tmp_path / "checkpoints/last/model.safetensors")
    assert not torch.equal(last["heads.ner.1.weight"], kept["heads.ner.1.weight"]), "training goes on from its own"


def test_gradient_checkpointing_computes_layers_again_on_the_way_back(tmp_path: Path) -> None:
    calls = []
    for name, on in (("off", False), ("on", True)):
        one = prepared(tmp_path / name, gradient_checkpointing=on)
        seen: list[int] = []
        attention = one.model.encoder.body.encoder.layer[0].attention
        attention.register_forward_hook(lambda *_, seen=seen: seen.append(1))
        loop.train(one)
        calls.append(len(seen))
    assert calls[1] == 2 * calls[0] > 0


def test_a_layer_learns_slower_the_farther_it_is_from_the_heads() -> None:
    network = small.model([TASK])
    settings = Loop(learning_rate=1.0, layer_decay=0.5, head_learning_rate=3.0, weight_decay=0.2)
    made = optimizers.build(network, settings, moves=lambda _: True)
    named = {id(value): name for name, value in network.named_parameters()}
    groups = {named[id(value)]: group for group in made.param_groups for value in group["params"]}
    assert groups["heads.ner.1.weight"]["lr"] == 3.0
    assert groups["encoder.body.encoder.layer.1.output.dense.weight"]["lr"] == 0.5
    assert groups["encoder.body.encoder.layer.0.output.dense.weight"]["lr"] == 0.25
    assert groups["encoder.body.embeddings.word_embeddings.weight"]["lr"] == 0.125
    assert groups["heads.ner.1.weight"]["weight_decay"] == 0.2
    assert groups["heads.ner.1.bias"]["weight_decay"] == 0.0


def test_schedules(tmp_path: Path) -> None:
    for schedule, halfway, last in (("linear", 0.5, 0.125), ("cosine", 0.5, 0.5 * (1 + math.cos(math.pi * 7 / 8))), ("constant", 1, 1)):  # fmt: skip
        shares = [optimizers.scale(step, total=10, warmup=0.2, schedule=schedule) for step in range(10)]
        assert shares[:3] == [0.5, 1.0, 1.0]
        assert shares[6] == pytest.approx(halfway)
        assert shares[9] == pytest.approx(last)
    events: list[dict[str, Any]] = []
    one = small.run(tmp_path, small.model([TASK]), PLAN, EXAMPLES, events=events, schedule="cosine", warmup=0.2)
    one.report_every = 0.0
    loop.train(one)
    total = len(events)
    assert [event["rate"] for event in events] == [
        pytest.approx(optimizers.scale(step, total=total, warmup=0.2, schedule="cosine")) for step in range(total)
    ]


def test_clipping_bounds_a_step(tmp_path: Path) -> None:
    changes = []
    for clip in (0.0, 0.01):
        one = prepared(tmp_path, clip=clip)
        before = small.copy(one.model)
        loop.step(one, {"shared": torch.optim.SGD(one.model.parameters(), lr=1.0)}, [[0, 1, 2]])
        change = [(before[name] - value).flatten() for name, value in small.copy(one.model).items()]
        changes.append(float(torch.cat(change).norm()))
    assert changes[0] > 0.1
    assert changes[1] == pytest.approx(0.01, rel=1e-3)


def test_early_stopping_keeps_the_best_and_stops_when_nothing_gets_better(tmp_path: Path) -> None:
    one = prepared(tmp_path, epochs=10)
    one.patience = 2
    scores = iter([0.3, 0.5, 0.4, 0.5, 0.9])
    weights: list[dict[str, torch.Tensor]] = []

    def evaluate() -> float:
        weights.append(small.copy(one.model))
        return next(scores)

    one.evaluate = evaluate
    progress = loop.train(one)
    assert (len(weights), progress.epoch, progress.best, progress.done) == (4, 4, 0.5, True)
    kept = load_file(tmp_path / "model.safetensors")
    later = weights[3]  # as good as the second, and trained for longer
    assert all(torch.equal(kept[name], value) for name, value in later.items())


def test_accumulation_makes_fewer_steps_of_the_same_batches(tmp_path: Path) -> None:
    batches = len(epoch_batches(EXAMPLES, PLAN.draw, epoch=0, epochs=1, budget=160, seed=1))
    one, three = (loop.train(prepared(tmp_path / str(number), accumulate=number)) for number in (1, 3))
    assert one.step == batches
    assert three.step == -(-batches // 3)
    assert one.tokens == three.tokens


@pytest.mark.parametrize("regime", ["mixed", "one-task", "random-task"])
def test_a_batch_has_at_most_so_many_examples(regime: str) -> None:
    draw = small.plan(regime, [TASK]).draw
    batches = epoch_batches(EXAMPLES, draw, epoch=0, epochs=1, budget=4096, seed=1, most=3)
    assert max(map(len, batches)) == 3
    assert sorted(index for batch in batches for index in batch) == list(range(len(EXAMPLES)))


@pytest.mark.parametrize(("name", "kind"), [("adamw", "AdamW"), ("adam", "Adam"), ("adamax", "Adamax")])
def test_the_optimizer_is_the_one_that_is_named(name: Any, kind: str) -> None:
    made = optimizers.build(small.model([TASK]), Loop(optimizer=name), moves=lambda _: True)
    assert type(made).__name__ == kind


@pytest.mark.parametrize("steps", [3, 12, 17])
def test_steps_end_a_run_in_the_middle_of_an_epoch_or_after_more_than_were_named(tmp_path: Path, steps: int) -> None:
    events: list[dict[str, Any]] = []
    judged: list[int] = []
    run = prepared(tmp_path, events=events, steps=steps)
    run.evaluate = lambda: judged.append(run.progress.step) or 0.5  # type: ignore[func-returns-value]
    per_epoch = len(loop.layout(run, 0))
    assert loop.train(run).step == steps
    assert {event["total"] for event in events if event["event"] == "step"} == {steps}
    whole = [per_epoch * number for number in range(1, steps // per_epoch + 1)]
    assert judged == [*whole, *([] if steps % per_epoch == 0 else [steps])]


def test_scores_are_taken_after_so_many_steps(tmp_path: Path) -> None:
    judged: list[int] = []
    run = prepared(tmp_path, steps=7)
    run.every_steps = 3
    run.evaluate = lambda: judged.append(run.progress.step) or 0.5  # type: ignore[func-returns-value]
    loop.train(run)
    assert judged == [3, 6, 7]


def test_a_run_that_is_stopped_while_it_is_scored_is_scored_when_it_goes_on(tmp_path: Path) -> None:
    judged: list[int] = []

    def begin(stops: bool) -> loop.LoopInputs:
        run = prepared(tmp_path, steps=5)
        run.every_steps = 2

        def evaluate() -> float:
            if stops and run.progress.step == 4:
                raise KeyboardInterrupt
            judged.append(run.progress.step)
            return 0.5

        run.evaluate = evaluate
        return run

    with pytest.raises(KeyboardInterrupt):
        loop.train(begin(stops=True))
    loop.train(begin(stops=False))
    assert judged == [2, 4, 5]
