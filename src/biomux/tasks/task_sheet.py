"""Score sheets of heads that do not tag: gold and predicted documents go by, and a task's figures come out, with standard errors over documents.

The figures are those of `Task.score`, by the same definitions. Each document leaves a row for `counts.jsonl`: counts by class or type, and in `row` the
numbers whose sums give the main figure (`biomux.scoring.document_rows`), so that systems can be compared document by document.

>>> from biomux.document import Document, Label
>>> from biomux.tasks.classification import Classification
>>> sheet = sheet_of(Classification("topic", ("yes", "no")))
>>> sheet.add(Document("1", "It helps.", labels=(Label("yes"),)), Document("1", "It helps.", labels=(Label("yes", head="topic"),)))
{'id': '1', 'counts': {'labels': {'yes': [1, 0, 0]}}, 'row': [1, 1]}
>>> sheet.to_json()["main"]
{'metric': 'accuracy', 'value': 1.0, 'rows': 'mean', 'classes': []}
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from biomux.scoring import relations
from biomux.scoring.answers import AnswerScores, score_answers
from biomux.scoring.counts import CountTally
from biomux.scoring.means import Mean
from biomux.scoring.numbers import score_numbers
from biomux.tasks.task_rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from biomux.document import Document
    from biomux.tasks.classification import Classification
    from biomux.tasks.question_answering import Answers
    from biomux.tasks.relation import Relations
    from biomux.tasks.similarity import Similarity
    from biomux.tasks.task import Task


class Figures(Protocol):
    """What the sheet asks of each kind."""

    left_out: Counter[str]

    def add(self, gold: Document, predicted: Document) -> dict[str, Any]:
        """Take a pair in; what its row says besides its id."""

    def scored(self) -> int:
        """How many texts, pairs, relations or questions could be scored."""

    def to_json(self) -> dict[str, Any]:
        """The scores under the name that tables know them by."""

    def main(self) -> tuple[str, float]:
        """The main figure's name and value."""


class TaskSheet:
    """Takes pairs of documents one by one."""

    def __init__(self, task: Task, figures: Figures) -> None:
        self.task, self.figures = task, figures
        self.documents = 0
        self._rows: tuple[str, tuple[str, ...]] | None = None

    @property
    def scored(self) -> int:
        """How many things were scored; 0 if the documents have nothing that the task is about."""
        return self.figures.scored()

    def add(self, gold: Document, predicted: Document) -> dict[str, Any]:
        """Take a pair in; its row for `counts.jsonl`."""
        self.documents += 1
        row = {"id": gold.id, "counts": {}, **self.figures.add(gold, predicted)}
        rows = rows_of(self.task, [gold], [predicted])
        if rows is not None:
            self._rows = rows.figure, rows.classes
            row["row"] = rows.to_json()["rows"][0]
        return row

    def to_json(self) -> dict[str, Any]:
        """All scores, as plain JSON; `main` says which one counts, and how rows give it."""
        name, value = self.figures.main()
        kind, classes = self._rows or (None, ())
        main = {"metric": name, "value": value, "rows": kind, "classes": list(classes)}
        left = {what: number for what, number in self.figures.left_out.items() if number}
        return {
            "documents": self.documents,
            **self.figures.to_json(),
            "main": main,
            **({"left_out": left} if left else {}),
        }


class ClassFigures:
    """Classes of texts. Where a document has many texts (sentences), errors are still over documents."""

    def __init__(self, task: Classification) -> None:
        self.task = task
        self.left_out: Counter[str] = Counter()
        self._negative = frozenset() if task.several else frozenset(task.negative)
        self._documents = 0
        self._texts, self._classes, self._unions = CountTally(), CountTally(), CountTally()
        self._example = Mean()

    def add(self, gold: Document, predicted: Document) -> dict[str, Any]:
        self._documents += 1
        task = self.task
        rows: dict[str, list[int]] = {}
        unions: tuple[set[str], set[str]] = (set(), set())
        right = [0, 0, 0]
        said = [label for label in predicted.labels if label.head == task.name]
        for part in task._parts(gold):
            place = part if task.of == "sentence" else (None, None)
            names = [label.name for label in said if (label.start, label.end) == place]
            wanted = task._gold(gold, part)
            unions[0].update(wanted)
            unions[1].update(names)
            if not wanted and not task.several:
                self.left_out["texts without a class"] += 1
                continue
            left, found = (set(wanted), set(names)) if task.several else (set(wanted[:1]), set(names[:1]))
            right[left != found] += 1
            for name in (left | found) - self._negative:
                one = rows.setdefault(name, [0, 0, 0])
                one[0 if name in left and name in found else 1 if name in found else 2] += 1
            common = len(left & found)
            self._example += Mean.of(2 * common / (len(left) + len(found)) if left or found else 1.0)
        self.left_out["labels of other classes"] += sum(
            label.value is None and label.name not in task.classes for label in gold.labels
        )
        self._texts.add({"texts": right})
        self._classes.add(rows)
        union = unions[0] & unions[1], unions[1] - unions[0], unions[0] - unions[1]
        self._unions.add({name: [int(name in side) for side in union] for name in unions[0] | unions[1]})
        return {"counts": {"labels": rows}}

    def scored(self) -> int:
        return self._texts.all[0] + self._texts.all[1]

    def to_json(self) -> dict[str, Any]:
        texts = self._texts.table(self._documents)
        share = {"value": texts.precision, "error": _number(texts.errors.precision), "number": self.scored()}
        table = self._classes.table(self._documents).to_json()
        if not self.task.several:
            whole = {"accuracy": share["value"], "accuracy_error": share["error"], "documents": share["number"]}
            return {"labels": {"kind": "one", **whole, **table}}
        example = self._example.to_json()
        if self.task.of == "sentence":
            example["error"] = None  # it would be over sentences
        made = {"kind": "sets", "documents": share["number"], "exact": share, "example_f1": example, **table}
        if self.task.of == "sentence":
            made["by_document"] = self._unions.table(self._documents).to_json()["micro"]
        return {"labels": made}

    def main(self) -> tuple[str, float]:
        name = self.task.main or ("f1" if self.task.several else "accuracy")
        table = self._classes.table(self._documents)
        if name in ("accuracy", "exact"):
            return name, self._texts.table(self._documents).precision
        if name == "macro_f1":
            return name, table.macro.f1
        return name, self._unions.table(self._documents).f1 if name == "document_f1" else table.f1


