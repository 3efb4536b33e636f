"""Batches: which examples are read together, decided only by the plan and a seed, so that a resumed run sees the same ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine.packing import lay_out, padded
from biomux.tasks.examples import MASKED, Labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.engine.packing import Batch, Specials
    from biomux.tasks.examples import Example
    from biomux.training.plan import Draw

POOL = 50
"""Batches whose examples are sorted by length together: enough for little padding, few enough for variety."""


@dataclass(frozen=True, slots=True)
class HeadTarget:
    """For one head: the positions that it predicts, and the right labels.

    | unit | rows | labels |
    |---|---|---|
    | word, token | places in the flattened rows | one each, or a row of a teacher's logits |
    | window | the place of its [CLS] | one each, or a row of 0 and 1, or a number |
    | answer | the place of its [CLS] | first and last place of the answer in the row, both 0 for none |
    | pair | four places: first and last word of each span | one each |
    """

    rows: NDArray[np.int64]
    labels: NDArray[Any]


@dataclass(frozen=True, slots=True)
class LearnBatch:
    """A packed batch with its targets, and the tasks whose examples it holds."""

    batch: Batch
    targets: Mapping[str, HeadTarget]
    tasks: frozenset[str]

    @property
    def tokens(self) -> int:
        """How many tokens are read, without padding."""
        return int(self.batch.mask.sum())


def epoch_batches(
    examples: Sequence[Example],
    draw: Draw,
    *,
    epoch: int,
    epochs: int,
    budget: int,
    seed: int,
    most: int | None = None,
) -> list[list[int]]:
    """The batches of an epoch, each a list of indices into `examples`: at most `budget` tokens with padding, and at most `most` examples."""
    generator = np.random.default_rng([seed, epoch])
    size = budget, most or len(examples)
    members, beside = _members(examples, draw, seed)
    exponent = draw.exponent_at(epoch, epochs)
    shares = {task: len(indices) ** exponent * draw.boost.get(task, 1.0) for task, indices in members.items()}
    total_share = sum(shares.values())
    if draw.batches == "random-task":
        shares |= {task: total_share * _odds(draw.beside[task]) for task in beside}
        return _random_tasks(examples, members | beside, shares, draw, size, generator)
    chosen = _draw(examples, members, shares, draw, generator)
    for task, indices in beside.items():
        number = round(len(chosen) * _odds(draw.beside[task]))
        chosen = np.concatenate([chosen, _next(indices, epoch * number, number, [seed, 24593])])
    generator.shuffle(chosen)
    if draw.batches == "mixed":
        batches = _cut(examples, chosen, size, generator)
    else:
        batches = []
        tasks = np.array([examples[index].task for index in chosen])
        for task in sorted(set(tasks.tolist())):
            batches += _cut(examples, chosen[tasks == task], size, generator)
    order = generator.permutation(len(batches))
    return [batches[index] for index in order]


def kept(examples: Sequence[Example], *, fraction: float, by: str, seed: int) -> list[int]:
    """The examples of a fraction of the sentences, or documents, of each task.

    The choice depends only on the seed, and a larger fraction includes the examples of a smaller one.
    """
    if fraction >= 1:
        return list(range(len(examples)))
    sources: dict[str, dict[Any, None]] = {}
    for example in examples:
        sources.setdefault(example.task, {})[example.source if by == "sentences" else example.source[0]] = None
    chosen: set[tuple[str, Any]] = set()
    for task, by_document in sources.items():
        names = list(by_document)
        order = np.random.default_rng([seed, 40961]).permutation(len(names))
        chosen |= {(task, names[index]) for index in order[: max(1, round(fraction * len(names)))]}
    return [
        index
        for index, example in enumerate(examples)
        if (example.task, example.source if by == "sentences" else example.source[0]) in chosen
    ]


def _members(examples: Sequence[Example], draw: Draw, seed: int) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The examples of each task, of which a fraction may be left out, and those added beside them."""
    members: dict[str, list[int]] = {}
    beside: dict[str, list[int]] = {name: [] for name in draw.beside}
    for index, example in enumerate(examples) if beside else ():
        if example.task in beside:
            beside[example.task].append(index)
    for index in kept(examples, fraction=draw.fraction, by=draw.by, seed=seed):
        if examples[index].task not in beside:
            members.setdefault(examples[index].task, []).append(index)
    return members, {name: indices for name, indices in beside.items() if indices}


def times_repeated(draw: Draw, labelled: int, added: int, *, epochs: int) -> float:
    """How often each of the examples without their own labels is read in a whole run, as far as a share of the labelled ones says.

    >>> from biomux.training.plan import Draw
    >>> times_repeated(Draw(beside={"text": 0.5}), 1000, 500, epochs=3)
    6.0
    """
    odds = sum(map(_odds, draw.beside.values()))
    return epochs * labelled * draw.fraction * odds / added


def _odds(share: float) -> float:
    """How many examples to add for each other one, so that they make up that share of all."""
    return share / (1 - share)


def _next(indices: Sequence[int], begin: int, number: int, seed: Sequence[int]) -> NDArray[np.int64]:
    """The next indices of a shuffled sequence, which is shuffled again whenever it runs out."""
    places = np.arange(begin, begin + number)
    rounds, within = places // len(indices), places % len(indices)
    chosen = np.empty(number, dtype=np.int64)
    for turn in np.unique(rounds).tolist():
        order = np.random.default_rng([*seed, turn]).permutation(indices)
        chosen[rounds == turn] = order[within[rounds == turn]]
    return chosen


