"""Classes, numbers and answers: what is read, what is learned, what comes back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Answer, Document, Label, Passage, Question
from biomux.tasks import TASKS, restored, text_inputs
from biomux.tasks.classification import Classification
from biomux.tasks.examples import make
from biomux.tasks.question_answering import Answers
from biomux.tasks.similarity import Similarity


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_pairs_are_shortened_one_token_at_a_time_from_the_longer_side(left: int, right: int, room: int) -> None:
    """As the well-known loop over two lists does it."""
    first, second = list(range(left)), list(range(right))
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()
    assert text_inputs.shares(left, right, room) == (len(first), len(second))


def test_a_pair_fits_the_limit_and_says_what_it_lost() -> None:
    document = Document("1", tiny.text(50), pair=tiny.text(10, seed=2))
    counts: Counter[str] = Counter()
    reading = text_inputs.pair(document, tiny.tokenizer(), limit=30, counts=counts)
    assert reading is not None
    assert reading.size == 32
    assert counts["pairs shortened"] == 1
    assert counts["tokens cut from pairs"] == sum(
        len(tiny.tokenizer().encode(side, add_special_tokens=False)) for side in (document.text, document.pair or "")
    ) - (30 - 1)
    assert text_inputs.pair(Document("2", "the"), tiny.tokenizer(), limit=30, counts=counts) is None
    assert counts["documents without a pair"] == 1


def test_one_class_of_a_document() -> None:
    documents = [
        Document("1", "the dose", labels=(Label("1"),)),
        Document("2", "fever"),
        Document("3", "low", labels=(Label("0"), Label("1"))),
    ]
    task = Classification.of_documents("gad", documents, negative=("0",), main="f1")
    made = make(task, documents, tiny.tokenizer(), limit=20)
    assert [example.labels["gad"].values.tolist() for example in made.examples] == [[1], [0]]
    assert made.counts["texts without a class"] == 1
    assert made.counts["classes beyond a text's first"] == 1


def test_several_classes_of_sentences() -> None:
    text = "The dose. High fever. Low."
    parts = ((0, 9), (10, 21), (22, 26))
    document = Document(
        "1",
        text,
        sentences=parts,
        labels=(Label("a", start=0, end=9), Label("b", start=0, end=9), Label("b", start=10, end=21)),
    )
    task = Classification.of_documents("hoc", [document], of="sentence", several=True)
    assert task.objective == "binary-cross-entropy"
    made = make(task, [document], tiny.tokenizer(), limit=20)
    values = [example.labels["hoc"].values.tolist() for example in made.examples]
    assert values == [[[1.0, 1.0]], [[0.0, 1.0]], [[0.0, 0.0]]]
    logits = [np.array(one, dtype=np.float32) * 20 - 10 for one in values]
    found = task.decode(task.bare(document), tiny.inputs(task, document, limit=20), logits)
    assert [(label.name, label.start, label.end) for label in found.labels] == [("a", 0, 9), ("b", 0, 9), ("b", 10, 21)]
    scores = task.evaluate([document], [found])
    assert scores.value == scores.figures["document_f1"] == scores.figures["exact"] == 1.0


def test_a_long_text_is_read_in_windows_and_the_mean_counts() -> None:
    document = Document("1", tiny.text(60), labels=(Label("yes"),))
    task = Classification("x", ("no", "yes"))
    made = make(task, [document], tiny.tokenizer(), limit=20)
    assert len(made.examples) > 2
    assert made.counts["texts read in windows"] == 1
    assert len({example.source for example in made.examples}) == 1
    readings = tiny.inputs(task, document, limit=20)
    logits = [np.array([[0, 1]], dtype=np.float32)] * (len(readings) - 1) + [np.array([[1.5, 0]], dtype=np.float32)]
    found = task.decode(task.bare(document), readings, logits)
    assert [label.name for label in found.labels] == ["yes"]
    assert task.evaluate([document], [found]).value == 1.0


def test_a_class_for_texts_without_a_label() -> None:
    documents = [Document("1", "the dose", labels=(Label("x"),)), Document("2", "fever")]
    task = Classification.of_documents("n", documents, none="none")
    assert task.labels == ("none", "x")
    made = make(task, documents, tiny.tokenizer(), limit=20)
    assert [example.labels["n"].values.tolist() for example in made.examples] == [[1], [0]]


def test_similarity_is_learned_and_scored_as_a_number() -> None:
    task = Similarity("sts")
    documents = [
        Document(str(number), "the dose", pair="fever", labels=(Label("similarity", value=float(number)),))
        for number in range(4)
    ]
    made = make(task, [*documents, Document("5", "a", pair="b")], tiny.tokenizer(), limit=20)
    assert [example.labels["sts"].values.tolist() for example in made.examples] == [[0.0], [1.0], [2.0], [3.0]]
    assert made.counts["pairs without a number"] == 1
    found = [
        task.decode(
            task.bare(document),
            tiny.inputs(task, document, limit=20),
            [np.array([[2 * number + 1]], dtype=np.float32)],
        )
        for number, document in enumerate(documents)
    ]
    assert task.evaluate(documents, found).figures["pearson"] == pytest.approx(1.0)


CONTEXT = tiny.text(120, seed=3)


def asked(start: int, end: int) -> Document:
    answer = Answer(CONTEXT[start:end], start, end)
    return Document("1", CONTEXT, questions=(Question("q", "which dose?", (answer,)),))


@given(st.integers(0, len(CONTEXT) - 12), st.integers(1, 12))
def test_an_answer_is_learned_where_a_window_holds_it_and_found_again(start: int, size: int) -> None:
    if not CONTEXT[start : start + size].strip(" ."):
        return
    document = asked(start, start + size)
    task = Answers("qa")
    made = make(task, [document], tiny.tokenizer(), limit=30)
    assert all(example.input.size <= 32 for example in made.examples)
    held = [example for example in made.examples if example.labels["qa"].values[0] >= 0]
    assert held
    assert made.counts["questions whose answer no window holds"] == 0
    logits = []
    for example in made.examples:
        rows = np.full((example.input.size, 2), -5, dtype=np.float32)
        first, last = example.labels["qa"].values
        places = example.tokens.first + example.input.begin
        rows[places[first] if first >= 0 else 0, 0] = rows[places[last] if last >= 0 else 0, 1] = 5
        logits.append(rows)
    found = task.decode(task.bare(document), tiny.inputs(task, document, limit=30), logits)
    best = found.questions[0].answers[0]
    assert best.start is not None
    assert best.end is not None
    assert not CONTEXT[start : best.start].strip()
    assert not CONTEXT[best.end : start + size].strip()


def test_questions_that_cannot_be_learned_are_counted() -> None:
    document = Document(
        "1",
        "the dose",
        questions=(Question("a", "what?", (Answer("unplaced"),)), Question("b", "who?", (), impossible=True)),
    )
    made = make(Answers("qa"), [document], tiny.tokenizer(), limit=20)
    assert made.counts["questions whose answers have no place"] == 1
    assert [example.labels["qa"].values.tolist() for example in made.examples] == [[-1, -1]]


def test_windows_without_an_answer_can_be_left_out_and_are_counted() -> None:
    document = asked(4, 9)
    every = make(Answers("qa"), [document], tiny.tokenizer(), limit=30)
    some = make(Answers("qa", others=0.0), [document], tiny.tokenizer(), limit=30)
    assert all(example.labels["qa"].values[0] >= 0 for example in some.examples)
    assert len(some.examples) + some.counts["windows without an answer left out"] == len(every.examples)


def test_a_question_may_stay_unanswered() -> None:
    document = Document("1", "the dose", questions=(Question("q", "what?", impossible=True),))
    rows = np.zeros((9, 2), dtype=np.float32)
    rows[0] = 5
    for allowed, number in ((True, 0), (False, 3)):
        task = Answers("qa", may_be_none=allowed)
        readings = tiny.inputs(task, document, limit=20)
        found = task.decode(task.bare(document), readings, [rows[: readings[0].size]])
        assert len(found.questions[0].answers) == number
        assert found.questions[0].impossible == allowed


def test_every_kind_of_task_is_restored_from_what_was_written_down() -> None:
    import json
    from dataclasses import asdict

    from biomux.tasks.relation import Relations

    for task in (
        Classification("c", ("a", "b"), "sentence", several=True, negative=("a",)),
        Similarity("s"),
        Answers("q", best=3),
        Relations("r", ("x",), "markers", first=("A",), tags=(("A", "B"),)),
    ):
        assert task.kind in TASKS
        assert restored(json.loads(json.dumps(asdict(task)))) == task


def test_a_share_of_the_windows_without_an_answer_is_kept() -> None:
    documents = [replace(asked(4, 9), id=str(number)) for number in range(40)]
    kept = [
        len(make(Answers("qa", others=share), documents, tiny.tokenizer(), limit=30).examples) for share in (0, 0.5, 1)
    ]
    assert 0.35 < (kept[1] - kept[0]) / (kept[2] - kept[0]) < 0.65


def test_an_answer_of_white_space_is_in_no_window() -> None:
    document = Document("1", "the dose", questions=(Question("q", "what?", (Answer(" ", 3, 4),)),))
    made = make(Answers("qa"), [document], tiny.tokenizer(), limit=20)
    assert made.counts["questions whose answer no window holds"] == 1
    assert [example.labels["qa"].values.tolist() for example in made.examples] == [[-1, -1]]


def test_texts_are_read_whole_unless_passages_are_asked_for() -> None:
    document = Document("1", "the dose of it", passages=(Passage(0, 8, "title"), Passage(9, 14, "abstract")))
    assert text_inputs.Texts().parts(document) == [(0, 14)]
    assert text_inputs.Texts(passages=True).parts(document) == [(0, 8), (9, 14)]
