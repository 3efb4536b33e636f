"""Plain types by the rule "mean": heads are averaged word by word, and decoded once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import stub
import tiny

from biomux.document import Document
from biomux.engine.annotator import Annotator
from biomux.engine.packing import Specials
from biomux.engine.type_merging import Merge, averaged, parse
from biomux.errors import BundleError, UsageError
from biomux.tasks.averaged import of_heads
from biomux.tasks.crf_decoding import Chained
from biomux.tasks.softmax import softmax
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from biomux.engine.packing import Batch

LEFT, RIGHT = Tagging("left", ("Illness",)), Tagging("right", ("X", "Disease"))
SOURCES = (("left", "Illness"), ("right", "Disease"))
MEAN = Merge("disease", SOURCES, "mean")
TEXT = "the acute fever of mice"


class Heads:
    """The left head finds "acute fever" (surely, and "fever" goes on), the right one "fever" alone. `asked` are the heads of each batch."""

    at_once = 1

    def __init__(self) -> None:
        self.asked: list[frozenset[str] | None] = []

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        self.asked.append(batch.heads)
        words = [tiny.PIECES[index] for index in batch.ids.reshape(-1)[batch.first]]
        left = np.zeros((len(words), 3), dtype=np.float32)
        right = np.zeros((len(words), 5), dtype=np.float32)
        for row, word in enumerate(words):
            left[row, {"acute": 1, "fever": 2}.get(word, 0)] = 6
            right[row, {"fever": 3}.get(word, 0)] = 3
        return {"left": left, "right": right}


def annotator(rule: Merge = MEAN, **changes: Any) -> Annotator:
    made = Annotator(Heads(), tiny.tokenizer(), Specials(0, 2, 3), (LEFT, RIGHT), limit=30, budget=256)
    return replace(made, merges={"disease": rule}, **changes)


def found(model: Annotator, text: str = TEXT, **options: Any) -> list[tuple[str, str, str | None]]:
    return [(entity.text, entity.type, entity.head) for entity in model(text, **options).entities]


def test_heads_that_differ_in_a_boundary_settle_on_one() -> None:
    assert found(annotator(Merge("disease", SOURCES, "vote:2", 2))) == []
    assert found(annotator()) == [("acute fever", "disease", "mean")]


def test_the_score_is_that_of_the_average() -> None:
    (span,) = annotator()(TEXT).spans
    left, right = softmax(np.array([[0, 6, 0]], np.float32))[0], softmax(np.array([[3, 0, 0, 0, 0]], np.float32))[0]
    assert span.score == pytest.approx((left[1] + right[3]) / 2, abs=1e-4)  # of "acute", the less sure word


def test_temperatures_of_the_heads_count() -> None:
    cold = annotator(temperatures={"left": 100.0})
    assert found(cold) == [("fever", "disease", "mean")]  # the left head is no longer sure of anything


def test_fewer_heads_have_to_agree_if_outside_counts_less() -> None:
    assert found(annotator(replace(MEAN, outside=30.0))) == []
    assert found(annotator(replace(MEAN, outside=3.0))) == [("fever", "disease", "mean")]
    assert found(annotator(replace(MEAN, outside=0.5))) == [("acute fever", "disease", "mean")]


def test_only_the_heads_that_are_averaged_are_asked() -> None:
    model = annotator()
    other = Tagging("other", ("Z",))
    replace(model, tasks=(*model.tasks, other))(TEXT)
    assert model.session.asked == [frozenset({"left", "right"})]  # type: ignore[attr-defined]


def test_heads_still_say_what_they_find_themselves() -> None:
    assert found(annotator(), heads=["left", "right"]) == [
        ("acute fever", "Illness", "left"),
        ("fever", "Disease", "right"),
    ]


def test_answers_do_not_depend_on_the_batch() -> None:
    documents = [Document(str(seed), tiny.text(40, seed=seed)) for seed in range(8)]
    together = [document.spans for document in annotator(budget=4096).annotate(documents)]
    alone = [next(annotator(budget=1).annotate([document])).spans for document in documents]
    assert together == alone
    assert any(together)


def test_a_long_sentence_is_averaged_over_its_windows() -> None:
    text = " ".join(["the"] * 40 + ["acute fever"] + ["the"] * 40)
    assert found(annotator(), text) == [("acute fever", "disease", "mean")]


def test_a_precision_needs_a_calibration_of_the_average() -> None:
    with pytest.raises(UsageError, match="no calibration"):
        annotator()(TEXT, precision=0.9)
    calibrated = replace(MEAN, curve=((0.2, 0.9), (0.9, 0.99)))
    assert found(annotator(calibrated), precision=0.9)
    assert not found(annotator(calibrated), precision=0.95)


def test_two_types_of_one_head_count_once_and_schemes_may_differ() -> None:
    many = Tagging("many", ("A", "B"), "bioes")
    made = of_heads("m", "x", ((many, "A"), (many, "B"), (LEFT, "Illness")))
    assert [(source.head, source.begins, source.inside) for source in made.sources] == [
        ("many", (1, 4, 5, 8), (2, 3, 6, 7)),
        ("left", (1,), (2,)),
    ]
    assert made.labels == ("O", "B-x", "I-x")


@pytest.mark.parametrize("odd", [Chained("left", ("Illness",)), replace(LEFT, by="passage"), replace(LEFT, longest=9)])
def test_heads_that_cannot_be_averaged_are_refused(odd: Tagging) -> None:
    with pytest.raises(BundleError, match="cannot be averaged") as caught:
        averaged(MEAN, (odd, RIGHT))
    assert caught.value.code == "BX515"


@pytest.mark.parametrize("outside", [0, -1, 101, True, "1", None])
def test_what_is_no_factor_is_refused(outside: object) -> None:
    entry = {"sources": [list(source) for source in SOURCES], "rule": "mean", "outside": outside}
    with pytest.raises(BundleError, match="'outside' of type 'disease'"):
        parse({"disease": entry}, SOURCES)
    assert parse({"disease": {**entry, "outside": 0.7}}, SOURCES)["disease"].outside == 0.7


def test_a_factor_without_an_average_is_refused() -> None:
    entry = {"sources": [list(source) for source in SOURCES], "rule": "union", "outside": 0.5}
    with pytest.raises(BundleError, match="belongs to the rule mean"):
        parse({"disease": entry}, SOURCES)


def test_names_are_consistent_with_the_average_too() -> None:
    model = replace(stub.annotator(), merges={"ill": Merge("ill", (("rule", "Disease"),), "mean")})
    assert found(model, "Fever. Later fever.") == [("Fever", "ill", "mean"), ("fever", "ill", "mean")]
