"""Every regime, on a tiny model: the right parameters move, and only those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from training import small

from biomux.errors import RecipeError
from biomux.recipes.schema import HeadSettings
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.tagging import Tagging
from biomux.training import batch_losses, loop
from biomux.training.batches import collate
from biomux.training.build import make_head
from biomux.training.encoders import from_run
from biomux.training.model import Model
from biomux.training.plan import Draw, Objective, Plan
from biomux.training.regimes import REGIMES

if TYPE_CHECKING:
    from pathlib import Path

DRUGS, ILLS = Tagging("drugs", ("Chemical",)), Tagging("ills", ("Disease",))
DOCUMENTS = {"drugs": small.documents(8, seed=1), "ills": small.documents(6, seed=2)}
UNSEEN = {"encoder.body.embeddings.word_embeddings.weight"}


def names(network: Model, *prefixes: str) -> set[str]:
    return {name for name, _ in network.named_parameters() if name.startswith(prefixes)}


@pytest.mark.parametrize("regime", ["mixed", "one-task", "random-task", "joint"])
def test_training_all_tasks_moves_everything(tmp_path: Path, regime: str) -> None:
    tasks = [DRUGS, ILLS]
    network = small.model(tasks)
    before = small.copy(network)
    progress = loop.train(
        small.run(tmp_path, network, small.plan(regime, tasks), small.examples(tasks, DOCUMENTS), epochs=2)
    )
    assert progress.done
    assert small.moved(before, network) == set(before)


def test_a_single_task_needs_no_other(tmp_path: Path) -> None:
    network = small.model([DRUGS, ILLS])
    before = small.copy(network)
    loop.train(small.run(tmp_path, network, small.plan("single", [DRUGS]), small.examples([DRUGS], DOCUMENTS)))
    assert small.moved(before, network) == set(before) - names(network, "heads.ills.")


def test_single_refuses_two_tasks() -> None:
    with pytest.raises(RecipeError, match="BX305"):
        small.plan("single", [DRUGS, ILLS])


def test_an_example_moves_only_the_heads_it_is_annotated_for(tmp_path: Path) -> None:
    """All tasks are in the plan; the examples are of one."""
    network = small.model([DRUGS, ILLS])
    before = small.copy(network)
    loop.train(small.run(tmp_path, network, small.plan("mixed", [DRUGS, ILLS]), small.examples([ILLS], DOCUMENTS)))
    assert small.moved(before, network) == set(before) - names(network, "heads.drugs.")


@pytest.mark.parametrize("regime", ["one-task", "random-task"])
def test_a_step_moves_what_is_shared_and_its_own_task(
    tmp_path: Path, regime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = small.model([DRUGS, ILLS])
    made = small.examples([DRUGS, ILLS], DOCUMENTS)
    seen = set()
    step = loop.step

    def watched(run: Any, movers: Any, chosen: Any) -> Any:
        tasks = {made[index].task for members in chosen for index in members}
        before = small.copy(network)
        told = step(run, movers, chosen)
        (task,) = tasks
        seen.add(task)
        changed = small.moved(before, network)
        assert changed & names(network, "encoder.")
        assert {name for name in changed if name.startswith("heads.")} == names(network, f"heads.{task}.")
        return told

    monkeypatch.setattr(loop, "step", watched)
    loop.train(small.run(tmp_path, network, small.plan(regime, [DRUGS, ILLS]), made, epochs=2, warmup=0.0))
    assert seen == {"drugs", "ills"}


def test_optimizers_per_task_have_states_of_their_own(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    network = small.model([DRUGS, ILLS])
    made = small.examples([DRUGS, ILLS], DOCUMENTS)
    loop.train(small.run(tmp_path, network, small.plan("random-task", [DRUGS, ILLS]), made))
    kept = load_file(tmp_path / "checkpoints" / "last" / "state.safetensors")
    assert {name.split("/")[1] for name in kept if name.startswith("optimizer/")} == {"drugs", "ills"}
    with pytest.raises(RecipeError, match="BX305"):
        loop.train(small.run(tmp_path / "2", network, small.plan("random-task", [DRUGS, ILLS]), made, accumulate=2))


@pytest.mark.parametrize("kind", ["linear", "mix"])
def test_a_frozen_encoder_stays(tmp_path: Path, kind: str) -> None:
    head = HeadSettings(kind=kind, settings={"dropout": 0.0})
    network = small.model([DRUGS, ILLS], {"drugs": head, "ills": head})
    before = small.copy(network)
    loop.train(
        small.run(tmp_path, network, small.plan("frozen", [DRUGS, ILLS]), small.examples([DRUGS, ILLS], DOCUMENTS))
    )
    assert small.moved(before, network) == names(network, "heads.")
    assert not network.train().encoder.training, "a frozen encoder has no dropout"
    if kind == "mix":
        assert network.heads["drugs"].weights.shape == (3,)


def auxiliaries() -> list[Any]:
    made = [Auxiliary(which, which, ("Disease",), of="ills") for which in ("extent", "has", "number")]
    return [ILLS, *made]


POOLED = {name: HeadSettings(kind="pooled", settings={"pooling": "max", "dropout": 0.0}) for name in ("has", "number")}


def test_joint_losses_are_the_weighted_sum_of_each_heads_mean(tmp_path: Path) -> None:
    """α · ner + β · mtCLS + γ · bCLS + δ · mCLS of the same batch, against the same sum written out."""
    tasks = auxiliaries()
    network = small.model(tasks, POOLED)
    weights = {"ills": 1.0, "extent": 0.5, "has": 0.25, "number": 2.0}
    plan = small.plan("joint", tasks, weights=weights)
    made = small.examples(tasks, {"ills": DOCUMENTS["ills"]}, joint=plan.joint)
    assert {frozenset(example.labels) for example in made} == {frozenset(weights)}
    part = collate(made[:5], small.SPECIALS)
    run = small.run(tmp_path, network, plan, made)
    counts = {head: len(target.labels) for head, target in part.targets.items()}
    total = batch_losses.total(run, batch_losses.of_batch(run, part), counts, part)
    features = network.features(part.batch)
    expected = sum(
        weight
        * torch.nn.functional.cross_entropy(
            network.heads[head](features, torch.from_numpy(part.targets[head].rows)),
            torch.from_numpy(part.targets[head].labels),
        ).item()
        for head, weight in weights.items()
    )
    assert total.item() == pytest.approx(expected, abs=1e-6)


def test_learned_weights_move_and_are_kept(tmp_path: Path) -> None:
    tasks = auxiliaries()
    network = small.model(tasks, POOLED)
    plan = small.plan("joint", tasks, learned_weights=True)
    made = small.examples(tasks, {"ills": DOCUMENTS["ills"]}, joint=True)
    run = small.run(tmp_path, network, plan, made)
    loop.train(run)
    assert set(run.weights) == {task.name for task in tasks}
    assert all(weight.item() != 0 for weight in run.weights.values())
    again = small.run(tmp_path, network, plan, made)
    loop.train(again)
    assert {head: weight.item() for head, weight in again.weights.items()} == {
        head: weight.item() for head, weight in run.weights.items()
    }


def test_without_joint_training_auxiliaries_have_examples_of_their_own() -> None:
    tasks = auxiliaries()
    made = small.examples(tasks, {task.name: DOCUMENTS["ills"] for task in tasks})
    assert {(example.task, tuple(example.labels)) for example in made} == {(task.name, (task.name,)) for task in tasks}


def test_fine_tuning_takes_the_encoder_of_a_run_and_a_fresh_head(tmp_path: Path) -> None:
    import tiny

    folder = tiny.run(tmp_path / "run")
    body, tokenizer, specials = from_run.load(folder)
    from safetensors.torch import load_file

    kept = load_file(folder / "model.safetensors")
    assert all(torch.equal(value, kept[f"encoder.{name}"]) for name, value in body.state_dict().items())
    assert tokenizer.get_vocab_size() == len(tiny.PIECES)
    assert specials == small.SPECIALS
    network = Model(body, {"drugs": make_head(HeadSettings(), body, 3)})
    assert "heads.drugs.1.weight" in network.state_dict()


def test_unknown_weights_are_refused() -> None:
    with pytest.raises(RecipeError, match="cannot weight the task 'x'"):
        small.plan("joint", [DRUGS], weights={"x": 1.0})


def test_every_regime_gives_an_objective_for_each_head() -> None:
    for name, regime in REGIMES.items():
        heads = {"a": "cross-entropy"} if name == "single" else {"a": "cross-entropy", "b": "mean-squared-error"}
        plan = regime(heads)
        assert plan.objectives == tuple(Objective(loss, head) for head, loss in heads.items())
        assert isinstance(plan, Plan)
        assert isinstance(plan.draw, Draw)


def test_mixed_batches_can_carry_auxiliary_labels() -> None:
    """The examples of the task itself are drawn as ever; each also moves the heads that follow from it."""
    tasks = auxiliaries()
    plan = small.plan("mixed", tasks, joint=True, exponent=0.5)
    made = small.examples(tasks, {"ills": DOCUMENTS["ills"]}, joint=plan.joint)
    assert {example.task for example in made} == {"ills"}
    assert {frozenset(example.labels) for example in made} == {frozenset(task.name for task in tasks)}
