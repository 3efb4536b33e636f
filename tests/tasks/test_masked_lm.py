"""Masked words: how tokens are hidden, and how guesses are counted."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
from tokenizers import Tokenizer, models

from biomux.document import Document, Label
from biomux.errors import TrainingError
from biomux.tasks.conformance import check_task
from biomux.tasks.examples import MASKED, Masking, make
from biomux.tasks.masked_lm import MaskedWords

TASK = MaskedWords("words")
TOKENIZER = tiny.tokenizer()
MASK = tiny.PIECES.index("[MASK]")


def test_it_keeps_what_tasks_promise() -> None:
    check_task(TASK, [Document(str(seed), tiny.text(90, seed=seed)) for seed in range(3)], TOKENIZER)


def test_by_default_tokens_are_hidden_as_bert_hides_them() -> None:
    assert TASK.masking(TOKENIZER) == Masking(MASK, len(tiny.PIECES), share=0.15, mask=0.8, random=0.1)
    assert Masking(4, 100) == Masking(4, 100, share=0.15, mask=0.8, random=0.1)


def test_a_tokenizer_without_a_mask_token_is_refused() -> None:
    with pytest.raises(TrainingError, match="BX401"):
        TASK.masking(Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]")))


def test_shares_are_as_stated() -> None:
    ids = np.full(100_000, 7, dtype=np.int32)
    hidden, asked = Masking(4, 1000, share=0.2, mask=0.5, random=0.3).apply(ids, np.random.default_rng(0))
    chosen = asked != MASKED
    assert (asked[chosen] == 7).all()
    assert (hidden[~chosen] == 7).all()
    assert chosen.mean() == pytest.approx(0.2, abs=0.01)
    assert (hidden[chosen] == 4).mean() == pytest.approx(0.5, abs=0.02)
    assert (hidden[chosen] == 7).mean() == pytest.approx(0.2, abs=0.02)


def test_at_least_one_token_is_asked_and_none_of_nothing() -> None:
    masking = Masking(4, 1000, share=0.0)
    _, asked = masking.apply(np.arange(5, dtype=np.int32), np.random.default_rng(0))
    assert (asked != MASKED).sum() == 1
    hidden, asked = masking.apply(np.zeros(0, dtype=np.int32), np.random.default_rng(0))
    assert len(hidden) == len(asked) == 0


def test_each_window_is_an_example_and_documents_are_counted() -> None:
    documents = [Document("1", tiny.text(9, seed=1)), Document("2", tiny.text(90, seed=2))]
    made = make(TASK, documents, TOKENIZER, limit=40)
    assert made.counts["documents"] == 2
    assert [example.source for example in made.examples][:2] == [("1", 0), ("2", 0)]
    assert len(made.examples) > 3
    assert sum(example.input.tokens.starts[0] == 0 for example in made.examples) == 2


def test_guesses_are_counted_window_by_window() -> None:
    document = Document("1", tiny.text(90, seed=2))
    readings = tiny.inputs(TASK, document, limit=40)
    logits = []
    for number, reading in enumerate(readings):
        answer = np.where(reading.note[1] == MASKED, 0, reading.note[1])
        if number == 0:
            answer = (answer + 1) % len(tiny.PIECES)  # the first window is all wrong
        logits.append(np.eye(len(tiny.PIECES), dtype=np.float32)[answer])
    asked = [int((reading.note[1] != MASKED).sum()) for reading in readings]
    answered = TASK.decode(document, readings, logits)
    assert [(label.name, label.value, label.head) for label in answered.labels] == [
        ("asked", sum(asked), "words"),
        ("right", sum(asked[1:]), "words"),
    ]
    other = Document(
        "2", "x", labels=(Label("asked", value=100.0, head="another"), Label("asked", value=2.0, head="words"))
    )
    scores = TASK.evaluate([], [answered, other])
    assert scores.figures == {"accuracy": sum(asked[1:]) / (sum(asked) + 2), "asked": sum(asked) + 2}
    assert TASK.evaluate([], []).figures == {"accuracy": 0.0, "asked": 0.0}


def test_whole_words_are_hidden_or_none_of_their_tokens() -> None:
    first = np.arange(1, 30_000, 3, dtype=np.int32)  # the first token is what is left of a word before the window
    ids = np.full(30_000, 7, dtype=np.int32)
    masking = Masking(4, 1000, share=0.2, whole_words=True)
    _, asked = masking.apply(ids, np.random.default_rng(0), first=first)
    words = np.split(asked != MASKED, first)
    assert all(word.all() or not word.any() for word in words)
    assert (asked != MASKED).mean() == pytest.approx(0.2, abs=0.02)


def test_what_stands_between_documents_is_never_asked() -> None:
    ids = np.tile(np.array([5, 6, 3], dtype=np.int32), 2000)
    hidden, asked = Masking(4, 1000, share=0.9, separator=3).apply(ids, np.random.default_rng(0))
    assert (asked[ids == 3] == MASKED).all()
    assert (hidden[ids == 3] == 3).all()
    nothing = np.full(4, 3, dtype=np.int32)
    assert (Masking(4, 1000, separator=3).apply(nothing, np.random.default_rng(0))[1] == MASKED).all()
    one = np.array([3, 9, 3], dtype=np.int32)
    assert Masking(4, 1000, share=0.0, separator=3).apply(one, np.random.default_rng(0))[1].tolist() == [-100, 9, -100]
