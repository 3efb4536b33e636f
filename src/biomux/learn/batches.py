"""Batches: which examples are read together, decided by the plan and a seed alone, so that a resumed run sees the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.engine.packing import padded
from biomux.tasks.tagging import MASKED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.engine.packing import Specials
    from biomux.learn.examples import Example
    from biomux.learn.plan import Draw

POOL = 50
"""Batches whose examples are sorted by length together: enough for little padding, few enough for variety."""


@dataclass(frozen=True, slots=True)
class HeadTarget:
    """For one head: which words of the batch it answers for, and what is right."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LearnBatch:
    """A packed batch with its targets. `first` are the places of words' first pieces in the flattened rows."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    first: NDArray[np.int64]
    targets: Mapping[str, HeadTarget]

    @property
    def pieces(self) -> int:
        """How many pieces are read, without padding."""
        return int(self.mask.sum())


def epoch_batches(
    examples: Sequence[Example], draw: Draw, *, epoch: int, epochs: int, budget: int, seed: int
) -> list[list[int]]:
    """The batches of an epoch, each a list of indices into `examples`."""
    generator = np.random.default_rng([seed, epoch])
    chosen = _draw(examples, draw, epoch=epoch, epochs=epochs, generator=generator)
    generator.shuffle(chosen)
    if draw.batches == "mixed":
        batches = _cut(examples, chosen, budget, generator)
    else:
        batches = []
        tasks = np.array([examples[index].task for index in chosen])
        for task in sorted(set(tasks.tolist())):
            batches += _cut(examples, chosen[tasks == task], budget, generator)
    order = generator.permutation(len(batches))
    return [batches[index] for index in order]


def _draw(
    examples: Sequence[Example], draw: Draw, *, epoch: int, epochs: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    members: dict[str, list[int]] = {}
    for index, example in enumerate(examples):
        members.setdefault(example.task, []).append(index)
    exponent = draw.exponent_at(epoch, epochs)
    shares = {task: len(found) ** exponent * draw.boost.get(task, 1.0) for task, found in members.items()}
    scale = len(examples) / sum(shares.values())
    chosen: list[int] = []
    for task, found in sorted(members.items()):
        if draw.keep_empty < 1:
            keep = generator.random(len(found)) < draw.keep_empty
            found = [index for index, kept in zip(found, keep, strict=True) if kept or not examples[index].empty]
        passes = shares[task] * scale / len(members[task])
        whole = int(passes)
        chosen += found * whole
        rest = round((passes - whole) * len(found))
        chosen += generator.choice(found, rest, replace=False).tolist() if rest else []
    return np.array(chosen, dtype=np.int64)


def _cut(
    examples: Sequence[Example], chosen: NDArray[np.int64], budget: int, generator: np.random.Generator
) -> list[list[int]]:
    lengths = np.array([len(examples[index].pieces) + 2 for index in chosen])
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
                if batch and (len(batch) + 1) * padded(int(lengths[member])) > budget:
                    batches.append(batch)
                    batch = []
                batch.append(int(chosen[member]))
            if batch:
                batches.append(batch)
            pool, filled = [], 0
    return batches


def collate(examples: Sequence[Example], specials: Specials) -> LearnBatch:
    """One batch from its examples."""
    length = padded(max(len(example.pieces) for example in examples) + 2)
    ids = np.full((len(examples), length), specials.pad, dtype=np.int64)
    mask = np.zeros((len(examples), length), dtype=np.int64)
    ids[:, 0] = specials.before
    first, words = [], 0
    rows: dict[str, list[NDArray[np.int64]]] = {}
    labels: dict[str, list[NDArray[np.int32]]] = {}
    for row, example in enumerate(examples):
        size = len(example.pieces)
        ids[row, 1 : size + 1] = example.pieces.ids
        ids[row, size + 1] = specials.after
        mask[row, : size + 2] = 1
        first.append(example.pieces.first.astype(np.int64) + (row * length + 1))
        for head, values in example.labels.items():
            known = np.flatnonzero(values != MASKED)
            rows.setdefault(head, []).append(known + words)
            labels.setdefault(head, []).append(values[known])
        words += example.pieces.words
    targets = {
        head: HeadTarget(np.concatenate(rows[head]), np.concatenate(labels[head]).astype(np.int64))
        for head in sorted(rows)
    }
    return LearnBatch(ids, mask, np.concatenate(first), targets)
