"""Which examples come when, and how they are laid out."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
from training import small

from biomux.document import Document
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.examples import MASKED, Example, Labels, Masking, ModelInput, make
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.tagging import Tagging
from biomux.text import tokens as text_tokens
from biomux.training.batches import collate, epoch_batches, kept
from biomux.training.plan import Draw

TASKS = [Tagging("drugs", ("Chemical",)), Tagging("ills", ("Disease",))]
EXAMPLES = small.examples(TASKS, {"drugs": small.documents(30, seed=1), "ills": small.documents(10, seed=2)})


def batches(draw: Draw, *, epoch: int = 0, epochs: int = 3, seed: int = 1) -> list[list[int]]:
    return epoch_batches(EXAMPLES, draw, epoch=epoch, epochs=epochs, budget=160, seed=seed)


def shares(found: list[list[int]]) -> float:
    """How much of what is drawn is of the larger task."""
    drawn = [EXAMPLES[index].task for batch in found for index in batch]
    return drawn.count("drugs") / len(drawn)


@pytest.mark.parametrize("kind", ["mixed", "one-task"])
def test_an_epoch_has_every_example_once(kind: str) -> None:
    found = batches(Draw(kind))  # type: ignore[arg-type]
    assert sorted(index for batch in found for index in batch) == list(range(len(EXAMPLES)))


def test_the_seed_and_the_epoch_decide_alone() -> None:
    assert batches(Draw()) == batches(Draw())
    assert batches(Draw()) != batches(Draw(), epoch=1)
    assert batches(Draw()) != batches(Draw(), seed=2)


@pytest.mark.parametrize("kind", ["one-task", "random-task"])
def test_a_batch_is_of_one_task(kind: str) -> None:
    found = batches(Draw(kind, 0.0))  # type: ignore[arg-type]
    assert all(len({EXAMPLES[index].task for index in batch}) == 1 for batch in found)
    assert {EXAMPLES[batch[0]].task for batch in found} == {"drugs", "ills"}


def test_sampling_follows_the_power_of_a_tasks_size() -> None:
    sizes = [sum(example.task == task.name for example in EXAMPLES) for task in TASKS]
    for exponent in (1.0, 0.5, 0.0):
        large, little = (size**exponent for size in sizes)
        assert shares(batches(Draw("one-task", exponent))) == pytest.approx(large / (large + little), abs=0.02)
    annealed = Draw("one-task", 1.0, 0.0)
    assert shares(batches(annealed)) > shares(batches(annealed, epoch=1)) > shares(batches(annealed, epoch=2))


def test_a_random_task_comes_by_lot() -> None:
    found = [EXAMPLES[batch[0]].task for epoch in range(40) for batch in batches(Draw("random-task", 0.0), epoch=epoch)]
    assert 0.45 < found.count("drugs") / len(found) < 0.55


@pytest.mark.parametrize("by", ["sentences", "documents"])
def test_fractions_are_nested_seeded_and_of_each_task(by: str) -> None:
    sets = [set(kept(EXAMPLES, fraction=share, by=by, seed=3)) for share in (0.1, 0.25, 0.5, 1.0)]
    assert sets[0] < sets[1] < sets[2] < sets[3] == set(range(len(EXAMPLES)))
    assert sets[1] != set(kept(EXAMPLES, fraction=0.25, by=by, seed=4))
    for task in TASKS:
        all_of = {
            EXAMPLES[index].source[: 2 if by == "sentences" else 1]
            for index in sets[3]
            if EXAMPLES[index].task == task.name
        }
        some = {
            EXAMPLES[index].source[: 2 if by == "sentences" else 1]
            for index in sets[2]
            if EXAMPLES[index].task == task.name
        }
        assert len(some) == round(0.5 * len(all_of))
    if by == "documents":
        left = {EXAMPLES[index].source[0] for index in sets[3] - sets[2]}
        assert not left & {EXAMPLES[index].source[0] for index in sets[2]}


def test_an_epoch_keeps_to_its_fraction() -> None:
    chosen = set(kept(EXAMPLES, fraction=0.25, by="sentences", seed=1))
    for epoch in range(3):
        assert {index for batch in batches(Draw(fraction=0.25), epoch=epoch) for index in batch} == chosen


def test_empty_examples_come_less_often_and_others_always() -> None:
    found = {index for batch in batches(Draw(keep_empty=0.0)) for index in batch}
    assert found == {index for index, example in enumerate(EXAMPLES) if not example.empty}


def reading(text: str, prefix: str | None = None) -> ModelInput:
    tokens = text_tokens.split(tiny.tokenizer(), text, [(0, len(text))])[0]
    before = None if prefix is None else text_tokens.split(tiny.tokenizer(), prefix, [(0, len(prefix))])[0]
    return ModelInput(tokens, before)


def test_a_row_with_a_prefix_has_two_segments() -> None:
    example = Example("qa", reading("aspirin given", "high dose ."), {"qa": Labels("answer", np.array([0, 1]))})
    plain = Example("none", reading("the liver"), {"qa": Labels("answer", np.array([-1, -1]))})
    part = collate([example, plain], small.SPECIALS)
    vocabulary = dict(enumerate(tiny.PIECES))
    rows = [" ".join(vocabulary[index] for index in row) for row in part.batch.ids.tolist()]
    assert rows == ["[CLS] high dose . [SEP] aspirin given [SEP]", "[CLS] the liver [SEP] [PAD] [PAD] [PAD] [PAD]"]
    assert part.batch.segments is not None
    assert part.batch.segments.tolist() == [[0, 0, 0, 0, 0, 1, 1, 1], [0] * 8]
    assert part.batch.first.tolist() == [5, 6, 9, 10]
    assert part.targets["qa"].rows.tolist() == [0, 8]
    assert part.targets["qa"].labels.tolist() == [[5, 6], [0, 0]]


def test_each_unit_has_its_places() -> None:
    """Words at their first tokens, tokens each, windows at [CLS], pairs by four words."""
    one = ModelInput(reading("zolosis given ulcer").tokens, pairs=np.array([[0, 0, 2, 2]], dtype=np.int32))
    assert one.tokens.first.tolist() == [0, 4, 5]
    labels = {
        "word": Labels("word", np.array([1, MASKED, 2])),
        "token": Labels("token", np.array([1, 1, 1, MASKED, 0, 2])),
        "window": Labels("window", np.array([[0.0, 1.0]], dtype=np.float32)),
        "pair": Labels("pair", np.array([3])),
    }
    part = collate([Example("x", reading("the"), {}), Example("x", one, labels)], small.SPECIALS)
    start = part.batch.ids.shape[1]
    told = {head: (target.rows - start).tolist() for head, target in part.targets.items()}
    assert told == {"word": [1, 6], "token": [1, 2, 3, 5, 6], "window": [0], "pair": [[1, 1, 6, 6]]}
    assert part.targets["word"].labels.tolist() == [1, 2]
    assert part.targets["window"].labels.dtype == np.float32


def test_tokens_are_hidden_anew_by_the_seed() -> None:
    made = make(MaskedWords("words"), [Document("1", tiny.text(60, seed=4))], tiny.tokenizer(), limit=30).examples
    first, again, other = (collate(made, small.SPECIALS, seed=seed) for seed in ((1, 0, 0), (1, 0, 0), (1, 1, 0)))
    assert np.array_equal(first.batch.ids, again.batch.ids)
    assert not np.array_equal(first.batch.ids, other.batch.ids)
    original = collate([Example("x", example.input, {}) for example in made], small.SPECIALS).batch.ids.reshape(-1)
    target = first.targets["words"]
    assert np.array_equal(original[target.rows], target.labels)
    changed = np.flatnonzero(original != first.batch.ids.reshape(-1))
    assert set(changed) <= set(target.rows.tolist())


@pytest.mark.parametrize(("random", "stay"), [(0.1, 0.1), (0.2, 0.0)])
def test_hidden_tokens_have_the_stated_shares(random: float, stay: float) -> None:
    ids = np.full(40_000, 7, dtype=np.int32)
    hidden, labels = Masking(4, 5000, random=random).apply(ids, np.random.default_rng(0))
    asked = labels != MASKED
    assert asked.mean() == pytest.approx(0.15, abs=0.01)
    assert (hidden[asked] == 4).mean() == pytest.approx(0.8, abs=0.02)
    assert (hidden[asked] == 7).mean() == pytest.approx(stay, abs=0.02)
    assert (hidden[~asked] == 7).all()


def test_auxiliaries_label_the_same_examples() -> None:
    task = TASKS[1]
    followers = [
        Auxiliary("has", "has", ("Disease",), of="ills"),
        Auxiliary("extent", "extent", ("Disease",), of="ills"),
    ]
    made = make(task, small.documents(5, seed=2), tiny.tokenizer(), limit=40, also=followers).examples
    part = collate(made, small.SPECIALS)
    assert len(part.targets["has"].labels) == len(made)
    assert np.array_equal(part.targets["extent"].rows, part.targets["ills"].rows)
    assert np.array_equal(part.targets["extent"].labels > 0, part.targets["ills"].labels > 0)
