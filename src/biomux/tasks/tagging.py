"""Tagging: mentions of types, as a tag for each word.

Labels are O, then B- and I- of each type (scheme "bio"), or B-, I-, E-, S- (scheme "bioes"). One head holds one flat layer of
mentions: of gold mentions that overlap within a head the longer is kept and the other counted as dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from biomux.document import Span
from biomux.errors import TrainingError
from biomux.scoring.counts import Counts
from biomux.tasks import text_inputs, word_spans
from biomux.tasks.best_tags import label_names
from biomux.tasks.examples import MASKED, Labels
from biomux.tasks.task import Evaluation, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.tasks.examples import ModelInput
    from biomux.tasks.word_spans import ByRow, WordSpan
    from biomux.text.tokens import Tokens

__all__ = ["MASKED", "Tagging", "WordLabels", "strict_spans", "types_in"]


@dataclass(frozen=True, slots=True)
class WordLabels:
    """A label for each word, and what could not be expressed: mentions by reason."""

    labels: NDArray[np.int32]
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Tagging:
    """The tagging task of one head.

    `learns` says which tokens of a word are trained on: its first, or all of them, as in paper C; answers are read off the first in
    either case. `longest` splits sentences of more words than that, as in paper B. `by` "passage" reads whole passages (documents where there are none), as in
    paper A; these are then not split.

    >>> Tagging("bc5cdr", ("Chemical", "Disease")).labels
    ('O', 'B-Chemical', 'I-Chemical', 'B-Disease', 'I-Disease')
    """

    name: str
    types: tuple[str, ...]
    scheme: Literal["bio", "bioes"] = "bio"
    kind: Literal["tagging"] = "tagging"
    positive: ClassVar[int] = 1
    learns: Literal["first", "all"] = "first"
    longest: int | None = None
    by: Literal["sentence", "passage"] = "sentence"

    @classmethod
    def of_documents(
        cls, name: str, documents: Iterable[Document], *, types: tuple[str, ...] | None = None, **settings: Any
    ) -> Tagging:
        """The task of these types, or of all that the documents have."""
        types_found = types or types_in([span for document in documents for span in document.spans])
        if not types_found:
            raise TrainingError(
                "BX404", f"the training documents of {name!r} have no mention", hint="check its corpus and split"
            )
        return cls(name, tuple(types_found), **settings)

    @property
    def unit(self) -> Literal["word"]:
        """A label for each word."""
        return "word"

    @property
    def objective(self) -> str:
        """The loss of a softmax for each word."""
        return "cross-entropy"

    @property
    def labels(self) -> tuple[str, ...]:
        """The label space, in the order of a head's outputs."""
        return label_names(self.types, self.scheme)

    @property
    def reads(self) -> text_inputs.Sentences | text_inputs.Texts:
        """Sentences, which all tagging tasks share, or passages."""
        return text_inputs.Texts(passages=True) if self.by == "passage" else text_inputs.Sentences(self.longest)

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """An input for each sentence, or for each window of one that is longer than the limit."""
        return self.reads.inputs(document, tokenizer, limit=limit, counts=counts)

    def targets(self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]) -> list[Labels]:
        """The tags. In a long sentence each word is learned once: in the window whose core it is in; elsewhere it is context."""
        counts["mentions"] += len(document.spans)
        counts["mentions cut by a sentence end"] += _cut(document, [input_.part for input_ in inputs])
        tags = self.tags(document, inputs, counts=counts)
        return [self._learned(learned, input_.tokens) for input_, (_, learned) in zip(inputs, tags, strict=True)]

    def tags(
        self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The tags of each input's words: all, and those that are its own, MASKED where another window's are."""
        for _, group in groupby(inputs, key=lambda window: window.number):
            windows = list(group)
            tokens = windows[0].tokens if windows[0].cut is None else windows[0].cut.whole
            start, end = windows[0].part
            if tokens.words:
                start, end = min(start, int(tokens.starts[0])), max(end, int(tokens.ends[-1]))
            inside = [span for span in document.spans if span.start < end and start < span.end]
            encoded = self.encode(inside, tokens)
            for reason, number in encoded.dropped.items():
                counts[f"mentions {reason}"] += number
            for window in windows:
                seen = encoded.labels if window.cut is None else encoded.labels[window.cut.words]
                learned = np.ones(len(seen), dtype=bool) if window.cut is None else window.cut.own
                if (start, end) != window.part:  # a stretch, of which other stretches have the margins
                    learned &= (window.tokens.starts >= window.part[0]) & (window.tokens.starts < window.part[1])
                yield seen, np.where(learned, seen, MASKED).astype(np.int32)

    def _learned(self, tags: NDArray[np.int32], tokens: Tokens) -> Labels:
        if self.learns == "first":
            return Labels("word", tags)
        copied = np.full(len(tokens), MASKED, dtype=np.int32)
        if len(tags):
            copied[tokens.first[0] :] = np.repeat(tags, np.diff(np.append(tokens.first, len(tokens))))
        return Labels("token", copied)

    def bare(self, document: Document) -> Document:
        """The document without spans, and without the relations between them."""
        return replace(document, spans=(), relations=())

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        """Strict figures: offsets and type are right."""
        return strict_spans(gold, predicted)

    def encode(self, spans: Iterable[Span], tokens: Tokens) -> WordLabels:
        """The label of each word. A mention that begins or ends inside a word takes the whole word, and that is counted."""
        labels = np.zeros(tokens.words, dtype=np.int32)
        dropped: Counter[str] = Counter()
        taken = np.zeros(tokens.words, dtype=bool)
        stride = 2 if self.scheme == "bio" else 4
        # Longest first: a word has one label, so of two mentions that overlap the longer one is learned.
        for span in sorted(spans, key=lambda span: (span.start - span.end, span.start)):
            if span.type not in self.types:
                continue
            begin = int(np.searchsorted(tokens.ends, span.start, side="right"))
            end = int(np.searchsorted(tokens.starts, span.end, side="left"))
            if begin >= end:
                dropped["no word at its place"] += 1
                continue
            if taken[begin:end].any():
                dropped["overlaps a longer one"] += 1
                continue
            if tokens.starts[begin] != span.start or tokens.ends[end - 1] != span.end:
                dropped["widened to whole words"] += 1
            taken[begin:end] = True
            base = 1 + stride * self.types.index(span.type)  # 0 is O; then B, I (and E, S) of each type
            labels[begin:end] = base + 1
            labels[begin] = base
            if self.scheme == "bioes":
                labels[end - 1] = base + 2
                if end - begin == 1:
                    labels[begin] = base + 3
        return WordLabels(labels, dropped)

    def decode(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with the mentions of each sentence."""
        spans: list[Span] = []
        for _, group in groupby(zip(inputs, outputs, strict=True), key=lambda pair: pair[0].number):
            spans += self.mentions(document.text, *zip(*group, strict=True))
        return replace(document, spans=(*document.spans, *spans)) if spans else document

    def mentions(self, text: str, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]) -> list[Span]:
        """The mentions of a sentence; of one stretch of a very long one those that begin in its core."""
        tokens, rows = text_inputs.stitched(inputs, outputs)
        return self.placed(text, tokens, inputs[0].part, self.word_spans(rows, np.array([len(rows)])).get(0, ()))

    def entities(self, logits: NDArray[np.float32], tokens: Tokens, text: str) -> list[Span]:
        """The entities of the most probable valid tag sequence. `text` is the whole text that the tokens are of.

        An entity's score is the smallest probability among its words' tags. Brackets are brought into balance, and what has no letter or digit is
        dropped (`biomux.text.brackets`).
        """
        return self.placed(text, tokens, None, self.word_spans(logits, np.array([len(logits)])).get(0, ()))

    def word_spans(self, logits: NDArray[np.float32], words: NDArray[np.int64]) -> ByRow:
        """The entities of each row of a batch, whose words `logits` has one row after the other; `words` says how many each has."""
        return word_spans.decoded([self], [logits], words)[0]

    def placed(self, text: str, tokens: Tokens, part: Range | None, spans: Sequence[WordSpan]) -> list[Span]:
        """Ranges of words as entities of the text. In a row that reads more than its part, those that begin in the part."""
        return [Span(*mention) for mention in word_spans.placed(text, tokens, part, [(self.name, spans)])]


def strict_spans(gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
    """Spans against spans: offsets and type are right."""
    from biomux.scoring.spans import count

    counts = [
        {"counts": count(gold_document, predicted_document, matchings=("strict",))}
        for gold_document, predicted_document in zip(gold, predicted, strict=True)
    ]
    rows = [np.sum([(0, 0, 0), *row["counts"]["strict"].values()], axis=0) for row in counts]
    whole = Counts(*map(int, np.sum([(0, 0, 0), *rows], axis=0)))
    figures = {"f1": whole.f1, "precision": whole.precision, "recall": whole.recall}
    return Evaluation("f1", figures, rows_of("f1", gold, rows), counts, scored=whole.tp + whole.fp + whole.fn)


def _cut(document: Document, ranges: Sequence[Range]) -> int:
    """How many mentions do not lie within one range."""
    starts = [start for start, _ in ranges]
    places = [(bisect_right(starts, span.start) - 1, span.end) for span in document.spans]
    return sum(at < 0 or end > ranges[at][1] for at, end in places)


def types_in(spans: Sequence[Span]) -> tuple[str, ...]:
    """The types that occur, sorted."""
    return tuple(sorted({span.type for span in spans}))
