"""Auxiliary tasks that follow from the mentions themselves: papers D and A.

| which | unit | labels |
|---|---|---|
| has | window | bCLS: whether the sentence has a mention |
| number | window | mCLS: how many it has: 0, 1, 2, more |
| extent | word | mtCLS: whether a word is in a mention of several words, is one by itself, or neither |
| has-any | window | paper A's: whether the paragraph has a mention |

The first three label the sentences of a tagging task (`of`): its own examples when the losses are joint, examples of their own
otherwise. has-any reads passages, or the document where there are none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Label, Span
from biomux.errors import RecipeError, did_you_mean
from biomux.tasks import text_inputs
from biomux.tasks.examples import MASKED, Example, ExampleSet, Labels, ModelInput, Unit
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import Tagging, reading_ranges, types_in
from biomux.tasks.task import Scores
from biomux.text import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range

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
    kind: Literal["auxiliary"] = "auxiliary"

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
        found = types or types_in([span for document in documents for span in document.spans])
        return cls(name, which, tuple(found), **settings)

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

    def examples(self, documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int) -> ExampleSet:
        """Examples of its own, with labels for this head alone."""
        tagger = Tagging(self.of, self.types, self.scheme, longest=self.longest)
        if self.which != "has-any":
            made = tagger.examples(documents, tokenizer, limit=limit, auxiliaries=[self])
            own = [
                replace(example, task=self.name, labels={self.name: example.labels[self.name]})
                for example in made.examples
            ]
            return ExampleSet(own, made.counts)
        made = ExampleSet()
        for document in documents:
            made.counts["documents"] += 1
            for number, (start, end) in enumerate(self._ranges(document)):
                for tokens in text_inputs.windowed(
                    tokenizer, document.text, (start, end), limit=limit, counts=made.counts
                ):
                    tags = tagger.encode(document.spans, tokens).labels
                    labels = {self.name: self.label(tags, tags, self.scheme)}
                    made.examples.append(Example(self.name, ModelInput(tokens), labels, (document.id, number)))
        return made

    def _ranges(self, document: Document) -> tuple[Range, ...]:
        if self.which != "has-any":
            return reading_ranges(document, self.longest)
        passages = [(passage.start, passage.end) for passage in document.passages if passage.end > passage.start]
        return tuple(passages) or ((0, len(document.text)),)

    def bare(self, document: Document) -> Document:
        """The document without spans and labels."""
        return replace(document, spans=(), relations=(), labels=())

    def readings(self, document: Document, tokenizer: Tokenizer, *, limit: int) -> list[ModelInput]:
        """A reading for each range and window; the note is the range."""
        return [
            ModelInput(tokens, note=part)
            for part in self._ranges(document)
            for tokens in text_inputs.windowed(tokenizer, document.text, part, limit=limit, counts=Counter())
        ]

    def decode(
        self, document: Document, readings: Sequence[ModelInput], logits: Sequence[NDArray[np.float32]]
    ) -> Document:
        """A label for each range (of several windows the one that says most), or spans of runs of words of one extent."""
        if self.which == "extent":
            return self._runs(document, readings, logits)
        best: dict[Range, tuple[int, float]] = {}
        for reading, rows in zip(readings, logits, strict=True):
            chances = softmax(rows)[0]
            found = (int(chances.argmax()), float(chances.max()))
            best[reading.note] = max(best.get(reading.note, found), found)
        added = [
            Label(self.labels[index], start=start, end=end, score=score, head=self.name)
            for (start, end), (index, score) in best.items()
        ]
        return replace(document, labels=(*document.labels, *added))

    def _runs(
        self, document: Document, readings: Sequence[ModelInput], logits: Sequence[NDArray[np.float32]]
    ) -> Document:
        found: dict[Range, Span] = {}
        for reading, rows in zip(readings, logits, strict=True):
            chances, tokens = softmax(rows), reading.tokens
            tags = chances.argmax(axis=1)
            at = 0
            while at < len(tags):
                end = at + 1
                while tags[at] == 1 and end < len(tags) and tags[end] == 1:
                    end += 1
                if tags[at]:
                    place = int(tokens.starts[at]), int(tokens.ends[end - 1])
                    score = float(chances[at:end, tags[at]].min())
                    found[place] = Span(*place, self.labels[tags[at]], score=score, head=self.name)
                at = end
        return replace(document, spans=(*document.spans, *found.values()))

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Scores:
        """Accuracy over ranges against what follows from the gold mentions; for the extent, strict F1 of the runs."""
        from biomux.scoring import spans as scoring
        from biomux.scoring.labels import score_labels

        if self.which == "extent":
            derived = [replace(document, spans=self._extents(document), relations=()) for document in gold]
            own = [
                replace(document, spans=tuple(span for span in document.spans if span.head == self.name), relations=())
                for document in predicted
            ]
            found = scoring.score(zip(derived, own, strict=True), matchings=("strict",))["strict"]
            return Scores("f1", {"f1": found.f1, "precision": found.precision, "recall": found.recall})
        pairs = []
        for left, right in zip(gold, predicted, strict=True):
            said = {(one.start, one.end): one.name for one in right.labels if one.head == self.name}
            for start, end in self._ranges(left):
                inside = sum(start <= span.start and span.end <= end for span in left.spans if span.type in self.types)
                wanted = self.labels[min(inside, len(self.labels) - 1)]
                pairs.append((wanted, said.get((start, end))))
        scores = score_labels(pairs)
        return Scores("accuracy", {"accuracy": scores.accuracy, "macro_f1": scores.table().macro.f1})

    def _extents(self, document: Document) -> tuple[Span, ...]:
        kept = {(span.start, span.end) for span in document.spans if span.type in self.types}
        return tuple(
            Span(start, end, self.labels[1 if len(words.split(document.text[start:end])) > 1 else 2])
            for start, end in sorted(kept)
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
