"""Calibration at export: for each head a temperature, and for each of its types or labels the scores that reach a precision, and the threshold of the best F1.

All are fitted on the development data that quantization is checked on, with the graph that is shipped. A head that gives a number has
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
"""The precisions for which a threshold is sought."""

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
    """The mentions of a type that a head found: the score of each, and whether it was right. `gold` is the number in the gold standard."""

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
        for sentence_tokens, (start, end) in zip(
            text_tokens.split(annotator.tokenizer, document.text, ranges), ranges, strict=True
        ):
            if 0 < len(sentence_tokens) <= annotator.limit:
                inside = [span for span in document.spans if span.start < end and start < span.end]
                tokens.append(sentence_tokens)
                texts.append(document.text)
                labels.append(task.encode(inside, sentence_tokens).labels)
                gold.append([(span.start, span.end, span.type) for span in inside])
    logits: list[NDArray[np.float32]] = [np.zeros((0, len(task.labels)), np.float32)] * len(tokens)
    for batch in pack(
        [ModelInput(sentence) for sentence in tokens], specials=annotator.specials, budget=annotator.budget
    ):
        rows = annotator.session.run(replace(batch, heads=frozenset({task.name})))[task.name]
        for member, part in zip(batch.windows, np.split(rows, np.cumsum(batch.words)[:-1]), strict=True):
            logits[int(member)] = part
    return [
        Sentence(split, head_logits, gold_labels, frozenset(gold_spans), text)
        for split, head_logits, gold_labels, gold_spans, text in zip(tokens, logits, labels, gold, texts, strict=True)
    ]


def temperature(found: Sequence[Sentence]) -> float:
    """The temperature of a head; 1 if there is nothing to fit it on."""
    try:
        return fit_temperature(
            np.concatenate([sentence.logits for sentence in found]),
            np.concatenate([sentence.labels for sentence in found]),
        ).value
    except (ScoreError, ValueError):
        return 1.0


def temperature_of(annotator: Annotator, task: Task, documents: Sequence[Document]) -> float:
    """The temperature of a head that does not tag, fitted on what it would be trained on; 1 if there is nothing to fit."""
    examples = make(task, documents, annotator.tokenizer, limit=annotator.limit).examples
    logits: list[NDArray[np.float32]] = []
    labels: list[NDArray[np.int64]] = []
    inputs = [example.input for example in examples]
    for batch in pack(inputs, specials=annotator.specials, budget=annotator.budget, heads=frozenset({task.name})):
        head_logits = annotator.session.run(batch)[task.name]
        batch_examples = [examples[int(member)] for member in batch.windows]
        for rows, right in _choices(
            task.unit, head_logits, [(example.input, example.labels[task.name].values) for example in batch_examples]
        ):
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
    unit: Unit, head_logits: NDArray[np.float32], labelled: Sequence[tuple[ModelInput, NDArray[Any]]]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """The choices that were made: logits (choices × options) and the right option of each."""
    if unit == "answer":
        for rows, (reading, (first, last)) in zip(head_logits, labelled, strict=True):
            places = [0 if word < 0 else reading.begin + int(reading.tokens.first[word]) for word in (first, last)]
            yield rows.T, np.array(places)
        return
    values = np.concatenate([right for _, right in labelled]) if labelled else np.zeros(0)
    if values.dtype.kind == "f":
        # Each label by itself: present or not. A single number is not a choice.
        if head_logits.shape[1] > 1:
            flat = head_logits.reshape(-1, 1)
            yield np.concatenate([np.zeros_like(flat), flat], axis=1), values.reshape(-1).astype(np.int64)
        return
    yield head_logits, values.astype(np.int64)


def answers(task: Tagging, found: Sequence[Sentence], heat: float) -> dict[str, TypeAnswers]:
    """Type → the mentions that a head finds."""
    scores: dict[str, list[float]] = {type_: [] for type_ in task.types}
    right: dict[str, list[bool]] = {type_: [] for type_ in task.types}
    for sentence in found:
        for span in task.entities(sentence.logits / np.float32(heat), sentence.tokens, sentence.text):
            scores[span.type].append(min(1.0, round(span.score or 0.0, DIGITS)))
            right[span.type].append((span.start, span.end, span.type) in sentence.gold)
    gold = Counter(type_ for sentence in found for _, _, type_ in sentence.gold)
    return {type_: TypeAnswers(tuple(scores[type_]), tuple(right[type_]), gold[type_]) for type_ in task.types}


def answers_of(task: Task, gold: Sequence[Document], said: Sequence[Document]) -> dict[str, TypeAnswers]:
    """Class or type of relation → what a head that does not tag finds. Each answer is scored by itself, as the task scores documents; empty for a task that does not count by label."""
    label_names = names(task)
    scores: dict[str, list[float]] = {name: [] for name in label_names}
    right: dict[str, list[bool]] = {name: [] for name in label_names}
    gold_counts: Counter[str] = Counter()
    for gold_document, answered in zip(gold, said, strict=True):
        bare = task.bare(answered)
        for name, counts in _counts(task, gold_document, bare).items():
            gold_counts[name] += counts[2]
        scored_alone = [
            (relation.type, relation.score, replace(bare, relations=(relation,)))
            for relation in answered.relations
            if relation.head == task.name
        ]
        scored_alone += [
            (label.name, label.score, replace(bare, labels=(label,)))
            for label in answered.labels
            if label.head == task.name
        ]
        for name, score, alone in scored_alone:
            if name in scores:
                scores[name].append(min(1.0, round(score or 0.0, DIGITS)))
                right[name].append(_counts(task, gold_document, alone).get(name, (0, 0, 0))[0] > 0)
    return {
        name: TypeAnswers(tuple(scores[name]), tuple(right[name]), gold_counts[name])
        for name in label_names
        if scores[name]
    }


def leaves_out(task: Task) -> bool:
    """Whether a task may give no answer, so that an uncertain one can be left out: not if every text has exactly one class."""
    return task.objective == "binary-cross-entropy" or len(names(task)) < len(task.labels)


def _counts(task: Task, gold: Document, predicted: Document) -> Mapping[str, Sequence[int]]:
    """Right, spurious and missed answers about a document, by label."""
    counted = task.evaluate([gold], [predicted]).counts
    by_matching: Mapping[str, Any] = counted[0].get("counts", {}) if counted else {}
    by_label: Mapping[str, Sequence[int]] = by_matching.get("undirected") or next(iter(by_matching.values()), {})
    return by_label


def curve(given: TypeAnswers, *, at_least: int = AT_LEAST) -> Curve:
    """For each of PRECISIONS that is reached, the lowest score that keeps it and the precision from that score on; by rising score."""
    if not given.scores:
        return ()
    usable = [threshold for threshold in thresholds(given.scores, given.right) if threshold.number >= at_least]
    points: dict[float, float] = {}
    for precision in PRECISIONS:
        fitting = [threshold for threshold in usable if threshold.precision >= precision]
        if fitting:
            points[round(fitting[-1].score, DIGITS)] = int(fitting[-1].precision * 10_000) / 10_000
    return tuple(sorted(points.items()))


def best_threshold(corpora: Sequence[TypeAnswers], *, at_least: int = AT_LEAST) -> float | None:
    """The threshold with the best mean F1 over corpora, all with equal weight; of equal ones the lowest. None if no answer was right.

    Fewer than `at_least` answers prove nothing: then it is 0, which keeps all.

    >>> best_threshold([TypeAnswers((0.2, 0.6, 0.9), (False, True, True), 2)], at_least=1)
    0.6
    """
    if not any(any(type_answers.right) for type_answers in corpora):
        return None
    if sum(len(type_answers.scores) for type_answers in corpora) < at_least:
        return 0.0
    candidates = np.unique(np.concatenate([np.round(type_answers.scores, DIGITS) for type_answers in corpora]))
    sums = np.zeros(len(candidates))
    for type_answers in corpora:
        order = np.argsort(type_answers.scores)
        scores, right = (
            np.round(np.array(type_answers.scores), DIGITS)[order],
            np.array(type_answers.right, dtype=np.float64)[order],
        )
        begins = np.searchsorted(scores, candidates)
        hits = np.append(np.cumsum(right[::-1])[::-1], 0.0)[begins]
        sums += 2 * hits / np.maximum(1, len(scores) - begins + type_answers.gold)
    return float(candidates[int(sums.argmax())])
