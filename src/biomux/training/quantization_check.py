"""The gate of precisions: what each head loses by int8 on development data, and which mix loses little enough.

Both precisions answer the same documents, so that a loss is a difference of pairs, and its error comes from resampling those pairs. `RULE` says when
a loss is too much: what noise does must not cost speed, and with many heads noise alone puts some head beyond any small tolerance.

The last matrices of heads stay fp32 always; they are small. If a mix fails, the first matrices of two-layer heads do too, and the encoder keeps more of its own matrices in fp32, step by
step along `ladder`; the first mix that passes is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import BundleError, UsageError
from biomux.scoring.significance import compare, figure, holm
from biomux.scoring.spans import count
from biomux.training.onnx_graph import matrices
from biomux.training.task_documents import Library

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.recipes.schema import Recipe
    from biomux.training.onnx_graph import Precision

    Counted = NDArray[np.int64]
    """A row for each document: right, spurious, missed."""

TOLERANCE = 0.3
"""Points of F1 that a head may lose."""

CHANCE = 0.05
"""How probable it may be that a mix is refused for what is noise."""

ONE_SIDED = 1.645
"""Standard errors that a mean exceeds by chance in one of twenty cases."""

SAMPLES = 2000
"""Resampled sets of documents behind an error."""

SLACK = 0.005
"""Half a hundredth of a point: sums of floats are not exact."""

RULE = (
    "A mix of precisions is rejected if one head loses significantly more than the tolerance (one-sided paired bootstrap over the documents, "
    "p < 0.05 after Holm's correction for the number of heads), or if the heads lose significantly more than the tolerance on average (one-sided, 95 %)."
)


@dataclass(frozen=True, slots=True)
class PrecisionMix:
    """Precisions of the encoder's matrices: all of one, but for those in `keep`, which are fp32."""

    name: str
    precision: Precision
    keep: frozenset[str] = frozenset()


FP32 = PrecisionMix("fp32", "fp32")


