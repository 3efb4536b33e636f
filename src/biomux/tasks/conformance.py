"""A conformance check that any task can be put to, from inside the house or from outside it.

It raises AssertionError with a sentence about the first promise that is broken:

- the task is frozen data: what a run writes down about it builds it again;
- no row is longer than the limit and the special tokens allow;
- there is a target for each input; labels are within the label space, and there is one for each thing that is asked about;
- the same documents give the same inputs and targets;
- what is asked about a bare document is what is asked about the whole one: nothing of the answer is read;
- tasks whose `reads` are equal have equal inputs;
- answers, whatever they are, go into the document and leave its text and the rest alone;
- they can be evaluated: figures, one of them the main one, and a row and counts for each document, whose sums give it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from biomux.scoring.document_rows import figure_of
from biomux.tasks import examples
from biomux.tasks.examples import MASKED
from biomux.tasks.task import finds_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from biomux.document import Document
    from biomux.tasks.examples import Example, Labels, ModelInput
    from biomux.tasks.task import Task


def check_task(task: Task, documents: Sequence[Document], tokenizer: Tokenizer, *, limit: int = 40) -> None:
    """Put a task to the whole check with these documents, some of which must have something to learn from."""
    described = json.loads(json.dumps(asdict(cast("Any", task))))
    fields = {name: _tuples(value) for name, value in described.items() if name != "kind"}
    assert type(task)(**fields) == task, "the task is not built again from its own fields"
    made = examples.make(task, documents, tokenizer, limit=limit)
    assert made.examples, "the documents give no example"
    for example in made.examples:
        _check_example(task, example, limit)
    again = examples.make(task, documents, tokenizer, limit=limit)
    assert [_plain(example) for example in again.examples] == [_plain(example) for example in made.examples], (
        "examples change"
    )
    assert again.counts == made.counts, "counts change"
    answered = [_check_answers(task, document, tokenizer, limit) for document in documents]
    _check_evaluation(task, documents, answered)


def _check_example(task: Task, example: Example, limit: int) -> None:
    read = example.input
    assert read.size <= limit + 2, f"a row has {read.size} tokens, and {limit} are allowed"
    if example.masking is not None:
        return
    labels = example.labels[task.name]
    wanted = _asked(labels, read)
    assert len(labels.values) == wanted, f"there are {len(labels.values)} labels for {wanted} {labels.unit}s"
    if labels.unit == "answer":
        first, last = labels.values.tolist()
        assert -1 <= first <= last < read.tokens.words, f"an answer is at words {first} to {last}"
    elif labels.values.dtype.kind in "iu":
        known = labels.values[labels.values != MASKED]
        assert ((known >= 0) & (known < len(task.labels))).all(), "a label is outside the label space"


def _asked(labels: Labels, read: ModelInput) -> int:
    """How many labels there must be."""
    return {
        "word": read.tokens.words,
        "token": len(read.tokens),
        "window": 1,
        "answer": 2,
        "pair": 0 if read.pairs is None else len(read.pairs),
    }[labels.unit]


def _check_answers(task: Task, document: Document, tokenizer: Tokenizer, limit: int) -> Document:
    """The document as random outputs of the head have it."""
    bare, chance = task.bare(document), np.random.default_rng(0)
    whole, asked = (
        list(task.inputs(version, tokenizer, limit=limit, counts=Counter())) for version in (document, bare)
    )
    assert [_row(input_) for input_ in whole] == [_row(input_) for input_ in asked], (
        "what is read depends on the answer"
    )
    reader: Any = getattr(task, "reads", None)
    if hasattr(reader, "inputs"):
        shared = reader.inputs(bare, tokenizer, limit=limit, counts=Counter())
        assert [_row(input_) for input_ in shared] == [_row(input_) for input_ in asked], (
            "inputs differ from what it says it reads"
        )
    outputs = [_outputs(task, input_, tokenizer, chance) for input_ in asked]
    decoded = task.decode(bare, asked, outputs)
    rest = replace(decoded, spans=bare.spans, relations=(), labels=(), questions=(), coverage=bare.coverage)
    assert rest == replace(bare, relations=(), labels=(), questions=()), "more than annotations changed"
    if finds_spans(task):
        assert {span.type for span in decoded.spans} <= set(task.types), "there are spans of other types"
    return decoded


def _check_evaluation(task: Task, documents: Sequence[Document], answered: Sequence[Document]) -> None:
    evaluation = task.evaluate(documents, answered)
    assert evaluation.main in evaluation.figures, f"there is no figure {evaluation.main!r}"
    assert not evaluation.counts or len(evaluation.counts) == len(documents), (
        "there are not as many counts as documents"
    )
    if evaluation.rows is not None:
        assert evaluation.rows.ids == tuple(document.id for document in documents), (
            "rows are not those of the documents"
        )
        assert abs(figure_of([evaluation.rows]) - evaluation.value) < 1e-6, (
            "the sums of rows do not give the main figure"
        )
    json.dumps([evaluation.to_json(), evaluation.document_rows([document.id for document in documents])])


def _outputs(task: Task, read: ModelInput, tokenizer: Tokenizer, chance: np.random.Generator) -> NDArray[np.float32]:
    number = len(task.labels) or tokenizer.get_vocab_size()
    shape = {
        "word": (read.tokens.words, number),
        "token": (len(read.tokens), number),
        "window": (1, number),
        "answer": (read.size, 2),
        "pair": (0 if read.pairs is None else len(read.pairs), number),
    }[task.unit]
    return chance.standard_normal(shape).astype(np.float32)


def _row(read: ModelInput) -> tuple[list[int], list[int], list[Any], Any]:
    prefix = [] if read.prefix is None else read.prefix.ids.tolist()
    ids = (read.tokens.ids if read.hidden is None else read.hidden).tolist()
    return prefix, ids, [] if read.pairs is None else read.pairs.tolist(), (read.part, read.number)


def _plain(example: Example) -> Any:
    labels = {head: (target.unit, target.values.tolist()) for head, target in example.labels.items()}
    return _row(example.input), labels, example.source


def _tuples(value: Any) -> Any:
    return tuple(_tuples(element) for element in value) if isinstance(value, list) else value
