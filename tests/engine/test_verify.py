"""What `biomux verify` makes of a bundle's own examples."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import stub

from biomux.document import Document
from biomux.engine.bundle.task_settings import DEEPEST, _plain
from biomux.engine.bundle.tokenizer_check import build
from biomux.engine.bundle.verify import _margin, first_logits
from biomux.engine.session import SessionAnswers
from biomux.errors import BundleError
from biomux.tasks.relation import Relations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def test_the_margin_is_between_the_best_label_and_the_next() -> None:
    logits = {"a": np.array([[0, 1, 5], [9, 2, 3]], dtype=np.float32), "b": np.array([[7, 4]], dtype=np.float32)}
    assert _margin(logits, ["a", "b"]) == 3
    assert _margin(logits, ["a"]) == 4
    assert _margin({"a": np.zeros((0, 3), dtype=np.float32)}, ["a", "none"]) == math.inf


class _Pairs(SessionAnswers):
    """Remembers the places that it was asked about."""

    def __init__(self) -> None:
        self.places: list[list[int]] = []

    def pair_logits(self, head: str, places: NDArray[np.int64]) -> NDArray[np.float32]:
        self.places += places.tolist()
        return np.zeros((len(places), 3), dtype=np.float32)

    def __getitem__(self, head: str) -> NDArray[np.float32]:
        return np.zeros((4, 5), dtype=np.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_heads_of_pairs_are_asked_about_the_first_and_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    links = Relations("links", ("treats", "causes"), "one-pass", first=("chemical",), second=("disease",))
    annotator = replace(stub.annotator(), asking=(links,))
    answers = _Pairs()
    monkeypatch.setattr(annotator.session, "run", lambda _: answers)
    assert first_logits(annotator, Document("1", "Aspirin given after fever."))["links"].shape == (1, 3)
    assert answers.places == [[0, 0, 4, 4]]


def test_values_of_settings_may_be_nested_as_deep_as_stated() -> None:
    assert DEEPEST == 3
    assert _plain([[["a"]]], DEEPEST)
    assert not _plain([[[["a"]]]], DEEPEST)


def test_what_the_library_says_about_a_tokenizer_is_cut_to_200_characters() -> None:
    with pytest.raises(BundleError) as caught:
        build(json.dumps({"version": "x" * 500}).encode())
    assert len(caught.value.message.removeprefix("cannot build the tokenizer: ")) == 200
