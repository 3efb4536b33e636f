"""Auxiliary tasks that follow from the mentions themselves: papers D and A.

| which | unit | labels |
|---|---|---|
| has | window | bCLS: whether the sentence has a mention |
| number | window | mCLS: how many it has: 0, 1, 2, more |
| extent | word | mtCLS: whether a word is in a mention of several words, is one by itself, or neither |
| has-any | window | paper A's: whether the paragraph has a mention |

They label what a tagging task (`of`) reads: its own examples when the losses are joint and both read alike, examples of their own otherwise. `by` says what is
read, as for the tagging task: sentences, or passages (the document where there are none); has-any reads passages unless it is told otherwise.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from biomux.document import Label, Span
from biomux.errors import RecipeError, did_you_mean
from biomux.scoring.labels import LabelScores
from biomux.tasks import text_inputs
from biomux.tasks.examples import MASKED, Labels
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import Tagging, strict_spans, types_in
from biomux.tasks.task import Evaluation, rows_of
from biomux.text import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.tasks.examples import ModelInput, Unit

Which = Literal["has", "number", "extent", "has-any"]

LABELS: dict[str, tuple[str, ...]] = {
    "has": ("no", "yes"),
    "number": ("0", "1", "2", "more"),
    "extent": ("outside", "several words", "one word"),
    "has-any": ("no", "yes"),
}


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """An auxiliary task of the tagging task `of`, whose types are `types`.

    >>> task = Auxiliary("number", "number", ("Disease",), of="ncbi-disease")
    >>> tags = np.array([1, 2, 0, 1])            # B I O B
    >>> task.label(tags, tags, "bio").values.tolist()
    [2]
    """

    name: str
    which: Which
    types: tuple[str, ...]
    of: str = ""
    scheme: Literal["bio", "bioes"] = "bio"
    longest: int | None = None
    by: Literal["sentence", "passage"] | None = None
    kind: Literal["auxiliary"] = "auxiliary"
    for_training: ClassVar[bool] = True

    @classmethod
    def of_documents(
        cls, name: str, documents: Iterable[Document], *, types: tuple[str, ...] | None = None, **settings: Any
    ) -> Auxiliary:
        """The task over the mentions of these types, or of all that the documents have."""
        which = settings.pop("which", None)
        if which not in LABELS:
            raise RecipeError(
                "BX306",
                f"unknown auxiliary task {which!r}",
                where=f"tasks → {name} → settings → which",
                hint=did_you_mean(which, LABELS),
            )
        types_found = types or types_in([span for document in documents for span in document.spans])
        return cls(name, which, tuple(types_found), **settings)

    @property
    def unit(self) -> Unit:
        """Words for the extent of mentions, else the whole reading."""
        return "word" if self.which == "extent" else "window"

    @property
    def labels(self) -> tuple[str, ...]:
        """The label space."""
        return LABELS[self.which]

    @property
    def objective(self) -> str:
        """A softmax in all of them."""
        return "cross-entropy"

    def label(self, seen: NDArray[np.int32], own: NDArray[np.int32], scheme: str) -> Labels:
        """The labels that follow from the tags of a reading: `seen` are all, `own` those that are not masked."""
        begins, lengths = _mentions(seen, scheme)
        if self.which == "extent":
            values = np.zeros(len(seen), dtype=np.int32)
            for begin, length in zip(begins, lengths, strict=True):
                values[begin : begin + length] = 1 if length > 1 else 2
            return Labels("word", np.where(own == MASKED, MASKED, values).astype(np.int32))
        most = 3 if self.which == "number" else 1
        return Labels("window", np.array([min(len(begins), most)], dtype=np.int32))

    @property
    def follows(self) -> str:
        """The tagging task whose examples it labels when losses are joint, if that reads the same."""
        return self.of

    @property
    def reads(self) -> text_inputs.Sentences | text_inputs.Texts:
        """Sentences or passages."""
        by = self.by or ("passage" if self.which == "has-any" else "sentence")
        return text_inputs.Texts(passages=True) if by == "passage" else text_inputs.Sentences(self.longest)

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """An input for each range, or for each window of it."""
        return self.reads.inputs(document, tokenizer, limit=limit, counts=counts)

    def targets(self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]) -> list[Labels]:
        """What follows from the mentions."""
        tagger = Tagging(self.of, self.types, self.scheme, longest=self.longest)
        tags = tagger.tags(document, inputs, counts=counts)
        return [self.label(seen, learned, self.scheme) for seen, learned in tags]

    def bare(self, document: Document) -> Document:
        """The document without spans and labels."""
        return replace(document, spans=(), relations=(), labels=())

    def decode(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        """A label for each range (of several windows the one that says most), or spans of runs of words of one extent."""
        if self.which == "extent":
            return self._runs(document, inputs, outputs)
        best: dict[Range, tuple[int, float]] = {}
        for input_, rows in zip(inputs, outputs, strict=True):
            chances = softmax(rows)[0]
            candidate = (int(chances.argmax()), float(chances.max()))
            best[input_.part] = max(best.get(input_.part, candidate), candidate)
        added = [
            Label(self.labels[index], start=start, end=end, score=score, head=self.name)
            for (start, end), (index, score) in best.items()
        ]
        return replace(document, labels=(*document.labels, *added))

    def _runs(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        spans: list[Span] = []
        for _, group in groupby(zip(inputs, outputs, strict=True), key=lambda pair: pair[0].number):
            tokens, rows = text_inputs.stitched(*zip(*group, strict=True))
            chances = softmax(rows)
            tags = chances.argmax(axis=1)
            at = 0
            while at < len(tags):
                end = at + 1
                while tags[at] == 1 and end < len(tags) and tags[end] == 1:
                    end += 1
                if tags[at]:
                    place = int(tokens.starts[at]), int(tokens.ends[end - 1])
                    score = float(chances[at:end, tags[at]].min())
                    spans.append(Span(*place, self.labels[tags[at]], score=score, head=self.name))
                at = end
        return replace(document, spans=(*document.spans, *spans))

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        """Accuracy over ranges against what follows from the gold mentions; for the extent, strict F1 of the runs."""
        if self.which == "extent":
            derived = [replace(document, spans=self._extents(document), relations=()) for document in gold]
            predicted_extents = [
                replace(document, spans=tuple(span for span in document.spans if span.head == self.name), relations=())
                for document in predicted
            ]
            return strict_spans(derived, predicted_extents)
        cells, rows = Counter[tuple[str, str | None]](), []
        for gold_document, predicted_document in zip(gold, predicted, strict=True):
            answers = {
                (label.start, label.end): label.name for label in predicted_document.labels if label.head == self.name
            }
            cells_here = []
            for start, end in self.reads.parts(gold_document):
                inside = sum(
                    start <= span.start and span.end <= end for span in gold_document.spans if span.type in self.types
                )
                cells_here.append((self.labels[min(inside, len(self.labels) - 1)], answers.get((start, end))))
            cells.update(cells_here)
            rows.append([sum(wanted == answer for wanted, answer in cells_here), len(cells_here)])
        scores = LabelScores(cells)
        figures = {"accuracy": scores.accuracy, "macro_f1": scores.table().macro.f1}
        return Evaluation("accuracy", figures, rows_of("mean", gold, rows), scored=scores.documents)

    def _extents(self, document: Document) -> tuple[Span, ...]:
        extents = {(span.start, span.end) for span in document.spans if span.type in self.types}
        return tuple(
            Span(start, end, self.labels[1 if len(words.split(document.text[start:end])) > 1 else 2])
            for start, end in sorted(extents)
        )


def _mentions(tags: NDArray[np.int32], scheme: str) -> tuple[list[int], list[int]]:
    """First words and lengths of the mentions of a tag sequence; one whose beginning a window cut off begins with the window."""
    stride = 2 if scheme == "bio" else 4
    begins: list[int] = []
    lengths: list[int] = []
    for index, tag in enumerate(tags.tolist()):
        if tag <= 0:
            continue
        position = (tag - 1) % stride
        inner = position == 1 or (stride == 4 and position == 2)
        if inner and begins and begins[-1] + lengths[-1] == index:
            lengths[-1] += 1
        else:
            begins.append(index)
            lengths.append(1)
    return begins, lengths
