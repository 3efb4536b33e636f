"""Brackets of entities: what is kept of one that begins or ends in the middle of a pair."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.text.brackets import CLOSES, balanced


def kept(text: str, mention: str) -> str | None:
    start = text.index(mention)
    place = balanced(text, start, start + len(mention))
    return None if place is None else text[slice(*place)]


@pytest.mark.parametrize(
    ("text", "mention", "expected"),
    [
        ("the HCT-116) cells", "HCT-116) cells", "HCT-116"),
        ("laminin (Ln) was", "laminin (Ln", "laminin"),
        ("wild type (n = 3)", "wild type (", "wild type"),
        ("(IL-2 was high", "(IL-2", "IL-2"),
        ("poly(ADP-ribose) polymerase", "poly(ADP-ribose", "poly(ADP-ribose)"),
        ("and [D-Pen2]-enkephalin", "D-Pen2]-enkephalin", "[D-Pen2]-enkephalin"),
        ("1,25-(OH)2D3 and", "1,25-(OH)2D3", "1,25-(OH)2D3"),
        ("interleukin 2 (IL-2) was", "interleukin 2 (IL-2)", "interleukin 2 (IL-2)"),
        ("a [(x] b", "[(x] b", "x"),
        ("IL-2 and", "IL-2", "IL-2"),
        ("vitamin K was", "K", "K"),
        ("a - b", "-", None),
        ("a (+/-) b", "(+/-)", None),
        ("a [ b", "[", None),
    ],
)
def test_what_is_kept(text: str, mention: str, expected: str | None) -> None:
    assert kept(text, mention) == expected


def in_balance(text: str) -> bool:
    waiting: list[str] = []
    for character in text:
        if character in CLOSES.values():
            waiting.append(character)
        elif character in CLOSES and (not waiting or waiting.pop() != CLOSES[character]):
            return False
    return not waiting


@given(st.text("([{)]}a1 -", min_size=1, max_size=14), st.data())
def test_what_is_kept_is_in_balance_and_stays_as_it_is(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    place = balanced(text, start, end)
    if place is None:
        return
    mention = text[slice(*place)]
    assert in_balance(mention)
    assert any(map(str.isalnum, mention))
    assert balanced(text, *place) == place
    if in_balance(text[start:end]):
        assert place == (start, end)
