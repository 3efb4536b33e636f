"""Splits made here keep a group on one side, whatever stands around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.corpora.card import CutSplit
from biomux.corpora.splits import group_key, position, side, squeezed
from biomux.document import Document
from biomux.errors import CorpusError

texts = st.text(max_size=40)
seeds = st.integers(-(2**63), 2**63 - 1)


def cut(fraction: float, seed: int = 13, group: str = "text") -> CutSplit:
    return CutSplit.model_validate({"from": "train", "fraction": fraction, "seed": seed, "group": group})


@given(texts, seeds, st.lists(st.sampled_from([" ", "\n", "\t", "  "]), max_size=5))
def test_equal_text_falls_on_one_side_blanks_and_case_aside(text: str, seed: int, blanks: list[str]) -> None:
    cuts = [("devel", cut(0.3, seed)), ("test", cut(0.3, seed))]
    spaced = "".join(blanks) + text + "".join(reversed(blanks))
    assert side(Document("1", text), cuts) == side(Document("2", spaced), cuts)


@given(st.text(), seeds)
def test_a_position_lies_between_nought_and_one(key: str, seed: int) -> None:
    assert 0 <= position(key, seed) < 1


@given(st.lists(st.text(max_size=8), min_size=1, max_size=30, unique_by=squeezed), seeds)
def test_every_document_is_on_exactly_one_side_and_no_group_on_two(words: list[str], seed: int) -> None:
    cuts = [("devel", cut(0.2, seed)), ("test", cut(0.5, seed))]
    documents = [Document(f"{word}-{n}", word) for word in words for n in (1, 2)]
    sides = [side(document, cuts) for document in documents]
    assert set(sides) <= {None, "devel", "test"}
    assert sides[::2] == sides[1::2]


def test_fractions_are_shares_of_the_whole() -> None:
    cuts = [("devel", cut(0.1)), ("test", cut(0.2))]
    sides = [side(Document(str(n), f"text {n}"), cuts) for n in range(5000)]
    assert sides.count("devel") / 5000 == pytest.approx(0.1, abs=0.02)
    assert sides.count("test") / 5000 == pytest.approx(0.2, abs=0.02)


def test_another_seed_gives_another_cut() -> None:
    documents = [Document(str(n), f"text {n}") for n in range(200)]
    first, second = ([side(one, [("devel", cut(0.5, seed))]) for one in documents] for seed in (1, 2))
    assert first != second


def test_positions_never_change() -> None:
    assert position("GSE57120", 13) == pytest.approx(0.8058623309, abs=1e-9)


def test_groups() -> None:
    document = Document("GSE1", "A b", pair="C d", metadata={"pmid": 7})
    assert [group_key(document, group) for group in ("text", "pair", "id", "pmid")] == ["ab", "cd", "GSE1", "7"]
    with pytest.raises(CorpusError, match=r"BX207.*cannot group by 'series'"):
        group_key(document, "series")
