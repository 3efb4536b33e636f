"""Similarity: a number for a pair of texts (paper B: mean squared error, Pearson's correlation)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Label
from biomux.tasks import text_inputs
from biomux.tasks.examples import Example, ExampleSet, Labels, ModelInput
from biomux.tasks.task import Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document


@dataclass(frozen=True, slots=True)
class Similarity:
    """The number that the label called `label` has, for a text and its pair.

    >>> Similarity("biosses").objective
    'mean-squared-error'
    """

    name: str
    label: str = "similarity"
    kind: Literal["similarity"] = "similarity"

    @classmethod
    def of_documents(cls, name: str, documents: Iterable[Document], **settings: Any) -> Similarity:  # noqa: ARG003
        """The task; documents tell it nothing."""
        return cls(name, **settings)

    @property
    def unit(self) -> Literal["window"]:
        """The pair as a whole."""
        return "window"

    @property
    def labels(self) -> tuple[str, ...]:
        """One number."""
        return (self.label,)

    @property
    def objective(self) -> str:
        """Squared differences."""
        return "mean-squared-error"

    def examples(self, documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int) -> ExampleSet:
        """An example for each pair that has a number."""
        made = ExampleSet()
        for document in documents:
            made.counts["documents"] += 1
            value = self._value(document, None)
            reading = text_inputs.pair(document, tokenizer, limit=limit, counts=made.counts)
            if value is None:
                made.counts["pairs without a number"] += 1
            elif reading is not None:
                labels = {self.name: Labels("window", np.array([value], dtype=np.float32))}
                made.examples.append(Example(self.name, reading, labels, (document.id, 0)))
        return made

    def _value(self, document: Document, head: str | None) -> float | None:
        return next((one.value for one in document.labels if one.name == self.label and one.head == head), None)

    def bare(self, document: Document) -> Document:
        """The document without labels."""
        return replace(document, labels=())

    def readings(self, document: Document, tokenizer: Tokenizer, *, limit: int) -> list[ModelInput]:
        """The pair."""
        found = text_inputs.pair(document, tokenizer, limit=limit, counts=Counter())
        return [] if found is None else [found]

    def decode(
        self,
        document: Document,
        readings: Sequence[ModelInput],  # noqa: ARG002
        logits: Sequence[NDArray[np.float32]],
    ) -> Document:
        """The document with the number as a label."""
        added = [Label(self.label, value=float(rows.reshape(-1)[0]), head=self.name) for rows in logits]
        return replace(document, labels=(*document.labels, *added))

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Scores:
        """Pearson's and Spearman's correlation and the mean squared error, over pairs that have a number on both sides."""
        from biomux.scoring.numbers import score_numbers

        pairs = [
            (self._value(left, None), self._value(right, self.name))
            for left, right in zip(gold, predicted, strict=True)
        ]
        known = [(left, right) for left, right in pairs if left is not None and right is not None]
        scores = score_numbers([left for left, _ in known], [right for _, right in known], samples=0)
        figures = {"pearson": scores.pearson, "spearman": scores.spearman, "mse": scores.mse}
        return Scores("pearson", figures)
