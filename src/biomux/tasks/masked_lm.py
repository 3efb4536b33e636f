"""Masked words: tokens are hidden and guessed back, anew whenever a text is read.

BERT hides 15 % of the tokens: 80 % of those become the mask token, 10 % another token, 10 % stay. Paper C's wording is 80 % and 20 %: `random: 0.2`.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Label
from biomux.errors import TrainingError
from biomux.tasks import text_inputs
from biomux.tasks.examples import MASKED, Example, ExampleSet, Masking, ModelInput
from biomux.tasks.task import Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """Hidden tokens of any text. It annotates nothing: its score is the share of hidden tokens that are guessed."""

    name: str
    share: float = 0.15
    mask: float = 0.8
    random: float = 0.1
    kind: Literal["masked-words"] = "masked-words"

    @classmethod
    def of_documents(cls, name: str, documents: Iterable[Document], **settings: Any) -> MaskedWords:  # noqa: ARG003
        """The task; documents tell it nothing."""
        return cls(name, **settings)

    @property
    def unit(self) -> Literal["token"]:
        """Single tokens."""
        return "token"

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty: the label space is the vocabulary."""
        return ()

    @property
    def objective(self) -> str:
        """A softmax over the vocabulary."""
        return "cross-entropy"

    def masking(self, tokenizer: Tokenizer) -> Masking:
        """How tokens are hidden with this vocabulary."""
        token = next(
            (found for name in ("[MASK]", "<mask>") if (found := tokenizer.token_to_id(name)) is not None), None
        )
        if token is None:
            raise TrainingError("BX401", "the tokenizer has no mask token", hint="use an encoder's own tokenizer")
        return Masking(int(token), tokenizer.get_vocab_size(), self.share, self.mask, self.random)

    def examples(self, documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int) -> ExampleSet:
        """An example for each text or window; what is hidden is decided when it is read."""
        made, masking = ExampleSet(), self.masking(tokenizer)
        for document in documents:
            made.counts["documents"] += 1
            part = (0, len(document.text))
            for tokens in text_inputs.windowed(tokenizer, document.text, part, limit=limit, counts=made.counts):
                made.examples.append(Example(self.name, ModelInput(tokens), {}, (document.id, 0), masking))
        return made

    def bare(self, document: Document) -> Document:
        """The document as it is."""
        return document

    def readings(self, document: Document, tokenizer: Tokenizer, *, limit: int) -> list[ModelInput]:
        """The windows with tokens hidden, by a lot that the text alone decides; the note is what was there."""
        masking = self.masking(tokenizer)
        generator = np.random.default_rng(zlib.crc32(document.text.encode()))
        found = []
        part = (0, len(document.text))
        for tokens in text_inputs.windowed(tokenizer, document.text, part, limit=limit, counts=Counter()):
            hidden, wanted = masking.apply(tokens.ids, generator)
            found.append(ModelInput(replace(tokens, ids=hidden), note=wanted))
        return found

    def decode(
        self, document: Document, readings: Sequence[ModelInput], logits: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with two labels: how many tokens were asked, and how many of them were guessed."""
        asked = right = 0
        for reading, rows in zip(readings, logits, strict=True):
            known = reading.note != MASKED
            asked += int(known.sum())
            right += int((rows[known].argmax(axis=1) == reading.note[known]).sum())
        added = [
            Label(name, value=float(number), head=self.name) for name, number in (("asked", asked), ("right", right))
        ]
        return replace(document, labels=(*document.labels, *added))

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Scores:  # noqa: ARG002
        """The share of hidden tokens that were guessed."""
        sums = Counter[str]()
        for document in predicted:
            for label in document.labels:
                if label.head == self.name:
                    sums[label.name] += int(label.value or 0)
        return Scores("accuracy", {"accuracy": sums["right"] / max(1, sums["asked"]), "asked": float(sums["asked"])})
