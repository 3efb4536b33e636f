"""The planner: every input gets its own outputs, whatever batch it was in; what several tasks read is read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import tiny

from biomux.document import Document
from biomux.engine.annotator import Annotator
from biomux.engine.packing import Specials, lay_out
from biomux.engine.planner import characters, split
from biomux.tasks.classification import Classification
from biomux.tasks.examples import ModelInput
from biomux.text import tokens
from biomux.text.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from biomux.engine.packing import Batch
    from biomux.tasks.examples import Unit

SPECIALS = Specials(0, 2, 3)


class LengthSession:
    """Logit of the class "long": how many tokens the row has beyond ten."""

    at_once = 1

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        size = batch.mask.sum(axis=1) - 12
        return {"size": np.stack([np.zeros(len(size)), size], axis=1).astype(np.float32)}


@pytest.mark.parametrize("budget", [1, 40, 1000])
@pytest.mark.parametrize("temperature", [1.0, 4.0])
def test_answers_come_back_to_their_documents(budget: int, temperature: float) -> None:
    sizes = [3, 14, 9, 11, 0, 12]
    documents = [Document(str(number), " ".join(["the"] * size)) for number, size in enumerate(sizes)]
    annotator = Annotator.of_tasks(
        LengthSession(),
        tiny.tokenizer(),
        SPECIALS,
        [Classification("size", ("short", "long"))],
        limit=40,
        budget=budget,
        temperatures={"size": temperature},
    )
    answered = list(annotator.answer(documents))
    assert [document.id for document in answered] == [document.id for document in documents]
    expected = [[] if not size else ["long" if size > 10 else "short"] for size in sizes]
    assert [[label.name for label in document.labels] for document in answered] == expected
    chance = 1 / (1 + np.exp(-4 / temperature))
    assert answered[1].labels[0].score == pytest.approx(chance, abs=1e-4)


@pytest.mark.parametrize(("unit", "sizes"), [("word", [2, 1]), ("token", [3, 2]), ("window", [1, 1])])
def test_rows_are_split_by_what_the_task_is_asked_about(unit: Unit, sizes: list[int]) -> None:
    first, second = (
        Tokens(np.arange(size, dtype=np.int32), *(np.array(words, dtype=np.int32) for _ in range(3)))
        for size, words in ((3, [0, 2]), (2, [0]))
    )
    batch = lay_out([ModelInput(first), ModelInput(second)], 6, SPECIALS, windows=[0, 1])
    rows = np.arange(sum(sizes), dtype=np.float32)[:, None]
    parts = split(rows, unit, batch)
    assert [part[:, 0].tolist() for part in parts] == [list(range(sizes[0])), list(range(sizes[0], sum(sizes)))]


def test_answers_have_a_row_for_each_input() -> None:
    one = ModelInput(Tokens(*(np.zeros(1, dtype=np.int32) for _ in range(4))))
    batch = lay_out([one, one], 4, SPECIALS, windows=[0, 1])
    rows = np.arange(16, dtype=np.float32).reshape(2, 4, 2)
    assert [part.tolist() for part in split(rows, "answer", batch)] == rows.tolist()


def test_the_characters_of_an_input_go_from_its_first_word_to_its_last() -> None:
    text = "  aspirin given after fever "
    read = ModelInput(tokens.split(tiny.tokenizer(), text, [(0, len(text))])[0])
    assert characters(read) == len(text.strip())
