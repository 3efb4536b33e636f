"""Calibration at export: for each head a temperature, and for each of its types or labels the scores that keep a precision, and the threshold of the best F1.

All are fitted on the development data that the gate is measured on, with the graph that is shipped. A head that gives a number has
no temperature to fit; one that answers questions, or gives every text one class, has no thresholds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine.bundle.heads import names
from biomux.engine.graph_session import NEVER
from biomux.engine.packing import pack
from biomux.errors import ScoreError
from biomux.scoring.calibration import thresholds
from biomux.scoring.temperature import fit_temperature
from biomux.tasks.examples import ModelInput, make
from biomux.text import tokens as text_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.overlaps import Curve
    from biomux.tasks.examples import Unit
    from biomux.tasks.tagging import Tagging
    from biomux.tasks.task import Task
    from biomux.text.tokens import Tokens

PRECISIONS = (*(step / 100 for step in range(50, 100)), 0.995)
"""The precisions for which a threshold is looked for."""

AT_LEAST = 20
"""A threshold that keeps fewer answers proves nothing."""

DIGITS = 4
"""Digits of a score, as the annotator gives them."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a head says about a sentence, and what it should say."""

    tokens: Tokens
    logits: NDArray[np.float32]
    labels: NDArray[np.int32]
    gold: frozenset[tuple[int, int, str]]
    text: str
    """The document's."""


@dataclass(frozen=True, slots=True)
class TypeAnswers:
    """The mentions of a type that a head found: how sure it was, and whether each was right. `gold` is how many there are to find."""

    scores: tuple[float, ...] = ()
    right: tuple[bool, ...] = ()
    gold: int = 0

    def __add__(self, other: TypeAnswers) -> TypeAnswers:
        return TypeAnswers(self.scores + other.scores, self.right + other.right, self.gold + other.gold)


def read(annotator: Annotator, task: Tagging, documents: Iterable[Document]) -> list[Sentence]:
    """The sentences of documents with a head's logits. Those that are longer than a window are left out."""
    tokens: list[Tokens] = []
    texts: list[str] = []
    gold: list[list[tuple[int, int, str]]] = []
    labels: list[NDArray[np.int32]] = []
    for document in documents:
        ranges = task.reads.parts(document)
        for found, (start, end) in zip(
            text_tokens.split(annotator.tokenizer, document.text, ranges), ranges, strict=True
        ):
            if 0 < len(found) <= annotator.limit:
                inside = [span for span in document.spans if span.start < end and start < span.end]
                tokens.append(found)
                texts.append(document.text)
                labels.append(task.encode(inside, found).labels)
                gold.append([(span.start, span.end, span.type) for span in inside])
    logits: list[NDArray[np.float32]] = [np.zeros((0, len(task.labels)), np.float32)] * len(tokens)
    for batch in pack([ModelInput(one) for one in tokens], specials=annotator.specials, budget=annotator.budget):
        rows = annotator.session.run(replace(batch, heads=frozenset({task.name})))[task.name]
        for member, part in zip(batch.windows, np.split(rows, np.cumsum(batch.words)[:-1]), strict=True):
            logits[int(member)] = part
    return [
        Sentence(one, said, wanted, frozenset(known), text)
        for one, said, wanted, known, text in zip(tokens, logits, labels, gold, texts, strict=True)
    ]


def temperature(found: Sequence[Sentence]) -> float:
    """The temperature of a head; 1 where there is nothing to fit it on."""
    try:
        return fit_temperature(
            np.concatenate([one.logits for one in found]), np.concatenate([one.labels for one in found])
        ).value
    except (ScoreError, ValueError):
        return 1.0


def temperature_of(annotator: Annotator, task: Task, documents: Sequence[Document]) -> float:
    """The temperature of a head that does not tag, fitted on what it would learn from; 1 where there is nothing to fit."""
    examples = make(task, documents, annotator.tokenizer, limit=annotator.limit).examples
    logits: list[NDArray[np.float32]] = []
    labels: list[NDArray[np.int64]] = []
    inputs = [example.input for example in examples]
    for batch in pack(inputs, specials=annotator.specials, budget=annotator.budget, heads=frozenset({task.name})):
        said = annotator.session.run(batch)[task.name]
        own = [examples[int(member)] for member in batch.windows]
        for rows, right in _choices(task.unit, said, [(one.input, one.labels[task.name].values) for one in own]):
            logits.append(rows)
            labels.append(right)
    if not logits:
        return 1.0
    widest = max(rows.shape[1] for rows in logits)
    filled = [np.pad(rows, ((0, 0), (0, widest - rows.shape[1])), constant_values=NEVER) for rows in logits]
    try:
        return fit_temperature(np.concatenate(filled), np.concatenate(labels)).value
    except (ScoreError, ValueError):
        return 1.0


