"""The gate of int8: what each head loses by it on development data, and which mix of precisions loses little enough.

The matrices of heads stay fp32 always; they are small. If a head still loses more than the tolerance, the encoder keeps more of its own
matrices in fp32, step by step along `ladder`; the first mix that no head objects to is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from biomux.errors import BundleError, UsageError
from biomux.learn.documents import Library
from biomux.learn.graph import matrices
from biomux.scoring.spans import score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.learn.graph import Precision
    from biomux.recipes.schema import Recipe

TOLERANCE = 0.3
"""Points of F1 that a head may lose."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Precisions of the encoder's matrices: all of one, but for those in `keep`, which are fp32."""

    name: str
    precision: Precision
    keep: frozenset[str] = frozenset()


FP32 = Mix("fp32", "fp32")


def ladder(layers: int) -> tuple[Mix, ...]:
    """Mixes with int8, the fastest first."""
    outputs = {matrices(layer)[3] for layer in range(layers)}
    last = outputs | set(matrices(layers - 1))
    half = last | {name for layer in range(layers // 2, layers) for name in matrices(layer)} | {"embeddings.words"}
    return (
        Mix("int8", "int8"),
        Mix("int8, feed-forward outputs fp32", "int8", frozenset(outputs)),
        Mix("int8, feed-forward outputs and last layer fp32", "int8", frozenset(last)),
        Mix("int8, feed-forward outputs, second half and pieces fp32", "int8", frozenset(half)),
    )


def named(name: str, *, layers: int) -> Mix:
    """The mix of that name."""
    return next(mix for mix in (FP32, *ladder(layers)) if mix.name == name)


@dataclass(frozen=True, slots=True)
class Gate:
    """What was measured: strict F1 (0..1) of each head at fp32 and with each mix that was tried, the last of which was taken."""

    chosen: str
    tolerance: float = TOLERANCE
    split: str = ""
    documents: Mapping[str, int] = field(default_factory=dict)
    fp32: Mapping[str, float] = field(default_factory=dict)
    tried: tuple[tuple[str, Mapping[str, float]], ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def losses(self) -> dict[str, float]:
        """Points of F1 that each head loses with the chosen mix."""
        found = self.tried[-1][1] if self.tried else self.fp32
        return {head: 100 * (self.fp32[head] - found[head]) for head in self.fp32}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; F1 in points."""
        return {
            "measured": bool(self.fp32),
            "chosen": self.chosen,
            "tolerance": self.tolerance,
            "split": self.split,
            "documents": dict(self.documents),
            "fp32": _points(self.fp32),
            "tried": [{"mix": name, "f1": _points(scores)} for name, scores in self.tried],
            "loss": {head: round(loss, 2) for head, loss in self.losses.items()},
            "unmeasured": list(self.unmeasured),
        }


def choose(
    mixes: Sequence[Mix],
    reference: Mapping[str, float],
    measure: Callable[[Mix], Mapping[str, float]],
    *,
    tolerance: float = TOLERANCE,
) -> tuple[Mix | None, tuple[tuple[str, Mapping[str, float]], ...]]:
    """The first mix with which no head loses more than the tolerance, None if there is none; and what was measured on the way."""
    tried: list[tuple[str, Mapping[str, float]]] = []
    for mix in mixes:
        found = measure(mix)
        tried.append((mix.name, found))
        # Half a hundredth of a point of slack: sums of floats are not exact.
        if all(100 * (reference[head] - found[head]) <= tolerance + 0.005 for head in reference):
            return mix, tuple(tried)
    return None, tuple(tried)


def refused(
    tried: Sequence[tuple[str, Mapping[str, float]]], reference: Mapping[str, float], tolerance: float
) -> BundleError:
    """The error for when no mix will do: it names the head that loses most."""
    name, found = tried[-1]
    head = max(reference, key=lambda head: reference[head] - found[head])
    return BundleError(
        "BX542",
        f"head {head!r} loses {100 * (reference[head] - found[head]):.2f} points of F1 even with {name!r}; at most {tolerance:g} are allowed",
        hint="export with --precision fp32 or auto, or raise --tolerance",
    )


def development(
    recipe: Recipe, *, directory: Path | None = None, limit: int | None = None
) -> dict[str, list[Document]]:
    """The development documents of each head, at most `limit` spread over all; heads trained on that split have none."""
    if limit is not None and limit < 1:
        raise UsageError("BX001", f"a limit of {limit} documents measures nothing", hint="give 1 or more")
    split = recipe.development.split
    library = Library(directory, limit)
    return {
        name: library.part(task, split)
        for name, task in recipe.tasks.items()
        if split not in task.train and task.kind == "tagging"
    }


def f1_of_heads(annotator: Annotator, documents: Mapping[str, Sequence[Document]]) -> dict[str, float]:
    """Strict F1 of each head on its own documents."""
    scores = {}
    for head, gold in documents.items():
        bare = (replace(document, spans=(), relations=()) for document in gold)
        found = score(zip(gold, annotator.annotate(bare, heads=[head]), strict=True), matchings=("strict",))["strict"]
        scores[head] = 0.0 if found.f1 != found.f1 else float(found.f1)
    return scores


def _points(scores: Mapping[str, float]) -> dict[str, float]:
    return {head: round(100 * value, 2) for head, value in scores.items()}
