"""The score sheet of a task says what the task itself says of the same documents, whatever its kind, and in any order."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from tasks.test_task_rows import TASKS, TEXT

from biomux.document import Document, Label, Passage
from biomux.tasks.similarity import Similarity
from biomux.tasks.task_sheet import KINDS, sheet_of

SCORED = [(name, task, make) for name, task, make in TASKS if task.kind in KINDS]


def named(scores: dict[str, Any]) -> dict[str, float]:
    """The figures of a sheet under the names that `Task.score` has."""
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


@pytest.mark.parametrize(("name", "task", "make"), SCORED, ids=[name for name, _, _ in SCORED])
def test_a_sheet_agrees_with_its_task(name: str, task: Any, make: Any) -> None:
    chance = random.Random(name)
    passages = (Passage(0, len(TEXT), "abstract"),)
    plain = [Document(str(number), TEXT, passages=passages, pair="Other text.") for number in range(15)]
    pairs = [(make(chance, one, None, task), make(chance, one, "t", task)) for one in plain]
    told = task.score([gold for gold, _ in pairs], [predicted for _, predicted in pairs])
    sheet, turned = sheet_of(task), sheet_of(task)
    for gold, predicted in pairs:
        sheet.add(gold, predicted)
    for gold, predicted in reversed(pairs):
        turned.add(gold, predicted)
    scores = sheet.to_json()
    found = named(scores)
    assert found == pytest.approx({figure: told.figures[figure] for figure in found})
    assert (scores["main"]["metric"], scores["main"]["value"]) == (told.main, pytest.approx(told.value))
    assert 0 < abs(told.value) < 1
    assert named(turned.to_json()) == pytest.approx(found)
    assert sheet.scored > 0


def test_pairs_without_a_number_are_left_out_and_counted() -> None:
    sheet = sheet_of(Similarity("t"))
    for number, (gold, predicted) in enumerate([(1.0, 2.0), (None, 2.0), (3.0, None), (2.0, 3.5), (5.0, 4.0)]):
        plain = Document(str(number), TEXT, pair="Other text.")
        left = () if gold is None else (Label("similarity", value=gold),)
        right = () if predicted is None else (Label("similarity", value=predicted, head="t"),)
        sheet.add(replace(plain, labels=left), replace(plain, labels=right))
    assert sheet.scored == 3
    assert sheet.to_json()["left_out"] == {"documents without a number, or without a pair of texts,": 2}