class NumberFigures:
    """A number for each pair."""

    def __init__(self, task: Similarity) -> None:
        self.task = task
        self.left_out: Counter[str] = Counter()
        self._sides: tuple[array[float], array[float]] = (array("d"), array("d"))

    def add(self, gold: Document, predicted: Document) -> dict[str, Any]:
        left, right = self.task._value(gold, None), self.task._value(predicted, self.task.name)
        if left is None or right is None:
            self.left_out["documents without a number, or without a pair of texts,"] += 1
        else:
            self._sides[0].append(left)
            self._sides[1].append(right)
        return {}

    def scored(self) -> int:
        return len(self._sides[0])

    def to_json(self) -> dict[str, Any]:
        return {"numbers": {self.task.label: score_numbers(*self._sides).to_json()}}

    def main(self) -> tuple[str, float]:
        found = score_numbers(*self._sides, samples=0).pearson
        return "pearson", 0.0 if math.isnan(found) else found


class RelationFigures:
    """Relations between mentions that are given.

    `undirected`: over all gold relations of the task's types; those that no sentence holds are misses. `candidates`: over pairs of mentions of the
    right types within a sentence, as BLUE counts ChemProt and DDI. Where the task is between concepts, both are over pairs of concepts.
    """

    def __init__(self, task: Relations) -> None:
        self.task = task
        self.left_out: Counter[str] = Counter()
        self._documents, self._pairs = 0, 0
        self._tallies = {"candidates": CountTally(), "undirected": CountTally()}

    def add(self, gold: Document, predicted: Document) -> dict[str, Any]:
        self._documents += 1
        asked = self.task._asked(gold)
        self._pairs += len(asked)
        wanted, given = self.task._links(gold, None), self.task._links(predicted, self.task.name)
        counts = {}
        for name, tally in self._tallies.items():
            left, right = (
                {
                    (type_, tuple(sorted(ends, key=repr)))
                    for ends, type_ in side
                    if name == "undirected" or ends in asked
                }
                for side in (wanted, given)
            )
            counts[name] = relations.count(left, right)
            tally.add(counts[name])
        for relation in gold.relations:
            if relation.type not in self.task.types and relation.type != self.task.negative:
                self.left_out["relations of other types"] += 1
        return {"counts": counts}

    def scored(self) -> int:
        return self._pairs + sum(self._tallies["undirected"].all[:3])

    def to_json(self) -> dict[str, Any]:
        matchings = {name: tally.table(self._documents).to_json() for name, tally in self._tallies.items()}
        return {"relations": {"pairs": self._pairs, "matchings": matchings}}

    def main(self) -> tuple[str, float]:
        return "f1", self._tallies["undirected"].table(self._documents).f1


class AnswerFigures:
    """Answers to questions."""

    def __init__(self, task: Answers) -> None:
        self.task = task
        self.left_out: Counter[str] = Counter()
        self._scores = AnswerScores()

    def add(self, gold: Document, predicted: Document) -> dict[str, Any]:
        given = {question.id: question for question in predicted.questions}
        own = score_answers(
            (
                [one.text for one in question.answers],
                [one.text for one in given[question.id].answers if one.head == self.task.name],
            )
            for question in gold.questions
        )
        self._scores += own
        if not own.questions:
            return {}
        return {"values": {name: getattr(own, name).value for name in ("strict", "lenient", "mrr", "exact", "f1")}}

    def scored(self) -> int:
        return self._scores.questions

    def to_json(self) -> dict[str, Any]:
        return {"answers": {"questions": self._scores.questions, **self._scores.to_json()}}

    def main(self) -> tuple[str, float]:
        return "f1", self._scores.f1.value


KINDS: Mapping[str, Any] = {
    "classification": ClassFigures,
    "similarity": NumberFigures,
    "relation": RelationFigures,
    "answers": AnswerFigures,
}
"""Kind of task → its figures. Auxiliary tasks and masked words are not here: they serve training, and have no corpus to be right about."""


def sheet_of(task: Task) -> TaskSheet:
    """The sheet of a task whose kind is among KINDS."""
    return TaskSheet(task, KINDS[task.kind](task))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
