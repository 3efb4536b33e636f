"""Masked words: tokens are hidden and guessed back, anew whenever a text is read.

BERT hides 15 % of the tokens: 80 % of those become the mask token, 10 % another token, 10 % stay. Paper C's wording is 80 % and 20 %: `random: 0.2`.
With `whole_words` words are chosen in place of tokens.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from biomux.document import Label
from biomux.errors import TrainingError
from biomux.tasks import text_inputs
from biomux.tasks.examples import MASKED, Masking
from biomux.tasks.task import Evaluation

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.tasks.examples import ModelInput


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """Hidden tokens of any text. It annotates nothing: its score is the share of hidden tokens that are guessed."""

    name: str
    share: float = 0.15
    mask: float = 0.8
    random: float = 0.1
    whole_words: bool = False
    kind: Literal["masked-words"] = "masked-words"
    for_training: ClassVar[bool] = True

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
            (number for name in ("[MASK]", "<mask>") if (number := tokenizer.token_to_id(name)) is not None), None
        )
        if token is None:
            raise TrainingError("BX401", "the tokenizer has no mask token", hint="use an encoder's own tokenizer")
        return Masking(int(token), tokenizer.get_vocab_size(), self.share, self.mask, self.random, self.whole_words)

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """The windows with tokens hidden, by a lot that the text alone decides; the note is how, and what was there."""
        masking = self.masking(tokenizer)
        generator = np.random.default_rng(zlib.crc32(document.text.encode()))
        for input_ in text_inputs.Texts().inputs(document, tokenizer, limit=limit, counts=counts):
            hidden, wanted = masking.apply(input_.tokens.ids, generator, first=input_.tokens.first)
            yield replace(input_, hidden=hidden, note=(masking, wanted))

    def targets(
        self,
        document: Document,  # noqa: ARG002
        inputs: Sequence[ModelInput],
        *,
        counts: Counter[str],  # noqa: ARG002
    ) -> list[Masking]:
        """What is hidden is decided anew whenever a text is read."""
        return [input_.note[0] for input_ in inputs]

    def bare(self, document: Document) -> Document:
        """The document as it is."""
        return document

    def decode(
        self, document: Document, inputs: Sequence[ModelInput], outputs: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with two labels: how many tokens were asked, and how many of them were guessed."""
        asked = right = 0
        for input_, rows in zip(inputs, outputs, strict=True):
            wanted = input_.note[1]
            known = wanted != MASKED
            asked += int(known.sum())
            right += int((rows[known].argmax(axis=1) == wanted[known]).sum())
        added = [
            Label(name, value=float(number), head=self.name) for name, number in (("asked", asked), ("right", right))
        ]
        return replace(document, labels=(*document.labels, *added))

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:  # noqa: ARG002
        """The share of hidden tokens that were guessed."""
        rows = []
        for document in predicted:
            labels = [label for label in document.labels if label.head == self.name]
            rows.append(
                [sum(label.value or 0 for label in labels if label.name == name) for name in ("right", "asked")]
            )
        evaluation = Evaluation.of_rows("accuracy", "mean", predicted, rows)
        return replace(evaluation, figures={**evaluation.figures, "asked": float(sum(asked for _, asked in rows))})
