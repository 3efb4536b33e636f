"""Pairing documents by id."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Document
from biomux.errors import ScoreError
from biomux.scoring.align import align


def documents(*ids: str, text: str = "Text.") -> list[Document]:
    return [Document(id, text) for id in ids]  # noqa: A001


def codes(gold: list[Document], predicted: list[Document]) -> str:
    with pytest.raises(ScoreError) as caught:
        list(align(gold, predicted))
    return caught.value.code


def test_documents_pair_by_id_in_any_order() -> None:
    pairs = list(align(documents("a", "b", "c"), documents("c", "a", "b")))
    assert sorted(gold.id for gold, _ in pairs) == ["a", "b", "c"]
    assert all(gold.id == predicted.id for gold, predicted in pairs)


@given(st.permutations([str(number) for number in range(7)]), st.permutations([str(number) for number in range(7)]))
def test_any_two_orders_pair(left: list[str], right: list[str]) -> None:
    pairs = list(align(documents(*left), documents(*right)))
    assert sorted(gold.id for gold, _ in pairs) == sorted(left)
    assert all(gold.id == predicted.id for gold, predicted in pairs)


def test_documents_in_the_same_order_stream() -> None:
    def endless() -> object:
        number = 0
        while True:
            yield Document(str(number), "Text.")
            number += 1

    stream = align(endless(), endless())  # type: ignore[arg-type]
    assert [next(stream)[0].id for _ in range(3)] == ["0", "1", "2"]


def test_a_document_on_one_side_only_is_named() -> None:
    with pytest.raises(
        ScoreError, match=r"BX701: document 'b': the document is in the gold but not in the predictions"
    ):
        list(align(documents("a", "b"), documents("a")))
    assert codes(documents("a"), documents("a", "b")) == "BX701"
    assert codes([], documents("b")) == "BX701"


def test_an_id_that_comes_twice_is_refused() -> None:
    assert codes(documents("a", "a"), documents("b", "a")) == "BX702"
    assert codes(documents("a", "b", "a"), documents("a", "b")) == "BX702"
    assert codes(documents("a", "b", "a"), documents("a", "b", "a")) == "BX702"


def test_different_texts_are_refused_with_the_place() -> None:
    with pytest.raises(ScoreError, match=r"BX703: document 'a': .* from character 2 on: 'st' against 'xt'"):
        list(align(documents("a", text="Test"), documents("a", text="Text")))
    assert codes(documents("a", text="Text"), documents("a", text="Text.")) == "BX703"
