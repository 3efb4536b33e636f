"""Classification: one class, or several, of a document, of each sentence, or of a pair of texts.

Gold classes are the document's labels: without a place for documents and pairs, with one for sentences. A long text is read in windows,
each learning the text's classes; of what they say the mean counts (one class) or the largest (several).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Label
from biomux.errors import TrainingError
from biomux.tasks import text_inputs
from biomux.tasks.examples import Example, ExampleSet, Labels, ModelInput
from biomux.tasks.softmax import sigmoid, softmax
from biomux.tasks.task import Scores
from biomux.text import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range


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
        found = {
            label.name
            for document in documents
            for label in document.labels
            if label.value is None and (label.start is not None) == placed
        }
        if settings.get("none") is not None:
            found.add(settings["none"])
        if not classes and not found:
            raise TrainingError(
                "BX404", f"the training documents of {name!r} have no label", hint="check its corpus and split"
            )
        return cls(name, tuple(classes or sorted(found)), **settings)

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

    def examples(self, documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int) -> ExampleSet:
        """An example for each text, or for each window of a long one."""
        made = ExampleSet()
        for document in documents:
            made.counts["documents"] += 1
            numbers: dict[Range, int] = {}
            for reading in self._readings(document, tokenizer, limit, made.counts):
                number = numbers.setdefault(reading.note, len(numbers))
                values = self._values(self._gold(document, reading.note), made.counts)
                if values is not None:
                    labels = {self.name: Labels("window", values)}
                    made.examples.append(Example(self.name, reading, labels, (document.id, number)))
        return made

    def readings(self, document: Document, tokenizer: Tokenizer, *, limit: int) -> list[ModelInput]:
        """A reading for each text or window; the note is its range."""
        return self._readings(document, tokenizer, limit, Counter())

    def _readings(self, document: Document, tokenizer: Tokenizer, limit: int, counts: Counter[str]) -> list[ModelInput]:
        if self.of == "pair":
            found = text_inputs.pair(document, tokenizer, limit=limit, counts=counts)
            return [] if found is None else [replace(found, note=(0, len(document.text)))]
        return [
            ModelInput(tokens, note=part)
            for part in self._parts(document)
            for tokens in text_inputs.windowed(tokenizer, document.text, part, limit=limit, counts=counts)
        ]

    def _parts(self, document: Document) -> Sequence[Range]:
        return sentences.of(document) if self.of == "sentence" else [(0, len(document.text))]

    def _gold(self, document: Document, part: Range) -> list[str]:
        """The classes of a part: labels without a place, or those whose place overlaps the sentence."""
        found = []
        for label in document.labels:
            if label.name not in self.classes or label.value is not None or label.head is not None:
                continue
            placed = label.start is not None and label.end is not None
            here = placed and label.start < part[1] and part[0] < label.end  # type: ignore[operator]
            if here if self.of == "sentence" else not placed:
                found.append(label.name)
        found = list(dict.fromkeys(found))
        return [self.none] if not found and self.none is not None and not self.several else found

    def _values(self, names: Sequence[str], counts: Counter[str]) -> NDArray[Any] | None:
        if self.several:
            return np.array([[float(one in names) for one in self.classes]], dtype=np.float32)
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
        self, document: Document, readings: Sequence[ModelInput], logits: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with a label for each part: the most probable class, or all that are more likely than not."""
        by_part: dict[Range, list[NDArray[np.float32]]] = {}
        for reading, rows in zip(readings, logits, strict=True):
            chances = sigmoid(rows) if self.several else softmax(rows)
            by_part.setdefault(reading.note, []).append(chances[0])
        added = []
        for (start, end), windows in by_part.items():
            chances = np.max(windows, axis=0) if self.several else np.mean(windows, axis=0)
            chosen = np.flatnonzero(chances > 0.5) if self.several else [int(chances.argmax())]
            place = {"start": start, "end": end} if self.of == "sentence" else {}
            for index in chosen:
                score = float(chances[index])
                added.append(Label(self.classes[index], score=score, head=self.name, **place))
        return replace(document, labels=(*document.labels, *added))

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Scores:
        """Accuracy, micro- and macro-F1 over texts; with several classes of sentences also over documents, by the union of sentences."""
        from biomux.scoring.labels import score_labels, score_sets

        pairs, unions = [], []
        for left, right in zip(gold, predicted, strict=True):
            said = [label for label in right.labels if label.head == self.name]
            for part in self._parts(left):
                place = part if self.of == "sentence" else (None, None)
                names = [label.name for label in said if (label.start, label.end) == place]
                pairs.append((self._gold(left, part), names))
            unions.append(
                ({name for part in self._parts(left) for name in self._gold(left, part)}, {x.name for x in said})
            )
        if self.several:
            sets = score_sets(pairs)
            figures = {
                "f1": sets.table.micro.f1,
                "macro_f1": sets.table.macro.f1,
                "exact": sets.exact.value,
                "document_f1": score_sets(unions).table.micro.f1,
            }
            return Scores(self.main or "f1", figures)
        labelled = score_labels((wanted[0], said[0] if said else None) for wanted, said in pairs if wanted)
        table = labelled.table(negative=self.negative)
        figures = {"accuracy": labelled.accuracy, "f1": table.micro.f1, "macro_f1": table.macro.f1}
        return Scores(self.main or "accuracy", figures)
