"""What a task says of predicted documents: figures, rows and counts of documents, and tables agree, whatever its kind."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from biomux.document import Answer, Argument, Document, Label, Passage, Question, Relation, Span
from biomux.scoring.document_rows import figure_of
from biomux.tasks.auxiliary import Auxiliary
from biomux.tasks.classification import Classification
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.question_answering import Answers
from biomux.tasks.relation import Relations
from biomux.tasks.similarity import Similarity
from biomux.tasks.tagging import Tagging
from biomux.text import sentences

TEXT = "Aspirin helps. Fever and ulcer come with zolmide given to mice. Nothing here."
MENTIONS = [(0, 7, "Chemical"), (15, 20, "Disease"), (25, 30, "Disease"), (41, 48, "Chemical")]
CLASSES = ("a", "b", "c")
Task = Any


def spans(chance: random.Random, document: Document, head: str | None) -> Document:
    kept = [Span(*one, head=head, id=f"T{at}") for at, one in enumerate(MENTIONS) if chance.random() < 0.7]
    return replace(document, spans=tuple(kept))


def relations(chance: random.Random, document: Document, head: str | None) -> Document:
    whole = [Span(*one, id=f"T{at}") for at, one in enumerate(MENTIONS)]
    made = []
    for left, right in (("T1", "T2"), ("T1", "T3"), ("T0", "T3")):
        if chance.random() < 0.7:
            type_ = chance.choice(("r", "s"))
            made.append(Relation(type_, (Argument("Arg1", left), Argument("Arg2", right)), head=head))
    return replace(document, spans=tuple(whole), relations=tuple(made))


def labels(chance: random.Random, document: Document, head: str | None, task: Task) -> Document:
    parts = sentences.of(document) if task.of == "sentence" else [(None, None)]
    made = []
    for start, end in parts:
        names = [name for name in CLASSES if chance.random() < 0.4] if task.several else [chance.choice(CLASSES)]
        made += [Label(name, start=start, end=end, head=head) for name in names]
    return replace(document, labels=tuple(made))


def auxiliary(chance: random.Random, document: Document, head: str | None, task: Task) -> Document:
    if head is None:
        return spans(chance, document, None)
    if task.which == "extent":
        kept = [Span(start, end, chance.choice(task.labels[1:]), head=head) for start, end, _ in MENTIONS]
        return replace(document, spans=tuple(span for span in kept if chance.random() < 0.7))
    said = [
        Label(chance.choice(task.labels), start=start, end=end, head=head) for start, end in task.reads.parts(document)
    ]
    return replace(document, labels=tuple(said))


def number(chance: random.Random, document: Document, head: str | None) -> Document:
    return replace(document, labels=(Label("similarity", value=chance.uniform(0, 4), head=head),))


def questions(chance: random.Random, document: Document, head: str | None) -> Document:
    made = [
        Question(f"q{at}", "What?", answers=(Answer(chance.choice(("aspirin", "zolmide given", "mice")), head=head),))
        for at in range(2)
    ]
    return replace(document, questions=tuple(made))


def guesses(chance: random.Random, document: Document, head: str | None) -> Document:
    right = chance.randint(0, 5)
    values = (("asked", 5.0), ("right", float(right)))
    return replace(document, labels=tuple(Label(name, value=value, head=head) for name, value in values))


TASKS: list[tuple[str, Task, Any]] = [
    ("tagging", Tagging("t", ("Chemical", "Disease")), lambda c, d, h, _: spans(c, d, h)),
    ("relation", Relations("t", ("r", "s")), lambda c, d, h, _: relations(c, d, h)),
    ("similarity", Similarity("t"), lambda c, d, h, _: number(c, d, h)),
    ("answers", Answers("t"), lambda c, d, h, _: questions(c, d, h)),
    ("masked", MaskedWords("t"), lambda c, d, h, _: guesses(c, d, h)),
    *(
        (which, Auxiliary("t", which, ("Chemical", "Disease"), of="o"), auxiliary)
        for which in ("has", "number", "extent", "has-any")
    ),
    *(
        (
            f"{of} {main or 'main'} {'several' if several else 'one'}",
            Classification("t", CLASSES, of=of, several=several, negative=("c",) if main == "f1" else (), main=main),
            labels,
        )
        for of in ("document", "sentence")
        for several, mains in ((False, ("", "f1", "macro_f1")), (True, ("", "macro_f1", "exact", "document_f1")))
        for main in mains
    ),
]


@pytest.mark.parametrize(("name", "task", "make"), TASKS, ids=[name for name, _, _ in TASKS])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_sums_of_rows_give_the_main_figure(name: str, task: Task, make: Any, seed: int) -> None:
    chance = random.Random(seed)
    passages = (Passage(0, len(TEXT), "abstract"),)
    plain = [Document(str(number), TEXT, passages=passages, pair="Other text.") for number in range(12)]
    gold = [make(chance, document, None, task) for document in plain]
    predicted = [make(chance, document, "t", task) for document in plain]
    found = task.evaluate(gold, predicted)
    assert found.rows is not None
    assert found.rows.ids == tuple(document.id for document in gold)
    assert figure_of([found.rows]) == pytest.approx(found.value)
    assert 0 < abs(found.value) < 1
    assert found.scored > 0
    rows = found.document_rows([document.id for document in gold])
    assert [row["id"] for row in rows] == [document.id for document in gold]
    turned = task.evaluate(gold[::-1], predicted[::-1])
    assert turned.figures == pytest.approx(found.figures)
    one_by_one = [task.evaluate([left], [right]) for left, right in zip(gold, predicted, strict=True)]
    assert [each.document_rows([left.id])[0] for left, each in zip(gold, one_by_one, strict=True)] == rows


def named(scores: dict[str, Any]) -> dict[str, float]:
    """The figures of the tables under their names in `figures`."""
    if "relations" in scores:
        table = scores["relations"]["matchings"]["undirected"]
        return {**{one: table["micro"][one] for one in ("f1", "precision", "recall")}, "macro_f1": table["macro"]["f1"]}
    if "numbers" in scores:
        return {one: scores["numbers"]["similarity"][one] for one in ("pearson", "spearman", "mse")}
    if "answers" in scores:
        return {one: scores["answers"][one]["value"] for one in ("strict", "lenient", "mrr", "exact", "f1")}
    labels = scores["labels"]
    made = {"f1": labels["micro"]["f1"], "macro_f1": labels["macro"]["f1"]}
    if labels["kind"] == "one":
        return {**made, "accuracy": labels["accuracy"]}
    made["exact"] = labels["exact"]["value"]
    return {**made, "document_f1": labels["by_document"]["f1"]} if "by_document" in labels else made


TABLES = [
    (name, task, make)
    for name, task, make in TASKS
    if task.kind in ("relation", "similarity", "answers", "classification")
]


@pytest.mark.parametrize(("name", "task", "make"), TABLES, ids=[name for name, _, _ in TABLES])
def test_tables_have_the_figures(name: str, task: Task, make: Any) -> None:
    chance = random.Random(name)
    passages = (Passage(0, len(TEXT), "abstract"),)
    plain = [Document(str(number), TEXT, passages=passages, pair="Other text.") for number in range(15)]
    gold = [make(chance, document, None, task) for document in plain]
    found = task.evaluate(gold, [make(chance, document, "t", task) for document in plain])
    scores = found.to_json()
    figures = named(scores)
    assert figures == pytest.approx({figure: found.figures[figure] for figure in figures})
    assert (scores["main"]["metric"], scores["main"]["value"]) == (found.main, pytest.approx(found.value))


def test_pairs_without_a_number_are_left_out_and_counted() -> None:
    gold, predicted = [], []
    for number, (left, right) in enumerate([(1.0, 2.0), (None, 2.0), (3.0, None), (2.0, 3.5), (5.0, 4.0)]):
        plain = Document(str(number), TEXT, pair="Other text.")
        gold.append(replace(plain, labels=() if left is None else (Label("similarity", value=left),)))
        predicted.append(replace(plain, labels=() if right is None else (Label("similarity", value=right, head="t"),)))
    found = Similarity("t").evaluate(gold, predicted)
    assert found.scored == 3
    assert found.to_json()["left_out"] == {"documents without a number, or without a pair of texts,": 2}