def _choices(
    unit: Unit, said: NDArray[np.float32], own: Sequence[tuple[ModelInput, NDArray[Any]]]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """What was chosen among, and what was right: logits (choices × options) and the right option of each."""
    if unit == "answer":
        for rows, (reading, (first, last)) in zip(said, own, strict=True):
            places = [0 if word < 0 else reading.begin + int(reading.tokens.first[word]) for word in (first, last)]
            yield rows.T, np.array(places)
        return
    values = np.concatenate([right for _, right in own]) if own else np.zeros(0)
    if values.dtype.kind == "f":
        # Each label by itself: there, or not. A single number is no choice.
        if said.shape[1] > 1:
            flat = said.reshape(-1, 1)
            yield np.concatenate([np.zeros_like(flat), flat], axis=1), values.reshape(-1).astype(np.int64)
        return
    yield said, values.astype(np.int64)


def answers(task: Tagging, found: Sequence[Sentence], heat: float) -> dict[str, TypeAnswers]:
    """Type → the mentions that a head finds."""
    scores: dict[str, list[float]] = {type_: [] for type_ in task.types}
    right: dict[str, list[bool]] = {type_: [] for type_ in task.types}
    for one in found:
        for span in task.entities(one.logits / np.float32(heat), one.tokens, one.text):
            scores[span.type].append(min(1.0, round(span.score or 0.0, DIGITS)))
            right[span.type].append((span.start, span.end, span.type) in one.gold)
    gold = Counter(type_ for one in found for _, _, type_ in one.gold)
    return {type_: TypeAnswers(tuple(scores[type_]), tuple(right[type_]), gold[type_]) for type_ in task.types}


def answers_of(task: Task, gold: Sequence[Document], said: Sequence[Document]) -> dict[str, TypeAnswers]:
    """Class or type of relation → what a head that does not tag finds. Each answer is scored by itself, as the task scores documents; a task that counts nothing by label has none."""
    known = names(task)
    scores: dict[str, list[float]] = {name: [] for name in known}
    right: dict[str, list[bool]] = {name: [] for name in known}
    wanted: Counter[str] = Counter()
    for left, answered in zip(gold, said, strict=True):
        bare = task.bare(answered)
        for name, counts in _counts(task, left, bare).items():
            wanted[name] += counts[2]
        own = [
            (one.type, one.score, replace(bare, relations=(one,)))
            for one in answered.relations
            if one.head == task.name
        ]
        own += [(one.name, one.score, replace(bare, labels=(one,))) for one in answered.labels if one.head == task.name]
        for name, score, alone in own:
            if name in scores:
                scores[name].append(min(1.0, round(score or 0.0, DIGITS)))
                right[name].append(_counts(task, left, alone).get(name, (0, 0, 0))[0] > 0)
    return {name: TypeAnswers(tuple(scores[name]), tuple(right[name]), wanted[name]) for name in known if scores[name]}


def leaves_out(task: Task) -> bool:
    """Whether a task may say nothing, so that an unsure answer can be left out: not where every text has one class."""
    return task.objective == "binary-cross-entropy" or len(names(task)) < len(task.labels)


def _counts(task: Task, gold: Document, said: Document) -> Mapping[str, Sequence[int]]:
    """Right, spurious and missed answers about a document, by label."""
    counted = task.evaluate([gold], [said]).counts
    found: Mapping[str, Any] = counted[0].get("counts", {}) if counted else {}
    by_label: Mapping[str, Sequence[int]] = found.get("undirected") or next(iter(found.values()), {})
    return by_label


def curve(given: TypeAnswers, *, at_least: int = AT_LEAST) -> Curve:
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


def best_threshold(corpora: Sequence[TypeAnswers], *, at_least: int = AT_LEAST) -> float | None:
    """The score from which on the mean F1 over corpora is best, each counting alike; of equal ones the lowest. None if nothing was ever right.

    Fewer than `at_least` answers prove nothing: then it is 0, and all are kept.

    >>> best_threshold([TypeAnswers((0.2, 0.6, 0.9), (False, True, True), 2)], at_least=1)
    0.6
    """
    if not any(any(given.right) for given in corpora):
        return None
    if sum(len(given.scores) for given in corpora) < at_least:
        return 0.0
    candidates = np.unique(np.concatenate([np.round(given.scores, DIGITS) for given in corpora]))
    sums = np.zeros(len(candidates))
    for given in corpora:
        order = np.argsort(given.scores)
        scores, right = np.round(np.array(given.scores), DIGITS)[order], np.array(given.right, dtype=np.float64)[order]
        begins = np.searchsorted(scores, candidates)
        hits = np.append(np.cumsum(right[::-1])[::-1], 0.0)[begins]
        sums += 2 * hits / np.maximum(1, len(scores) - begins + given.gold)
    return float(candidates[int(sums.argmax())])
