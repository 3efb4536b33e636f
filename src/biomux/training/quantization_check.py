"""The quantization check: what each head loses of its task's main figure with int8 on development data, and which mix of precisions loses little enough.

Both precisions annotate the same documents, so that a loss is a difference of pairs, and its error comes from resampling those pairs. `RULE` says when
a loss is too large: noise must not cost speed, and with many heads, noise alone puts some head beyond any small tolerance.

The last matrices of heads always stay fp32; they are small. If a mix fails, the first matrices of two-layer heads do too, and the encoder keeps more of its own matrices in fp32, step by
step along `ladder`; the first mix that passes is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import BundleError, UsageError
from biomux.scoring.document_rows import DocumentRows, compare_rows, figure_of
from biomux.scoring.significance import holm
from biomux.training.development_scores import predict
from biomux.training.task_documents import Library

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.recipes.schema import Recipe
    from biomux.tasks.task import Task
    from biomux.training.graph.builder import Precision

TOLERANCE = 0.3
"""Points of its main figure (hundredths of F1, accuracy, correlation) that a head may lose."""

TABLES = frozenset({"embeddings.words", "embeddings.rows", "embeddings.vectors"})
"""The names of encoders' tables of vectors."""

CHANCE = 0.05
"""The accepted probability of refusing a mix because of noise."""

ONE_SIDED = 1.645
"""The number of standard errors that a mean exceeds by chance in one of twenty cases."""

SAMPLES = 2000
"""The number of resampled sets of documents for an error."""

SLACK = 0.005
"""Half a hundredth of a point: sums of floats are not exact."""

RULE = (
    "A mix of precisions is rejected if one head loses significantly more than the tolerance (one-sided paired bootstrap over the documents, "
    "p < 0.05 after Holm's correction for the number of heads), or if the heads lose significantly more than the tolerance on average (one-sided, 95 %)."
)


@dataclass(frozen=True, slots=True)
class PrecisionMix:
    """The precision of the encoder's matrices: the same for all, except those in `keep`, which stay fp32."""

    name: str
    precision: Precision
    keep: frozenset[str] = frozenset()


FP32 = PrecisionMix("fp32", "fp32")


