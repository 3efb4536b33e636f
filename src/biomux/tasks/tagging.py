"""Tagging: mentions of types, as a tag for each word.

Labels are O, then B- and I- of each type (scheme "bio"), or B-, I-, E-, S- (scheme "bioes"). One head holds one flat layer of
mentions: of gold mentions that overlap within a head the longer is kept and the other counted as dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Span
from biomux.errors import TrainingError
from biomux.tasks.examples import MASKED, Example, ExampleSet, Labels, ModelInput
from biomux.tasks.task import Scores
from biomux.tasks.viterbi import BAN, search
from biomux.text import sentences, words
from biomux.text.brackets import balanced
from biomux.text.token_cache import splitter
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.tasks.auxiliary import Auxiliary
    from biomux.text.tokens import Tokens

__all__ = ["MASKED", "Encoded", "Tagging", "best_sequence", "reading_ranges", "transitions", "types_in"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A label for each word, and what could not be expressed: mentions by reason."""

    labels: NDArray[np.int32]
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Tagging:
    """The tagging task of one head.

    `learns` says which tokens of a word are trained on: its first, or all of them, as in paper C; answers are read off the first in
    either case. `longest` splits sentences of more words than that, as in paper B.

    >>> Tagging("bc5cdr", ("Chemical", "Disease")).labels
    ('O', 'B-Chemical', 'I-Chemical', 'B-Disease', 'I-Disease')
    """

    name: str
    types: tuple[str, ...]
    scheme: Literal["bio", "bioes"] = "bio"
    kind: Literal["tagging"] = "tagging"
    learns: Literal["first", "all"] = "first"
    longest: int | None = None

    @classmethod
    def of_documents(
        cls, name: str, documents: Iterable[Document], *, types: tuple[str, ...] | None = None, **settings: Any
    ) -> Tagging:
        """The task of these types, or of all that the documents have."""
        found = types or types_in([span for document in documents for span in document.spans])
        if not found:
            raise TrainingError(
                "BX404", f"the training documents of {name!r} have no mention", hint="check its corpus and split"
            )
        return cls(name, tuple(found), **settings)

    @property
    def unit(self) -> Literal["word"]:
        """A label for each word."""
        return "word"

    @property
    def skips_empty(self) -> bool:
        """Whether there is no mention for sure where O is the most probable tag of every word."""
        return True

    @property
    def objective(self) -> str:
        """The loss of a softmax for each word."""
        return "cross-entropy"

    @property
    def labels(self) -> tuple[str, ...]:
        """The label space, in the order of a head's outputs."""
        prefixes = "BI" if self.scheme == "bio" else "BIES"
        return ("O", *(f"{prefix}-{type_}" for type_ in self.types for prefix in prefixes))

    def examples(
        self,
        documents: Iterable[Document],
        tokenizer: Tokenizer,
        *,
        limit: int,
        auxiliaries: Sequence[Auxiliary] = (),
    ) -> ExampleSet:
        """An example for each sentence, or for each window of one that is longer than the limit.

        In a long sentence each word is learned once: in the window whose core it is in; elsewhere it is context. `auxiliaries`
        label the same examples for their own heads.
        """
        made, split = ExampleSet(), splitter(tokenizer)
        for document in documents:
            ranges = reading_ranges(document, self.longest)
            made.counts["documents"] += 1
            made.counts["sentences"] += len(ranges)
            made.counts["mentions"] += len(document.spans)
            made.counts["mentions cut by a sentence end"] += _cut(document, ranges)
            for number, (found, (start, end)) in enumerate(zip(split(document.text, ranges), ranges, strict=True)):
                inside = [span for span in document.spans if span.start < end and start < span.end]
                if len(found):
                    source = (document.id, number)
                    self._add(made, found, inside, limit=limit, auxiliaries=auxiliaries, source=source)
        return made

    def _add(
        self,
        made: ExampleSet,
        tokens: Tokens,
        spans: Sequence[Span],
        *,
        limit: int,
        auxiliaries: Sequence[Auxiliary],
        source: tuple[str, int],
    ) -> None:
        encoded = self.encode(spans, tokens)
        tags = encoded.labels
        for reason, count in encoded.dropped.items():
            made.counts[f"mentions {reason}"] += count
        for window in windows(len(tokens), limit=limit):
            read, seen, own = tokens, tags, tags
            if window.end - window.start < len(tokens):
                made.counts["windows of long sentences"] += 1
                chosen = slice(*np.searchsorted(tokens.first, (window.start, window.end)))
                core = (tokens.first[chosen] >= window.core_start) & (tokens.first[chosen] < window.core_end)
                read, seen = tokens.window(window.start, window.end), tags[chosen]
                own = np.where(core, seen, MASKED).astype(np.int32)
            labels = {self.name: self._learned(own, read)}
            labels |= {task.name: task.label(seen, own, self.scheme) for task in auxiliaries}
            made.examples.append(Example(self.name, ModelInput(read), labels, source))

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

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Scores:
        """Strict figures: offsets and type are right."""
        from biomux.scoring.spans import score

        found = score(zip(gold, predicted, strict=True), matchings=("strict",))["strict"]
        return Scores("f1", {"f1": found.f1, "precision": found.precision, "recall": found.recall})

    def encode(self, spans: Iterable[Span], tokens: Tokens) -> Encoded:
        """The label of each word. A mention that begins or ends inside a word takes the whole word, and that is counted."""
        labels = np.zeros(tokens.words, dtype=np.int32)
        dropped: Counter[str] = Counter()
        taken = np.zeros(tokens.words, dtype=bool)
        stride = 2 if self.scheme == "bio" else 4
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
            base = 1 + stride * self.types.index(span.type)
            labels[begin:end] = base + 1
            labels[begin] = base
            if self.scheme == "bioes":
                labels[end - 1] = base + 2
                if end - begin == 1:
                    labels[begin] = base + 3
        return Encoded(labels, dropped)

    def decode(self, probabilities: NDArray[np.float32], tokens: Tokens, text: str) -> list[Span]:
        """The entities of the most probable valid tag sequence. `text` is the whole text that the tokens are of.

        An entity's score is the smallest probability among its words' tags. Brackets are brought into balance, and what has no letter or digit is
        dropped (`biomux.text.brackets`).
        """
        tags = best_sequence(probabilities, self.scheme)
        return self.spans(tags, probabilities, tokens, text)

    def spans(
        self, tags: NDArray[np.intp], probabilities: NDArray[np.float32], tokens: Tokens, text: str
    ) -> list[Span]:
        """The entities of a valid tag sequence."""
        found: list[Span] = []
        said = tags.tolist()
        chosen = probabilities[np.arange(len(said)), tags].tolist()
        stride = 2 if self.scheme == "bio" else 4
        opening = (1,) if stride == 2 else (1, 0)  # what B (and S) leave of a division by the stride
        start = 0
        while start < len(said):
            if said[start] % stride not in opening or not said[start]:
                start += 1
                continue
            end = start + 1
            while end < len(said) and said[end] and said[end] % stride not in opening:
                end += 1
            type_ = self.types[(said[start] - 1) // stride]
            place = balanced(text, int(tokens.starts[start]), int(tokens.ends[end - 1]))
            if place is not None:
                found.append(Span(*place, type_, score=min(chosen[start:end]), head=self.name))
            start = end
        return found


def best_sequence(probabilities: NDArray[np.float32], scheme: str = "bio") -> NDArray[np.intp]:
    """The most probable tag sequence that the scheme allows.

    The most probable tag of each word is the answer wherever that is a valid sequence, which it nearly always is; only otherwise
    is the search of Viterbi needed.
    """
    tags: NDArray[np.intp] = probabilities.argmax(axis=1)
    allowed, start, stop = transitions(probabilities.shape[1], scheme)
    if not len(tags) or (start[tags[0]] and stop[tags[-1]] and allowed[tags[:-1], tags[1:]].all()):
        return tags
    banned = [np.where(part, np.float32(0), BAN) for part in (allowed, start, stop)]
    scores = np.log(np.maximum(probabilities, 1e-30))
    return search(scores, between=banned[0], first=banned[1], last=banned[2])


_TABLES: dict[tuple[int, str], tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]] = {}


