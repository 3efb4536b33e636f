"""The score sheet: takes gold and predicted documents one by one, and scores everything about them that can be scored.

Spans by all matchings, with mistakes and confidence; relations; labels; numbers; answers. What neither side has is left out. Memory
does not grow with the number of documents, except by nine bytes for each span with a score and sixteen for each number.

>>> from biomux.document import Document, Label
>>> sheet = Sheet()
>>> _ = sheet.add(Document("1", "It helps.", labels=(Label("yes"),)), Document("1", "It helps.", labels=(Label("yes"),)))
>>> sheet.to_json()["labels"]["accuracy"]
1.0
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

from biomux.errors import ScoreError
from biomux.scoring.answers import AnswerScores, score_answers
from biomux.scoring.error_analysis import KINDS, MistakeTable, tally
from biomux.scoring.labels import LabelScores, score_sets
from biomux.scoring.numbers import score_numbers
from biomux.scoring.relations import RelationScorer
from biomux.scoring.span_matching import keys
from biomux.scoring.spans import Scorer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from biomux.document import Document, Label, Range
    from biomux.scoring.spans import Ranges

CHUNK = 256
"""Documents whose mistakes are counted together."""
MOST_RESAMPLED = 200_000
"""More scored spans than this get no standard error of ECE: it would take minutes, and be tiny."""

Place = tuple["Range | None", str]


class Sheet:
    """Takes pairs of documents one by one. `examples` mistakes of each class are kept."""

    def __init__(
        self,
        *,
        tokens: Ranges | None = None,
        examples: int = 5,
        negative: Iterable[str] = (),
        directed: bool = False,
    ) -> None:
        self.spans = Scorer(tokens=tokens)
        self.negative = frozenset(negative)
        self.relations = RelationScorer(negative=self.negative, directed=directed)
        self.mistakes = MistakeTable(limit=examples)
        self.answers = AnswerScores()
        self.left_out: Counter[str] = Counter()
        self._has_spans = False
        self._unlabelled = 0
        self._waiting: list[tuple[Document, Document]] = []
        self._scores, self._right = array("d"), array("b")
        self._labels: Counter[tuple[frozenset[str], frozenset[str]]] = Counter()
        self._numbers: dict[str, tuple[array[float], array[float]]] = {}

    @property
    def documents(self) -> int:
        """How many pairs have gone by."""
        return self.spans.documents

    def add(self, gold: Document, predicted: Document) -> dict[str, Any]:
        """Take a pair in; its row for `counts.jsonl` (see `biomux.scoring.document_counts`)."""
        counted = self.spans.add(gold, predicted)
        row: dict[str, Any] = {
            "id": gold.id,
            "counts": {name: rows for name, rows in counted.items() if name != "semeval"},
        }
        if gold.spans or predicted.spans:
            self._has_spans = True
            self._take_confidence(gold, predicted)
            self._waiting.append((gold, predicted))
            if len(self._waiting) >= CHUNK:
                self._count_mistakes()
        if gold.labels or predicted.labels:
            row["counts"]["labels"] = self._take_labels(gold, predicted)
        else:
            self._unlabelled += 1
        if gold.questions:
            row["values"] = self._take_answers(gold, predicted)
        if linked := self.relations.add(gold, predicted):
            row["counts"] |= {"relations": linked["strict"], "undirected": linked["undirected"]}
        return row

    def to_json(self) -> dict[str, Any]:
        """All scores, as plain JSON; kinds that neither side has are left out. If there are none at all, spans are included as 0 of 0."""
        self._count_mistakes()
        made: dict[str, Any] = {"documents": self.documents}
        if self._labels:
            made["labels"] = self._label_scores()
        if self._numbers:
            made["numbers"] = {name: score_numbers(*sides).to_json() for name, sides in sorted(self._numbers.items())}
        if self.answers.questions:
            made["answers"] = {"questions": self.answers.questions, **self.answers.to_json()}
        if self.relations.relations:
            made["relations"] = self.relations.to_json()
        if self._has_spans or len(made) == 1:
            made["spans"] = self._span_scores()
        left_out = {name: number for name, number in self.left_out.items() if number}
        return {**made, **({"left_out": left_out} if left_out else {})}

    def _span_scores(self) -> dict[str, Any]:
        scores = self.spans.scores()
        made = scores.to_json()
        for name, outcomes in scores.outcomes.items():
            made["matchings"]["strict"]["types"][name]["semeval_partial"] = outcomes.figure("partial").f1
        made["mistakes"] = {
            "counts": [
                {"kind": kind, "gold": gold, "predicted": predicted, "number": number}
                for (kind, gold, predicted), number in sorted(self.mistakes.counts.items(), key=_by_number)
            ],
            "kinds": {kind: self.mistakes.of(kind) for kind in KINDS},
            "examples": [example.to_json() for kind in KINDS for example in self.mistakes.examples.get(kind, ())],
        }
        if self._scores:
            from biomux.scoring.calibration import confidence

            samples = 100 if len(self._scores) <= MOST_RESAMPLED else 0
            made["confidence"] = confidence(self._scores, self._right, samples=samples).to_json()
        return made

    def _count_mistakes(self) -> None:
        if self._waiting:
            self.mistakes += tally(self._waiting, examples=self.mistakes.limit)
            self._waiting = []

    def _take_confidence(self, gold: Document, predicted: Document) -> None:
        wanted = keys(gold.spans)
        for span in predicted.spans:
            if span.score is not None:
                if not 0 <= span.score <= 1:
                    raise ScoreError(
                        "BX705",
                        f"scores of spans must be between 0 and 1, got {span.score:g}",
                        where=f"document {gold.id!r}",
                        hint="give probabilities, or no scores",
                    )
                self._scores.append(span.score)
                self._right.append(keys([span]) <= wanted)

    def _take_labels(self, gold: Document, predicted: Document) -> dict[str, list[int]]:
        self._take_numbers(gold, predicted)
        wanted, answered = _classes(gold.labels), _classes(predicted.labels)
        rows: dict[str, list[int]] = {}
        for place in {**wanted, **answered}:
            gold_names, predicted_names = wanted.get(place, frozenset()), answered.get(place, frozenset())
            self._labels[gold_names, predicted_names] += 1
            for name in (gold_names | predicted_names) - self.negative:
                row = rows.setdefault(name, [0, 0, 0])
                row[0 if name in gold_names and name in predicted_names else 1 if name in predicted_names else 2] += 1
        return rows

    def _take_numbers(self, gold: Document, predicted: Document) -> None:
        wanted, answered = _values(gold.labels), _values(predicted.labels)
        for place, value in wanted.items():
            if place not in answered:
                raise ScoreError(
                    "BX701",
                    f"the number {place[1]!r} is in the gold and not in the predictions",
                    where=f"document {gold.id!r}",
                    hint="predict a number of the same name for every document",
                )
            gold_values, predicted_values = self._numbers.setdefault(place[1], (array("d"), array("d")))
            gold_values.append(value)
            predicted_values.append(answered[place])
        self.left_out["numbers that gold does not have"] += len(answered.keys() - wanted.keys())

    def _label_scores(self) -> dict[str, Any]:
        """One class each: accuracy and the table of classes. Else sets of classes."""
        if all(len(gold_names) == 1 and len(predicted_names) <= 1 for gold_names, predicted_names in self._labels):
            cells = {
                (next(iter(gold_names)), next(iter(predicted_names), None)): number
                for (gold_names, predicted_names), number in self._labels.items()
            }
            scores = LabelScores(cells)
            error = scores.accuracy_error
            return {
                "kind": "one",
                "accuracy_error": None if math.isnan(error) else error,
                **scores.to_json(negative=self.negative),
            }
        sets = self._labels + Counter({(frozenset[str](), frozenset[str]()): self._unlabelled})
        pairs = (
            (gold_names - self.negative, predicted_names - self.negative)
            for gold_names, predicted_names in sets.elements()
        )
        return {"kind": "sets", **score_sets(pairs).to_json()}

    def _take_answers(self, gold: Document, predicted: Document) -> dict[str, float]:
        """The means over the document's questions."""
        answered = {question.id: question for question in predicted.questions}
        scores = AnswerScores()
        for question in gold.questions:
            if question.kind == "list":
                self.left_out["list questions"] += 1
                continue
            best = list(answered[question.id].answers) if question.id in answered else []
            if best and all(answer.score is not None for answer in best):
                best.sort(key=lambda answer: -(answer.score or 0.0))
            scores += score_answers([([answer.text for answer in question.answers], [answer.text for answer in best])])
        self.answers += scores
        return {name: getattr(scores, name).value for name in ("strict", "lenient", "mrr", "exact", "f1")}


def _place(label: Label) -> Range | None:
    return None if label.start is None or label.end is None else (label.start, label.end)


def _classes(labels: Iterable[Label]) -> dict[Range | None, frozenset[str]]:
    """Place (None: the whole document) → its classes."""
    by_place: dict[Range | None, set[str]] = {}
    for label in labels:
        if label.value is None:
            by_place.setdefault(_place(label), set()).add(label.name)
    return {place: frozenset(names) for place, names in by_place.items()}


def _values(labels: Iterable[Label]) -> Mapping[Place, float]:
    return {(_place(label), label.name): label.value for label in labels if label.value is not None}


def _by_number(item: tuple[tuple[str, str, str], int]) -> tuple[int, tuple[str, str, str]]:
    return -item[1], item[0]