def ladder(layers: int) -> tuple[PrecisionMix, ...]:
    """Mixes with int8, the fastest first."""
    outputs = {matrices(layer)[3] for layer in range(layers)} | {"heads.0"}
    last = outputs | set(matrices(layers - 1))
    half = last | {name for layer in range(layers // 2, layers) for name in matrices(layer)} | {"embeddings.words"}
    return (
        PrecisionMix("int8", "int8"),
        PrecisionMix("int8, feed-forward outputs fp32", "int8", frozenset(outputs)),
        PrecisionMix("int8, feed-forward outputs and last layer fp32", "int8", frozenset(last)),
        PrecisionMix("int8, feed-forward outputs, second half and tokens fp32", "int8", frozenset(half)),
    )


def named(name: str, *, layers: int) -> PrecisionMix:
    """The mix of that name."""
    return next(mix for mix in (FP32, *ladder(layers)) if mix.name == name)


@dataclass(frozen=True, slots=True)
class HeadLoss:
    """What a head loses: `points` of F1, with the standard error of that difference, both from the same documents.

    `low` is the least that it loses in 95 of 100 resampled sets of documents; `p` is the share of sets in which it loses nothing.
    """

    f1: float
    points: float = 0.0
    error: float = 0.0
    low: float = 0.0
    p: float = 1.0


Losses = Mapping[str, HeadLoss]


@dataclass(frozen=True, slots=True)
class QuantizationCheck:
    """What was measured: strict F1 (0..1) of each head at fp32, and its loss with each mix that was tried, the last of which was taken.

    `limit` is the most documents of a head that were read; None if all were.
    """

    chosen: str
    tolerance: float = TOLERANCE
    split: str = ""
    limit: int | None = None
    documents: Mapping[str, int] = field(default_factory=dict)
    fp32: Mapping[str, float] = field(default_factory=dict)
    tried: tuple[tuple[str, Losses], ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def losses(self) -> dict[str, HeadLoss]:
        """What each head loses with the chosen mix."""
        return dict(self.tried[-1][1]) if self.tried else {head: HeadLoss(f1) for head, f1 in self.fp32.items()}

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Heads beyond the tolerance by what may be noise."""
        return tuple(head for head, loss in self.losses.items() if loss.points > self.tolerance + SLACK)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; F1 in points."""
        return {
            "measured": bool(self.fp32),
            "chosen": self.chosen,
            "rule": RULE,
            "tolerance": self.tolerance,
            "split": self.split,
            "limit": self.limit,
            "documents": dict(self.documents),
            "fp32": {head: round(100 * value, 2) for head, value in self.fp32.items()},
            "tried": [
                {
                    "mix": name,
                    "mean_loss": round(mean_of(found), 3),
                    "heads": {head: _rounded(loss) for head, loss in found.items()},
                }
                for name, found in self.tried
            ],
            "loss": {head: round(loss.points, 2) for head, loss in self.losses.items()},
            "unmeasured": list(self.unmeasured),
        }


def choose(
    mixes: Sequence[PrecisionMix],
    reference: Mapping[str, Counted],
    measure: Callable[[PrecisionMix], Mapping[str, Counted]],
    *,
    tolerance: float = TOLERANCE,
) -> tuple[PrecisionMix | None, tuple[tuple[str, Losses], ...]]:
    """The first mix that `RULE` lets pass, None if there is none; and what was measured on the way."""
    tried: list[tuple[str, Losses]] = []
    for mix in mixes:
        found = losses(reference, measure(mix))
        tried.append((mix.name, found))
        if not beyond(found, tolerance) and not too_much_on_average(found, tolerance):
            return mix, tuple(tried)
    return None, tuple(tried)


def losses(reference: Mapping[str, Counted], found: Mapping[str, Counted]) -> dict[str, HeadLoss]:
    """What each head loses, from its counts at fp32 and with a mix, on the same documents in the same order."""
    return {head: loss(rows, found[head]) for head, rows in reference.items()}


def loss(reference: Counted, found: Counted) -> HeadLoss:
    """What a head loses.

    >>> exact = np.array([[2, 0, 0]] * 50)
    >>> told = loss(exact, np.array([[2, 0, 0]] * 45 + [[1, 1, 1]] * 5))
    >>> round(told.points, 2), round(told.error, 1), told.low > 0, told.p < 0.05
    (5.0, 2.1, True, True)
    """
    f1 = float(figure(found.sum(axis=0).astype(np.float64)))
    if np.array_equal(reference, found):
        return HeadLoss(f1)
    told = compare(reference, found, samples=SAMPLES, level=0.9)
    side = told.p_bootstrap / 2
    return HeadLoss(
        f1, 100 * told.difference, 100 * told.error, 100 * told.low, side if told.difference > 0 else 1 - side
    )


def beyond(found: Losses, tolerance: float) -> list[str]:
    """The heads that lose more than the tolerance, and not by noise."""
    corrected = holm([loss.p for loss in found.values()])
    return [
        head
        for (head, loss), p in zip(found.items(), corrected, strict=True)
        if loss.points > tolerance + SLACK and p < CHANCE
    ]


def mean_of(found: Losses) -> float:
    """Points that heads lose on average."""
    return sum(loss.points for loss in found.values()) / max(1, len(found))


def too_much_on_average(found: Losses, tolerance: float) -> bool:
    """Whether the heads lose more than the tolerance on average, and not by noise; their errors count as independent."""
    mean, error = mean_of(found), math.hypot(*(loss.error for loss in found.values())) / max(1, len(found))
    return mean > tolerance + SLACK and mean - min(0.0, tolerance) >= ONE_SIDED * error


def refused(tried: Sequence[tuple[str, Losses]], tolerance: float) -> BundleError:
    """The error for when no mix will do: it names the head that loses most."""
    name, found = tried[-1]
    over = beyond(found, tolerance)
    head = max(over or found, key=lambda head: found[head].points)
    said = (
        f"head {head!r} loses {found[head].points:.2f} ± {found[head].error:.2f} points of F1"
        if over
        else f"the heads lose {mean_of(found):.2f} points of F1 on average"
    )
    return BundleError(
        "BX542",
        f"{said} even with {name!r}; at most {tolerance:g} are allowed",
        hint="export with --precision fp32 or auto, or raise --tolerance",
    )


def development(
    recipe: Recipe, *, heads: Collection[str] | None = None, directory: Path | None = None, limit: int | None = None
) -> dict[str, list[Document]]:
    """The development documents of each head, or of these, at most `limit` spread over all; heads trained on that split have none."""
    if limit is not None and limit < 1:
        raise UsageError("BX001", f"--limit must be at least 1 document, got {limit}")
    split = recipe.development.split
    library = Library(directory, limit)
    return {
        name: library.part(task, split)
        for name, task in recipe.tasks.items()
        if split not in task.train and task.kind == "tagging" and (heads is None or name in heads)
    }


def counts_of_heads(annotator: Annotator, documents: Mapping[str, Sequence[Document]]) -> dict[str, Counted]:
    """For each head the strict counts of its own documents, one row each."""
    return {head: _counts(annotator, head, gold) for head, gold in documents.items()}


def _counts(annotator: Annotator, head: str, gold: Sequence[Document]) -> Counted:
    bare = (replace(document, spans=(), relations=()) for document in gold)
    rows = np.zeros((len(gold), 3), dtype=np.int64)
    for row, wanted, said in zip(rows, gold, annotator.annotate(bare, heads=[head]), strict=True):
        for counted in count(wanted, said, matchings=("strict",))["strict"].values():
            row += counted
    return rows


def _rounded(loss: HeadLoss) -> dict[str, float]:
    return {
        "f1": round(100 * loss.f1, 2),
        "loss": round(loss.points, 3),
        "error": round(loss.error, 3),
        "low": round(loss.low, 3),
        "p": round(loss.p, 4),
    }
