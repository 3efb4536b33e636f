"""A conformance check that any task can be put to, from inside the house or from outside it.

It raises AssertionError with a sentence about the first promise that is broken:

- the task is frozen data: what a run writes down about it builds it again;
- no row is longer than the limit and the special tokens allow;
- labels are of the stated unit and within the label space, and there is one for each thing that is asked about;
- the same documents give the same examples;
- what is asked about a bare document is what is asked about the whole one: nothing of the answer is read;
- answers, whatever they are, go into the document and leave its text and the rest alone; they can be scored.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from biomux.tasks.examples import MASKED
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.tasks.examples import Example, Labels, ModelInput
    from biomux.tasks.task import Asking, Task


def check_task(task: Task, documents: Sequence[Document], tokenizer: Tokenizer, *, limit: int = 40) -> None:
    """Put a task to the whole check with these documents, some of which must have something to learn from."""
    described = json.loads(json.dumps(asdict(cast("Any", task))))
    fields = {name: _tuples(value) for name, value in described.items() if name != "kind"}
    assert type(task)(**fields) == task, "the task is not built again from its own fields"
    made = task.examples(documents, tokenizer, limit=limit)
    assert made.examples, "the documents give no example"
    for example in made.examples:
        _check_example(task, example, limit)
    again = task.examples(documents, tokenizer, limit=limit)
    assert [_plain(one) for one in again.examples] == [_plain(one) for one in made.examples], "examples change"
    assert again.counts == made.counts, "counts change"
    if not isinstance(task, Tagging):
        _check_answers(cast("Asking", task), documents, tokenizer, limit)


def _check_example(task: Task, example: Example, limit: int) -> None:
    reading = example.reading
    assert example.task == task.name, f"an example is of {example.task!r}, not of {task.name!r}"
    assert reading.size <= limit + 2, f"a row has {reading.size} tokens, and {limit} are allowed"
    if example.masking is not None:
        return
    labels = example.labels[task.name]
    wanted = _asked(labels, reading)
    assert len(labels.values) == wanted, f"there are {len(labels.values)} labels for {wanted} {labels.unit}s"
    if labels.unit == "answer":
        first, last = labels.values.tolist()
        assert -1 <= first <= last < reading.tokens.words, f"an answer is at words {first} to {last}"
    elif labels.values.dtype.kind in "iu":
        known = labels.values[labels.values != MASKED]
        assert ((known >= 0) & (known < len(task.labels))).all(), "a label is outside the label space"


def _asked(labels: Labels, reading: ModelInput) -> int:
    """How many labels there must be."""
    return {
        "word": reading.tokens.words,
        "token": len(reading.tokens),
        "window": 1,
        "answer": 2,
        "pair": 0 if reading.pairs is None else len(reading.pairs),
    }[labels.unit]


def _check_answers(task: Asking, documents: Sequence[Document], tokenizer: Tokenizer, limit: int) -> None:
    chance = np.random.default_rng(0)
    answered = []
    for document in documents:
        bare = task.bare(document)
        whole, asked = (task.readings(one, tokenizer, limit=limit) for one in (document, bare))
        assert [_row(one) for one in whole] == [_row(one) for one in asked], "what is read depends on the answer"
        logits = [_logits(task, reading, tokenizer, chance) for reading in asked]
        found = task.decode(bare, asked, logits)
        assert (found.id, found.text, found.pair) == (document.id, document.text, document.pair), "the text changed"
        answered.append(found)
    scores = task.score(documents, answered)
    assert scores.main in scores.figures, f"there is no figure {scores.main!r}"


def _logits(
    task: Asking, reading: ModelInput, tokenizer: Tokenizer, chance: np.random.Generator
) -> NDArray[np.float32]:
    outputs = len(task.labels) or tokenizer.get_vocab_size()
    shape = {
        "word": (reading.tokens.words, outputs),
        "token": (len(reading.tokens), outputs),
        "window": (1, outputs),
        "answer": (reading.size, 2),
        "pair": (0 if reading.pairs is None else len(reading.pairs), outputs),
    }[task.unit]
    return chance.standard_normal(shape).astype(np.float32)


def _row(reading: ModelInput) -> tuple[list[int], list[int], list[Any]]:
    prefix = [] if reading.prefix is None else reading.prefix.ids.tolist()
    return prefix, reading.tokens.ids.tolist(), [] if reading.pairs is None else reading.pairs.tolist()


def _plain(example: Example) -> Any:
    labels = {head: (found.unit, found.values.tolist()) for head, found in example.labels.items()}
    return _row(example.reading), labels, example.source


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