def _draw(
    examples: Sequence[Example],
    members: Mapping[str, list[int]],
    shares: Mapping[str, float],
    draw: Draw,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    scale = sum(map(len, members.values())) / sum(shares.values())
    chosen: list[int] = []
    for task, indices in sorted(members.items()):
        usable = _some_empty(examples, indices, draw.keep_empty, generator)
        passes = shares[task] * scale / len(indices)
        whole_passes = int(passes)
        chosen += usable * whole_passes
        rest = round((passes - whole_passes) * len(usable))
        chosen += generator.choice(usable, rest, replace=False).tolist() if rest else []
    return np.array(chosen, dtype=np.int64)


def _some_empty(
    examples: Sequence[Example], indices: list[int], share: float, generator: np.random.Generator
) -> list[int]:
    """The examples that have a mention, and a share of the others."""
    if share >= 1:
        return indices
    keep = generator.random(len(indices)) < share
    return [index for index, lucky in zip(indices, keep, strict=True) if lucky or not examples[index].empty]


def _random_tasks(
    examples: Sequence[Example],
    members: Mapping[str, list[int]],
    shares: Mapping[str, float],
    draw: Draw,
    size: tuple[int, int],
    generator: np.random.Generator,
) -> list[list[int]]:
    """At each step a random task, then its next batch; a task whose batches are used up starts again in another order."""
    names = sorted(members)
    waiting: dict[str, list[list[int]]] = {}

    def fill(task: str) -> None:
        usable = np.array(_some_empty(examples, members[task], draw.keep_empty, generator), dtype=np.int64)
        generator.shuffle(usable)
        batches = _cut(examples, usable, size, generator)
        waiting[task] = [batches[index] for index in generator.permutation(len(batches))]

    for task in names:
        fill(task)
    labelled = sum(len(batches) for task, batches in waiting.items() if task not in draw.beside)
    steps = round(labelled / (1 - sum(draw.beside.values())))
    chances = np.array([shares[task] for task in names])
    batches = []
    for index in generator.choice(len(names), size=steps, p=chances / chances.sum()):
        task = names[index]
        if not waiting[task]:
            fill(task)
        batches.append(waiting[task].pop())
    return batches


def _cut(
    examples: Sequence[Example], chosen: NDArray[np.int64], size: tuple[int, int], generator: np.random.Generator
) -> list[list[int]]:
    budget, most = size
    lengths = np.array([examples[index].input.size for index in chosen])
    batches: list[list[int]] = []
    pool: list[int] = []
    filled = 0
    for place in range(len(chosen)):
        pool.append(place)
        filled += lengths[place]
        if filled >= POOL * budget or place == len(chosen) - 1:
            noise = generator.random(len(pool))
            pool = [pool[index] for index in np.lexsort((noise, lengths[pool]))]
            batch: list[int] = []
            for member in pool:
                if len(batch) >= most or (batch and (len(batch) + 1) * padded(int(lengths[member])) > budget):
                    batches.append(batch)
                    batch = []
                batch.append(int(chosen[member]))
            if batch:
                batches.append(batch)
            pool, filled = [], 0
    return batches


def collate(examples: Sequence[Example], specials: Specials, *, seed: Sequence[int] = (0,)) -> LearnBatch:
    """One batch from its examples. `seed` decides which tokens are masked in examples with masking."""
    length = padded(max(example.input.size for example in examples))
    masked = [_masked(example, [*seed, row]) for row, example in enumerate(examples)]
    batch = lay_out([example.input for example in masked], length, specials, windows=range(len(masked)))
    rows: dict[str, list[NDArray[np.int64]]] = {}
    labels: dict[str, list[NDArray[Any]]] = {}
    for row, example in enumerate(masked):
        for head, head_labels in example.labels.items():
            places, values = _target(example, head_labels, row * length)
            rows.setdefault(head, []).append(places)
            labels.setdefault(head, []).append(values)
    targets = {
        head: HeadTarget(np.concatenate(rows[head]), _whole_numbers(np.concatenate(labels[head])))
        for head in sorted(rows)
    }
    return LearnBatch(batch, targets, frozenset(example.task for example in masked))


def _target(example: Example, labels: Labels, start: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Places and labels of one example, without masked ones (of a teacher's logits: NaN); `start` is where its row begins."""
    values, model_input = labels.values, example.input
    if labels.unit == "window":
        labelled = np.isfinite(values[:, 0]) if values.ndim == 2 else np.ones(len(values), dtype=bool)
        return np.full(int(labelled.sum()), start, dtype=np.int64), values[labelled]
    if labels.unit == "answer":
        places = np.where(values < 0, 0, model_input.tokens.first[values] + model_input.begin)
        return np.array([start], dtype=np.int64), places.reshape(1, 2)
    labelled = np.flatnonzero(np.isfinite(values[:, 0]) if values.ndim == 2 else values != MASKED)
    begin = start + model_input.begin
    if labels.unit == "token":
        return labelled + begin, values[labelled]
    first = model_input.tokens.first.astype(np.int64) + begin
    if labels.unit == "pair":
        pairs = np.zeros((0, 4), dtype=np.int64) if model_input.pairs is None else model_input.pairs
        return first[pairs[labelled]], values[labelled]
    return first[labelled], values[labelled]


def _masked(example: Example, seed: Sequence[int]) -> Example:
    if example.masking is None:
        return example
    hidden, labels = example.masking.apply(
        example.tokens.ids, np.random.default_rng(list(seed)), first=example.tokens.first
    )
    return replace(
        example,
        input=replace(example.input, hidden=hidden),
        labels={**example.labels, example.task: Labels("token", labels)},
    )


def _whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.int64) if values.dtype.kind in "iu" else values.astype(np.float32)