def ladder(matrices: Sequence[Sequence[str]], hidden: Collection[str]) -> tuple[PrecisionMix, ...]:
    """Mixes with int8, the fastest first. `matrices` are the encoder's, layer by layer, each layer's output last; `hidden` those of heads."""
    layers = len(matrices)
    outputs = {names[-1] for names in matrices} | set(hidden)
    last = outputs | set(matrices[-1] if matrices else ())
    half = last | {name for names in matrices[layers // 2 :] for name in names} | TABLES
    steps = {
        "int8": frozenset[str](),
        "int8, feed-forward outputs fp32": frozenset(outputs),
        "int8, feed-forward outputs and last layer fp32": frozenset(last),
        "int8, feed-forward outputs, second half and tokens fp32": frozenset(half),
    }
    mixes: list[PrecisionMix] = []
    for name, keep in steps.items():
        if all(keep != mix.keep for mix in mixes) and (matrices or not keep):
            mixes.append(PrecisionMix(name, "int8", keep))
    return tuple(mixes)


@dataclass(frozen=True, slots=True)
class HeadLoss:
    """What a head loses: `points` of its main figure, with the standard error of that difference, both from the same documents.

    `value` is the figure itself, from 0 to 1. `low` is its minimum loss in 95 of 100 resampled sets of documents; `p` is the share of sets in which it loses nothing.
    """

    value: float
    points: float = 0.0
    error: float = 0.0
    low: float = 0.0
    p: float = 1.0


Losses = Mapping[str, HeadLoss]


@dataclass(frozen=True, slots=True)
class QuantizationCheck:
    """What was measured: the main figure (0..1) of each head at fp32, and its loss with each mix that was tried; the last one is used.

    `figures` names that figure: strict F1 for taggers, the task's own main figure for others. `limit` is the maximum number of documents read per head; None if all were.
    """

    chosen: str
    tolerance: float = TOLERANCE
    split: str = ""
    limit: int | None = None
    documents: Mapping[str, int] = field(default_factory=dict)
    fp32: Mapping[str, float] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)
    tried: tuple[tuple[str, Losses], ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def losses(self) -> dict[str, HeadLoss]:
        """What each head loses with the chosen mix."""
        return dict(self.tried[-1][1]) if self.tried else {head: HeadLoss(value) for head, value in self.fp32.items()}

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Heads beyond the tolerance, possibly by chance."""
        return tuple(head for head, loss in self.losses.items() if loss.points > self.tolerance + SLACK)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; figures in points."""
        return {
            "measured": bool(self.fp32),
            "chosen": self.chosen,
            "rule": RULE,
            "tolerance": self.tolerance,
            "split": self.split,
            "limit": self.limit,
            "documents": dict(self.documents),
            "figures": dict(self.figures),
            "fp32": {head: round(100 * value, 2) for head, value in self.fp32.items()},
            "tried": [
                {
                    "mix": name,
                    "mean_loss": round(mean_of(head_losses), 3),
                    "heads": {head: _rounded(loss) for head, loss in head_losses.items()},
                }
                for name, head_losses in self.tried
            ],
            "loss": {head: round(loss.points, 2) for head, loss in self.losses.items()},
            "unmeasured": list(self.unmeasured),
        }


def choose(
    mixes: Sequence[PrecisionMix],
    reference: Mapping[str, DocumentRows],
    measure: Callable[[PrecisionMix], Mapping[str, DocumentRows]],
    *,
    tolerance: float = TOLERANCE,
) -> tuple[PrecisionMix | None, tuple[tuple[str, Losses], ...]]:
    """The first mix that passes `RULE`, or None; and what was measured on the way."""
    tried: list[tuple[str, Losses]] = []
    for mix in mixes:
        head_losses = losses(reference, measure(mix))
        tried.append((mix.name, head_losses))
        if not beyond(head_losses, tolerance) and not too_much_on_average(head_losses, tolerance):
            return mix, tuple(tried)
    return None, tuple(tried)


def losses(reference: Mapping[str, DocumentRows], found: Mapping[str, DocumentRows]) -> dict[str, HeadLoss]:
    """What each head loses, from its counts at fp32 and with a mix, on the same documents in the same order."""
    return {head: loss(rows, found[head]) for head, rows in reference.items()}


def loss(reference: DocumentRows, found: DocumentRows) -> HeadLoss:
    """What a head loses.

    >>> ids = tuple(map(str, range(50)))
    >>> exact = DocumentRows("f1", ids, np.array([[2.0, 0, 0]] * 50))
    >>> head = loss(exact, DocumentRows("f1", ids, np.array([[2.0, 0, 0]] * 45 + [[1, 1, 1]] * 5)))
    >>> round(head.points, 2), round(head.error, 1), head.low > 0, head.p < 0.05
    (5.0, 2.1, True, True)
    """
    value = figure_of([found])
    if np.array_equal(reference.values, found.values):
        return HeadLoss(value)
    comparison = compare_rows([reference], [found], samples=SAMPLES, level=0.9)
    side = comparison.p_bootstrap / 2
    return HeadLoss(
        value,
        100 * comparison.difference,
        100 * comparison.error,
        100 * comparison.low,
        side if comparison.difference > 0 else 1 - side,
    )


def beyond(found: Losses, tolerance: float) -> list[str]:
    """The heads that lose more than the tolerance, and not by chance."""
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
    """Whether the heads lose more than the tolerance on average, and not by chance; their errors are treated as independent."""
    mean, error = mean_of(found), math.hypot(*(loss.error for loss in found.values())) / max(1, len(found))
    return mean > tolerance + SLACK and mean - min(0.0, tolerance) >= ONE_SIDED * error


def refused(tried: Sequence[tuple[str, Losses]], tolerance: float) -> BundleError:
    """The error if no mix passes: it names the head that loses most."""
    name, head_losses = tried[-1]
    over = beyond(head_losses, tolerance)
    head = max(over or head_losses, key=lambda head: head_losses[head].points)
    finding = (
        f"head {head!r} loses {head_losses[head].points:.2f} ± {head_losses[head].error:.2f} points"
        if over
        else f"the heads lose {mean_of(head_losses):.2f} points on average"
    )
    return BundleError(
        "BX542",
        f"{finding} even with {name!r}, but may lose at most {tolerance:g}",
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
        if split not in task.train and (heads is None or name in heads)
    }


def measured(
    annotator: Annotator, tasks: Sequence[Task], documents: Mapping[str, Sequence[Document]]
) -> tuple[dict[str, DocumentRows], dict[str, str]]:
    """For each head with documents, the rows of its main figure on them and the name of that figure; heads whose figure has no rows are left out."""
    rows: dict[str, DocumentRows] = {}
    figures: dict[str, str] = {}
    for task in tasks:
        gold = documents.get(task.name)
        if gold:
            main, head_rows = _scored(task, gold, predict(annotator, task, gold))
            if head_rows is not None:
                rows[task.name], figures[task.name] = head_rows, main
    return rows, figures


def _scored(task: Task, gold: Sequence[Document], predicted: Sequence[Document]) -> tuple[str, DocumentRows | None]:
    evaluation = task.evaluate(gold, predicted)
    return evaluation.main, evaluation.rows


def _rounded(loss: HeadLoss) -> dict[str, float]:
    return {
        "value": round(100 * loss.value, 2),
        "loss": round(loss.points, 3),
        "error": round(loss.error, 3),
        "low": round(loss.low, 3),
        "p": round(loss.p, 4),
    }
