"""Inputs and examples: what an encoder reads, and what is right about it.

An input is one row for the encoder. An example is an input with labels for the heads that it is annotated for: what it says
nothing about is masked, never negative.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.text.token_cache import remembering

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.tasks.task import Task
    from biomux.text.tokens import Tokens
    from biomux.text.windows import Window

MASKED = -100
"""The label of a position that says nothing to a head."""

Unit = Literal["word", "token", "window", "answer", "pair"]
"""What a head speaks about.

| unit | a label for | logits |
|---|---|---|
| word | each word | words × labels |
| token | each token | tokens × labels |
| window | the input as a whole | windows × labels |
| answer | the first and the last word of an answer, or −1, −1 for none | windows × length × 2 |
| pair | two spans of words | pairs × labels |
"""


@dataclass(frozen=True, slots=True)
class Cut:
    """Which window of which tokens an input is, where these are too long to be read at once."""

    whole: Tokens
    window: Window

    @property
    def words(self) -> slice:
        """The words of the whole that begin in the window."""
        return slice(*np.searchsorted(self.whole.first, (self.window.start, self.window.end)))

    @property
    def own(self) -> NDArray[np.bool_]:
        """Which of the window's words are its own: of all windows it sees most around them."""
        first = self.whole.first[self.words]
        return (first >= self.window.core_start) & (first < self.window.core_end)


@dataclass(frozen=True, slots=True)
class ModelInput:
    """A row for the encoder: [CLS] tokens [SEP], or [CLS] prefix [SEP] tokens [SEP] with the prefix as first segment.

    Words are those of `tokens`. `pairs` are the pairs of spans that a head is asked about: the first and last word of one
    span, then of the other, in words of the input. `part` are the characters of the text that the row is about. Windows of one question
    (a sentence, a text) have the same `number` and are decoded together; `cut` says which windows they are. `hidden` are token
    ids that are read in place of the tokens' own. `note` is for the task that made the input, and for it alone.
    """

    tokens: Tokens
    prefix: Tokens | None = None
    pairs: NDArray[np.int32] | None = None
    note: Any = None
    part: Range = (0, 0)
    number: int = 0
    cut: Cut | None = None
    hidden: NDArray[np.int32] | None = None

    @property
    def begin(self) -> int:
        """The place in the row of the first of `tokens`."""
        return 1 if self.prefix is None else len(self.prefix) + 2

    @property
    def size(self) -> int:
        """The length of the row, special tokens included."""
        return self.begin + len(self.tokens) + 1


@dataclass(frozen=True, slots=True)
class Labels:
    """What is right for one head: a value, or a row of a teacher's logits, for each unit."""

    unit: Unit
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Masking:
    """Hide tokens anew whenever the example is read: a `share` of them, of which `mask` become the mask token, `random` another
    token, and the rest stay. BERT's own is 0.8, 0.1; paper C's wording is 0.8, 0.2. With `whole_words` all tokens of a word are hidden or none. A token
    that only stands between documents, the `separator`, is never hidden."""

    token: int
    vocabulary: int
    share: float = 0.15
    mask: float = 0.8
    random: float = 0.1
    whole_words: bool = False
    separator: int | None = None

    def apply(
        self, ids: NDArray[np.int32], generator: np.random.Generator, *, first: NDArray[np.int32] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The tokens with some hidden, and the labels: what was there, MASKED where nothing is asked. At least one is asked.

        `first` are the tokens that begin a word: whole words cannot be told without them.
        """
        if self.whole_words and first is not None:
            begins = np.zeros(len(ids), dtype=np.int64)
            begins[first] = 1
            words = begins.cumsum()  # 0 is what is left of a word that begins before the window
            chosen = (generator.random(len(ids) + 1) < self.share)[words]
        else:
            chosen = generator.random(len(ids)) < self.share
        known = np.flatnonzero(ids != self.separator) if self.separator is not None else np.arange(len(ids))
        if self.separator is not None:
            chosen &= ids != self.separator
        if len(known) and not chosen.any():
            chosen[known[generator.integers(len(known))]] = True
        fate = generator.random(len(ids))
        replacements = generator.integers(self.vocabulary, size=len(ids))
        hidden = np.where(chosen & (fate < self.mask), self.token, ids)
        hidden = np.where(chosen & (fate >= self.mask) & (fate < self.mask + self.random), replacements, hidden)
        return hidden.astype(np.int32), np.where(chosen, ids, MASKED).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Example:
    """An input with the labels of each head that knows about it.

    `source` says which document, and which part of it, the example comes from: fractions drop whole sources. With `masking`, the
    labels of the head named `task` are made when the example is read.
    """

    task: str
    input: ModelInput
    labels: Mapping[str, Labels] = field(default_factory=dict)
    source: tuple[str, int] = ("", 0)
    masking: Masking | None = None

    @property
    def tokens(self) -> Tokens:
        """The tokens of the input."""
        return self.input.tokens

    @property
    def empty(self) -> bool:
        """Whether heads that label words have nothing but their first label here."""
        words = [
            target.values
            for target in self.labels.values()
            if target.unit in ("word", "token") and target.values.ndim == 1
        ]
        return bool(words) and not any(values.any() for values in words)


@dataclass
class ExampleSet:
    """The examples of one task, and what was counted on the way."""

    examples: list[Example] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def make(
    task: Task, documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int, also: Sequence[Task] = ()
) -> ExampleSet:
    """What a head learns from documents. `also` are tasks that read the same: their heads learn from the very same examples."""
    made, remembered = ExampleSet(), remembering(tokenizer)
    for document in documents:
        made.counts["documents"] += 1
        inputs = list(task.inputs(document, remembered, limit=limit, counts=made.counts))
        targets = task.targets(document, inputs, counts=made.counts)
        others = {other.name: other.targets(document, inputs, counts=Counter()) for other in also}
        for place, (row, target) in enumerate(zip(inputs, targets, strict=True)):
            labels = {
                name: also_there for name, all_ in others.items() if isinstance(also_there := all_[place], Labels)
            }
            masking = target if isinstance(target, Masking) else None
            if isinstance(target, Labels):
                labels = {task.name: target, **labels}
            if labels or masking:
                read = ModelInput(row.tokens, row.prefix, row.pairs)
                made.examples.append(Example(task.name, read, labels, (document.id, row.number), masking))
    return made
