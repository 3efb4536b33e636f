"""What a task is: what the encoder reads of a document, what is right about it, what the answers add to it, and how right they are.

Every task has the same four methods, whatever it predicts; training, the annotator, evaluation and export ask for no other.

    inputs(document)                    rows for the encoder
    targets(document, inputs)           what is right about each row
    decode(document, inputs, outputs)   the document with what the head's outputs say
    evaluate(gold, predicted)           figures, rows and counts of documents

Tasks know nothing of torch. A task is frozen data: its fields are what a run or a bundle writes down to build it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from biomux.scoring.document_rows import DocumentRows, figure_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Span
    from biomux.tasks.examples import Labels, Masking, ModelInput, Unit


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How right a task's answers about some documents are.

    | field | holds |
    |---|---|
    | main, figures | every figure by name, and the one by which runs are chosen |
    | rows | numbers of each document whose sums give the main figure: systems are compared by them; None if it has none |
    | counts | what else of each document goes to `counts.jsonl`, as `{"counts": {"labels": {"yes": [1, 0, 0]}}}` (tp, fp, fn) |
    | tables | the tables of `scores.json`, with standard errors |
    | left_out | what could not be scored, and how often |
    | scored | how many things were scored: 0 if the documents have nothing that the task is about |
    """

    main: str
    figures: Mapping[str, float]
    rows: DocumentRows | None = None
    counts: Sequence[Mapping[str, Any]] = ()
    tables: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    scored: int = 1

    @classmethod
    def of_rows(cls, main: str, figure: str, documents: Sequence[Document], values: Any) -> Evaluation:
        """One figure, from a row of numbers for each document (`biomux.scoring.document_rows` has the kinds of rows).

        >>> from biomux.document import Document
        >>> Evaluation.of_rows("accuracy", "mean", [Document("1", "a"), Document("2", "b")], [[1, 1], [0, 1]]).value
        0.5
        """
        rows = rows_of(figure, documents, values)
        return cls(main, {main: figure_of([rows])}, rows, scored=int(rows.values.any()))

    @property
    def value(self) -> float:
        """The main figure; 0 where it is not defined."""
        figure = self.figures[self.main]
        return 0.0 if math.isnan(figure) else figure

    def to_json(self) -> dict[str, Any]:
        """What `scores.json` says of the task: its tables, the main figure and how rows give it, what was left out."""
        kind, classes = (None, ()) if self.rows is None else (self.rows.figure, self.rows.classes)
        main = {"metric": self.main, "value": self.value, "rows": kind, "classes": list(classes)}
        left_out = {reason: number for reason, number in self.left_out.items() if number}
        return {**self.tables, "main": main, **({"left_out": left_out} if left_out else {})}

    def document_rows(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The rows of `counts.jsonl`, one for each of the documents that were scored."""
        rows = None if self.rows is None else self.rows.to_json()["rows"]
        return [
            {
                "id": id_,
                "counts": {},
                **(self.counts[place] if self.counts else {}),
                **({} if rows is None else {"row": rows[place]}),
            }
            for place, id_ in enumerate(ids)
        ]


def rows_of(figure: str, documents: Iterable[Document], values: Any, classes: tuple[str, ...] = ()) -> DocumentRows:
    """A row of numbers for each document."""
    ids = tuple(document.id for document in documents)
    wanted = {"f1": (3,), "macro-f1": (len(classes), 3), "mean": (2,), "pearson": (6,)}.get(figure, ())
    return DocumentRows(figure, ids, np.array(values, dtype=np.float64).reshape(len(ids), *wanted), classes)


class Task(Protocol):
    """What every task has. `objective` names the loss that its head learns by, unless the head names another.

    A task may have these too:

    | attribute | means |
    |---|---|
    | reads | tasks for which it is equal have the same inputs, which are then made and encoded once for all of them |
    | reads_spans | True: what is read depends on the document's spans, so taggers are asked first |
    | positive | the lowest label that says that there is something; training refuses documents without any |
    | for_training | True: it serves training, and no corpus says what is right |
    | facts | what the signature of its scores says besides its kind and main figure |
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def objective(self) -> str: ...

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterable[ModelInput]:
        """The rows to read for a document, none longer than the limit and two special tokens. What is left out or cut is counted."""

    def targets(
        self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]
    ) -> Sequence[Labels | Masking | None]:
        """What is right about each input, or how tokens are hidden anew whenever it is read; None where nothing can be learned from it."""

    def bare(self, document: Document) -> Document:
        """The document without what the task is to predict."""

    def decode(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with what the head says: a head's logits for each input, shaped by the unit (`biomux.tasks.examples.Unit`)."""

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        """Score predicted documents, in the order of the gold ones."""


class SpanTask(Task, Protocol):
    """A task that finds spans of types: its types can be asked for and merged with those of others, and a threshold kept.

    What it finds in one part of a text depends on the inputs of that part alone, so the annotator decodes parts as they come.
    A task may also have `word_spans` and `placed`, as `Tagging` has: sentences of a batch are then decoded together, which is faster.
    """

    @property
    def types(self) -> tuple[str, ...]: ...

    def mentions(self, text: str, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]) -> list[Span]:
        """The spans of one part of a text, from its input, or its windows in order."""


def finds_spans(task: Task) -> TypeGuard[SpanTask]:
    """Whether a task finds spans of types.

    >>> from biomux.tasks import Answers, Tagging
    >>> finds_spans(Tagging("drugs", ("Chemical",))), finds_spans(Answers("asked"))
    (True, False)
    """
    return hasattr(task, "mentions")
