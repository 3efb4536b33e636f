"""What a task is: its label space, how readings and examples are made, how logits become annotations, how it is scored.

Tasks know nothing of torch. A task is frozen data: its fields are what a run or a bundle writes down to build it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.tasks.examples import ExampleSet, ModelInput, Unit


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of a task on a set of documents; `main` names the one by which runs are chosen."""

    main: str
    figures: Mapping[str, float]

    @property
    def value(self) -> float:
        """The main figure; 0 where it is not defined."""
        found = self.figures[self.main]
        return 0.0 if math.isnan(found) else found


class Task(Protocol):
    """What every task has. `objective` names the loss that its head learns by, unless the head names another."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def objective(self) -> str: ...

    def examples(self, documents: Iterable[Document], tokenizer: Tokenizer, *, limit: int) -> ExampleSet:
        """What a model learns from, and what was counted on the way."""

    def bare(self, document: Document) -> Document:
        """The document without what the task is to predict."""

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Scores:
        """Score predicted documents, in the order of the gold ones."""


class Asking(Task, Protocol):
    """A task that makes its own readings; taggers alone do not, since all of them share the sentences' windows."""

    def readings(self, document: Document, tokenizer: Tokenizer, *, limit: int) -> list[ModelInput]:
        """The rows to read for a document."""

    def decode(
        self, document: Document, readings: Sequence[ModelInput], logits: Sequence[NDArray[np.float32]]
    ) -> Document:
        """The document with what the logits say; they stand in the order of the readings."""