def transitions(labels: int, scheme: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which label may follow which; which may come first; which last."""
    if (labels, scheme) not in _TABLES:
        names = Tagging("", tuple(map(str, range((labels - 1) // (2 if scheme == "bio" else 4)))), scheme).labels  # type: ignore[arg-type]
        allowed = np.array([[_may_follow(left, right, scheme) for right in names] for left in names])
        start = np.array([_may_follow("O", name, scheme) for name in names])
        stop = np.array([_may_follow(name, "O", scheme) for name in names])
        _TABLES[labels, scheme] = allowed, start, stop
    return _TABLES[labels, scheme]


def _may_follow(left: str, right: str, scheme: str) -> bool:
    open_before = left[0] in ("BI" if scheme == "bioes" else "")
    if right[0] in "IE":
        return left[0] in "BI" and left[1:] == right[1:]
    return not open_before


def reading_ranges(document: Document, longest: int | None = None) -> tuple[Range, ...]:
    """The document's sentences; those of more than `longest` words in parts of at most so many.

    >>> from biomux.document import Document
    >>> reading_ranges(Document("1", "One two three four five."), 2)
    ((0, 7), (8, 18), (19, 24))
    """
    found = sentences.of(document)
    if longest is None:
        return found
    ranges: list[Range] = []
    for start, end in found:
        inner = words.split(document.text[start:end])
        if len(inner) <= longest:
            ranges.append((start, end))
            continue
        firsts = [start, *(start + inner[at][0] for at in range(longest, len(inner), longest))]
        for left, right in zip(firsts, [*firsts[1:], end], strict=True):
            ranges.append((left, left + len(document.text[left:right].rstrip())))
    return tuple(ranges)


def _cut(document: Document, ranges: Sequence[Range]) -> int:
    """How many mentions do not lie within one range."""
    if not document.spans:
        return 0
    starts = [start for start, _ in ranges]
    places = [(bisect_right(starts, span.start) - 1, span.end) for span in document.spans]
    return sum(at < 0 or end > ranges[at][1] for at, end in places)


def types_in(spans: Sequence[Span]) -> tuple[str, ...]:
    """The types that occur, sorted."""
    return tuple(sorted({span.type for span in spans}))
