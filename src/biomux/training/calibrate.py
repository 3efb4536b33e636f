"""Calibration at export: for each head a temperature, and for each of its types the scores that keep a precision.

Both are fitted on the development data that the gate is measured on, with the graph that is shipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biomux.engine.annotator import softmax
from biomux.engine.packing import pack
from biomux.errors import ScoreError
from biomux.scoring.calibration import thresholds
from biomux.scoring.temperature import fit_temperature
from biomux.tasks.tagging import reading_ranges
from biomux.text import tokens as text_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.entity_types import Curve
    from biomux.tasks.tagging import Tagging
    from biomux.text.tokens import Pieces

PRECISIONS = (*(step / 100 for step in range(50, 100)), 0.995)
"""The precisions for which a threshold is looked for."""

AT_LEAST = 20
"""A threshold that keeps fewer answers proves nothing."""

DIGITS = 4
"""Digits of a score, as the annotator gives them."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a head says about a sentence, and what it should say."""

    pieces: Pieces
    logits: NDArray[np.float32]
    labels: NDArray[np.int32]
    gold: frozenset[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class Answers:
    """The mentions of a type that a head found: how sure it was, and whether each was right."""

    scores: tuple[float, ...] = ()
    right: tuple[bool, ...] = ()

    def __add__(self, other: Answers) -> Answers:
        return Answers(self.scores + other.scores, self.right + other.right)


def read(annotator: Annotator, task: Tagging, documents: Iterable[Document]) -> list[Sentence]:
    """The sentences of documents with a head's logits. Those that are longer than a window are left out."""
    pieces: list[Pieces] = []
    gold: list[list[tuple[int, int, str]]] = []
    labels: list[NDArray[np.int32]] = []
    for document in documents:
        ranges = reading_ranges(document, task.longest)
        for found, (start, end) in zip(
            text_pieces.split(annotator.tokenizer, document.text, ranges), ranges, strict=True
        ):
            if 0 < len(found) <= annotator.limit:
                inside = [span for span in document.spans if span.start < end and start < span.end]
                pieces.append(found)
                labels.append(task.encode(inside, found).labels)
                gold.append([(span.start, span.end, span.type) for span in inside])
    logits: list[NDArray[np.float32]] = [np.zeros((0, len(task.labels)), np.float32)] * len(pieces)
    for batch in pack(pieces, specials=annotator.specials, budget=annotator.budget):
        rows = annotator.session.run(batch)[task.name]
        for member, part in zip(batch.windows, np.split(rows, np.cumsum(batch.words)[:-1]), strict=True):
            logits[int(member)] = part
    return [
        Sentence(one, said, wanted, frozenset(known))
        for one, said, wanted, known in zip(pieces, logits, labels, gold, strict=True)
    ]


def temperature(found: Sequence[Sentence]) -> float:
    """The temperature of a head; 1 where there is nothing to fit it on."""
    try:
        return fit_temperature(
            np.concatenate([one.logits for one in found]), np.concatenate([one.labels for one in found])
        ).value
    except (ScoreError, ValueError):
        return 1.0


def answers(task: Tagging, found: Sequence[Sentence], heat: float) -> dict[str, Answers]:
    """Type → the mentions that a head finds."""
    scores: dict[str, list[float]] = {type_: [] for type_ in task.types}
    right: dict[str, list[bool]] = {type_: [] for type_ in task.types}
    for one in found:
        for span in task.decode(softmax(one.logits, heat), one.pieces):
            scores[span.type].append(min(1.0, round(span.score or 0.0, DIGITS)))
            right[span.type].append((span.start, span.end, span.type) in one.gold)
    return {type_: Answers(tuple(scores[type_]), tuple(right[type_])) for type_ in task.types}


def curve(given: Answers, *, at_least: int = AT_LEAST) -> Curve:
    """For each of PRECISIONS that is reached the lowest score that keeps it, and what is kept from there on; by rising score."""
    if not given.scores:
        return ()
    usable = [one for one in thresholds(given.scores, given.right) if one.number >= at_least]
    points: dict[float, float] = {}
    for wanted in PRECISIONS:
        fitting = [one for one in usable if one.precision >= wanted]
        if fitting:
            points[round(fitting[-1].score, DIGITS)] = int(fitting[-1].precision * 10_000) / 10_000
    return tuple(sorted(points.items()))


def pooled(sources: Iterable[tuple[str, str]], found: Mapping[tuple[str, str], Answers]) -> Curve:
    """The curve of a plain type: over the answers of all heads behind it, each on its own corpus."""
    return curve(sum((found.get(source, Answers()) for source in sources), Answers()))
