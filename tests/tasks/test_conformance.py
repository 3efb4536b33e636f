"""The conformance check finds what it is there to find."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
import tiny

from biomux.document import Document, Label
from biomux.tasks import text_inputs
from biomux.tasks.classification import Classification
from biomux.tasks.conformance import check_task
from biomux.tasks.examples import ExampleSet, Labels, ModelInput

DOCUMENTS = [Document(str(number), tiny.text(30, seed=number), labels=(Label("yes"),)) for number in range(3)]


@dataclass(frozen=True, slots=True)
class Peeks(Classification):
    def readings(self, document: Document, tokenizer: Any, *, limit: int) -> list[ModelInput]:
        text = document.text + "".join(f" {label.name}" for label in document.labels)
        found = text_inputs.windowed(tokenizer, text, (0, len(text)), limit=limit, counts=Counter())
        return [ModelInput(tokens, note=(0, len(document.text))) for tokens in found]


@dataclass(frozen=True, slots=True)
class TooLong(Classification):
    def examples(self, documents: Any, tokenizer: Any, *, limit: int) -> ExampleSet:
        return Classification.examples(self, documents, tokenizer, limit=10 * limit)


@dataclass(frozen=True, slots=True)
class TwoLabels(Classification):
    def examples(self, documents: Any, tokenizer: Any, *, limit: int) -> ExampleSet:
        made = Classification.examples(self, documents, tokenizer, limit=limit)
        for at, example in enumerate(made.examples):
            values = example.labels[self.name].values.repeat(2)
            made.examples[at] = replace(example, labels={self.name: Labels("window", values)})
        return made


def test_a_good_task_passes() -> None:
    check_task(Classification("x", ("no", "yes")), DOCUMENTS, tiny.tokenizer())


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Peeks, "depends on the answer"), (TooLong, "40 are allowed"), (TwoLabels, "2 labels for 1 windows")],
)
def test_a_broken_promise_is_named(kind: type[Classification], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_task(
            kind("x", ("no", "yes")),
            [replace(one, text=one.text + " dose" * 20) for one in DOCUMENTS],
            tiny.tokenizer(),
        )
