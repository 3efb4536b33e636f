"""Similarity: a number for a pair of texts (paper B: mean squared error, Pearson's correlation)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from biomux.document import Label
from biomux.tasks import text_inputs
from biomux.tasks.examples import Labels
from biomux.tasks.task import Evaluation, rows_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.tasks.examples import ModelInput


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

    @property
    def reads(self) -> text_inputs.TextPair:
        """Pairs of texts."""
        return text_inputs.TextPair()

    def inputs(
        self, document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]
    ) -> Iterator[ModelInput]:
        """The pair."""
        return self.reads.inputs(document, tokenizer, limit=limit, counts=counts)

    def targets(self, document: Document, inputs: Sequence[ModelInput], *, counts: Counter[str]) -> list[Labels | None]:
        """The number, where the pair has one."""
        value = self._value(document, None)
        counts["pairs without a number"] += value is None
        return [None if value is None else Labels("window", np.array([value], dtype=np.float32)) for _ in inputs]

    def _value(self, document: Document, head: str | None) -> float | None:
        return next((label.value for label in document.labels if label.name == self.label and label.head == head), None)

    def bare(self, document: Document) -> Document:
        """The document without labels."""
        return replace(document, labels=())

    def decode(
        self,
        document: Document,
        inputs: Sequence[ModelInput],  # noqa: ARG002
        outputs: Sequence[NDArray[np.float32]],
    ) -> Document:
        """The document with the number as a label."""
        added = [Label(self.label, value=float(rows.reshape(-1)[0]), head=self.name) for rows in outputs]
        return replace(document, labels=(*document.labels, *added))

    def evaluate(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Evaluation:
        """Pearson's and Spearman's correlation and the mean squared error, over pairs that have a number on both sides."""
        from biomux.scoring.document_rows import numbers
        from biomux.scoring.numbers import score_numbers

        both = [
            (self._value(gold_document, None), self._value(predicted_document, self.name))
            for gold_document, predicted_document in zip(gold, predicted, strict=True)
        ]
        known = [
            (gold_value, predicted_value)
            for gold_value, predicted_value in both
            if gold_value is not None and predicted_value is not None
        ]
        scores = score_numbers(
            [gold_value for gold_value, _ in known], [predicted_value for _, predicted_value in known]
        )
        rows = [
            [0.0] * 6 if gold_value is None or predicted_value is None else numbers(gold_value, predicted_value)
            for gold_value, predicted_value in both
        ]
        return Evaluation(
            "pearson",
            {"pearson": scores.pearson, "spearman": scores.spearman, "mse": scores.mse},
            rows_of("pearson", gold, rows),
            tables={"numbers": {self.label: scores.to_json()}},
            left_out={"documents without a number, or without a pair of texts,": len(both) - len(known)},
            scored=len(known),
        )
