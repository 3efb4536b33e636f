"""Classification: one class, or several, of a document, of each sentence, or of a pair of texts.

Gold classes are the document's labels: without a place for documents and pairs, with one for sentences. A long text is read in windows,
each learning the text's classes; of what they say the mean counts (one class) or the largest (several).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Label
from biomux.errors import TrainingError
from biomux.scoring.counts import CountTally
from biomux.scoring.means import Mean
from biomux.tasks import text_inputs
from biomux.tasks.examples import Labels
from biomux.tasks.softmax import sigmoid, softmax
from biomux.tasks.task import Evaluation, rows_of
from biomux.text import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.scoring.counts import Table
    from biomux.scoring.document_rows import DocumentRows
    from biomux.tasks.examples import ModelInput


@dataclass(frozen=True, slots=True)
class Classification:
    """Classes of documents, sentences or pairs.

    `several` allows any number of classes at once. `negative` are classes that count for nothing in F1. `none`, if given, is the class
    of a text without a label; otherwise such a text is left out and counted. `main` names the figure by which runs are chosen.

    >>> task = Classification("gad", ("0", "1"), negative=("0",), main="f1")
    >>> task.labels, task.objective
    (('0', '1'), 'cross-entropy')
    """

    name: str
    classes: tuple[str, ...]
    of: Literal["document", "sentence", "pair"] = "document"
    several: bool = False
    negative: tuple[str, ...] = ()
    none: str | None = None
    main: str = ""
    kind: Literal["classification"] = "classification"

    @classmethod
    def of_documents(
        cls, name: str, documents: Iterable[Document], *, classes: tuple[str, ...] | None = None, **settings: Any
    ) -> Classification:
        """The task of these classes, or of all that the documents' labels name in the right places."""
        placed = settings.get("of") == "sentence"
        names = {
            label.name
            for document in documents
            for label in document.labels
            if label.value is None and (label.start is not None) == placed
        }
        if settings.get("none") is not None:
            names.add(settings["none"])
        if not classes and not names:
            raise TrainingError(
                "BX404", f"the training documents of {name!r} have no label", hint="check its corpus and split"
            )
        return cls(name, tuple(classes or sorted(names)), **settings)

    @property
    def unit(self) -> Literal["window"]:
        """A text as a whole."""
        return "window"

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes."""
        return self.classes

    @property
    def objective(self) -> str:
        """Each class by itself where there may be several."""
        return "binary-cross-entropy" if self.several else "cross-entropy"

    @property
    def facts(self) -> dict[str, str]:
        """What a score's signature says of the task."""
        facts = {"of": self.of, "classes": "several" if self.several else "one"}
        return {**facts, **({"negative": "+".join(self.negative)} if self.negative and not self.several else {})}

    @property
    def reads(self) -> text_inputs.Sentences | text_inputs.Texts | text_inputs.TextPair:
        """Sentences, as taggers do; whole texts; or pairs of texts."""
        if self.of == "sentence":
            return text_inputs.Sentences()
        return text_inputs.Texts() if self.of == "document" else text_inputs.TextPair()

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """An input for each text, or for each window of a long one."""
        return self.reads.inputs(document, tokenizer, limit=limit, counts=counts)

    def targets(self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]) -> list[Labels | None]:
        """The classes of the text that each input is of, or is a window of."""
        values = [self._values(self._gold(document, input_.part), counts) for input_ in inputs]
        return [None if value is None else Labels("window", value) for value in values]

    def _parts(self, document: Document) -> Sequence[Range]:
        return sentences.of(document) if self.of == "sentence" else [(0, len(document.text))]

    def _gold(self, document: Document, part: Range) -> list[str]:
        """The classes of a part: labels without a place, or those whose place overlaps the sentence."""
        names = []
        for label in document.labels:
            if label.name not in self.classes or label.value is not None or label.head is not None:
                continue
            placed = label.start is not None and label.end is not None
            here = placed and label.start < part[1] and part[0] < label.end  # type: ignore[operator]
            if here if self.of == "sentence" else not placed:
                names.append(label.name)
        names = list(dict.fromkeys(names))
        return [self.none] if not names and self.none is not None and not self.several else names

    def _values(self, names: Sequence[str], counts: Counter[str]) -> NDArray[Any] | None:
        if self.several:
            return np.array([[float(name in names) for name in self.classes]], dtype=np.float32)
        if not names:
            counts["texts without a class"] += 1
            return None
        if len(names) > 1:
            counts["classes beyond a text's first"] += len(names) - 1
        return np.array([self.classes.index(names[0])], dtype=np.int32)

    def bare(self, document: Document) -> Document:
        """The document without labels."""
        return replace(document, labels=())

    def decode(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with a label for each part: the most probable class, or all that are more likely than not."""
        by_part: dict[Range, list[NDArray[np.float32]]] = {}
        for input_, rows in zip(inputs, outputs, strict=True):
            chances = sigmoid(rows) if self.several else softmax(rows)
            by_part.setdefault(input_.part, []).append(chances[0])
        added = []
        for (start, end), windows in by_part.items():
            chances = np.max(windows, axis=0) if self.several else np.mean(windows, axis=0)
            chosen = np.flatnonzero(chances > 0.5) if self.several else [int(chances.argmax())]
            place = {"start": start, "end": end} if self.of == "sentence" else {}
            for index in chosen:
                score = float(chances[index])
                added.append(Label(self.classes[index], score=score, head=self.name, **place))
        return replace(document, labels=(*document.labels, *added))

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        """Accuracy, micro- and macro-F1 over texts; with several classes of sentences also over documents, by the union of sentences.

        Where a document has many texts (sentences), standard errors are still over documents.
        """
        negative = frozenset() if self.several else frozenset(self.negative)
        texts, classes, unions = CountTally(), CountTally(), CountTally()
        example, left_out = Mean(), Counter[str]()
        each: list[tuple[list[int], dict[str, list[int]], list[int]]] = []
        for gold_document, predicted_document in zip(gold, predicted, strict=True):
            hits, counts, sides = [0, 0, 0], dict[str, list[int]](), (set[str](), set[str]())
            for wanted, answered in self._answered(gold_document, predicted_document):
                sides[0].update(wanted)
                sides[1].update(answered)
                if not wanted and not self.several:
                    left_out["texts without a class"] += 1
                    continue
                hits[wanted != answered] += 1
                for name in (wanted | answered) - negative:
                    before = counts.get(name, [0, 0, 0])
                    counts[name] = [old + new for old, new in zip(before, _cell(name, wanted, answered), strict=True)]
                both = len(wanted) + len(answered)
                example += Mean.of(2 * len(wanted & answered) / both if both else 1.0)
            left_out["labels of other classes"] += sum(
                label.value is None and label.name not in self.classes for label in gold_document.labels
            )
            union = {name: _cell(name, *sides) for name in sides[0] | sides[1]}
            for tally, document_counts in ((texts, {"texts": hits}), (classes, counts), (unions, union)):
                tally.add(document_counts)
            each.append((hits, counts, [sum(cells) for cells in zip([0, 0, 0], *union.values(), strict=True)]))
        table, share = classes.table(len(gold)), texts.table(len(gold))
        figures = {"f1": table.f1, "macro_f1": table.macro.f1}
        if self.several:
            figures |= {"exact": share.precision, "document_f1": unions.table(len(gold)).f1}
        else:
            figures |= {"accuracy": share.precision}
        main = self.main or ("f1" if self.several else "accuracy")
        number = texts.all[0] + texts.all[1]
        made = self._table(table, share, example, unions.table(len(gold)), number)
        return Evaluation(
            main,
            figures,
            self._rows(main, gold, each),
            [{"counts": {"labels": counts}} for _, counts, _ in each],
            {"labels": made},
            left_out,
            number,
        )

    def _answered(self, gold: Document, predicted: Document) -> Iterator[tuple[set[str], set[str]]]:
        """Gold and predicted classes of each text; where there is one class each, the first counts."""
        labels = [label for label in predicted.labels if label.head == self.name]
        for part in self._parts(gold):
            place = part if self.of == "sentence" else (None, None)
            names = [label.name for label in labels if (label.start, label.end) == place]
            wanted = self._gold(gold, part)
            yield (set(wanted), set(names)) if self.several else (set(wanted[:1]), set(names[:1]))

    def _table(self, table: Table, share: Table, example: Mean, unions: Table, number: int) -> dict[str, Any]:
        """The table of `scores.json`."""
        error = None if math.isnan(share.errors.precision) else share.errors.precision
        if not self.several:
            whole = {"accuracy": share.precision, "accuracy_error": error, "documents": number}
            return {"kind": "one", **whole, **table.to_json()}
        example_f1 = example.to_json()
        exact = {"value": share.precision, "error": error, "number": number}
        made = {"kind": "sets", "documents": number, "exact": exact, "example_f1": example_f1, **table.to_json()}
        if self.of == "sentence":
            example_f1["error"] = None  # it would be over sentences
            made["by_document"] = unions.to_json()["micro"]
        return made

    def _rows(
        self, main: str, gold: Sequence[Document], each: Sequence[tuple[list[int], dict[str, list[int]], list[int]]]
    ) -> DocumentRows | None:
        """The rows of the main figure."""
        if main in ("accuracy", "exact"):
            return rows_of("mean", gold, [(hits[0], hits[0] + hits[1]) for hits, _, _ in each])
        if main == "document_f1":
            return rows_of("f1", gold, [union for _, _, union in each])
        classes = self.classes if self.several else tuple(name for name in self.classes if name not in self.negative)
        cells = [[counts.get(name, [0, 0, 0]) for name in classes] for _, counts, _ in each]
        if main == "macro_f1":
            return rows_of("macro-f1", gold, cells, classes)
        return rows_of("f1", gold, np.sum(cells, axis=1)) if main == "f1" else None


def _cell(name: str, wanted: set[str], answered: set[str]) -> list[int]:
    """tp, fp, fn of one class."""
    return [int(name in wanted and name in answered), int(name not in wanted), int(name not in answered)]
