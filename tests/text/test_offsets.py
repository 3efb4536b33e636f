"""Offsets in characters, bytes and UTF-16 units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Document, Span
from biomux.errors import DocumentError
from biomux.text import offsets

ANY = st.text(alphabet=st.characters(exclude_categories=()))


@given(ANY)
def test_every_character_is_where_the_encoding_puts_it(text: str) -> None:
    bytes_, units = offsets.utf8(text), offsets.utf16(text)
    for char in range(len(text) + 1):
        assert bytes_.of(char) == len(text[:char].encode("utf-8", "surrogatepass"))
        assert units.of(char) == sum(len(c.encode("utf-16-le", "surrogatepass")) // 2 for c in text[:char])
        assert bytes_.char(bytes_.of(char)) == char
        assert units.char(units.of(char)) == char


@given(ANY)
def test_an_offset_inside_a_character_is_refused(text: str) -> None:
    for units in (offsets.utf8(text), offsets.utf16(text)):
        places = {units.of(char) for char in range(len(text) + 1)}
        for unit in set(range(units.total + 1)) - places:
            with pytest.raises(DocumentError, match="inside a character"):
                units.char(unit)


@pytest.mark.parametrize("text", ["", "abc", "aé🧬"])
@pytest.mark.parametrize("make", [offsets.utf8, offsets.utf16])
def test_an_offset_outside_the_text_is_refused(make: object, text: str) -> None:
    assert callable(make)
    units = make(text)
    for call, size in ((units.of, units.size), (units.char, units.total)):
        for offset in (-1, size + 1):
            with pytest.raises(DocumentError, match=r"BX103.*outside"):
                call(offset)


def test_a_range_of_characters_in_units() -> None:
    units = offsets.utf8("α-synuclein 🧬")
    assert units.range((0, 11)) == (0, 12)


def test_spans_of_a_document_in_both_counts() -> None:
    document = Document(
        "1",
        "🧬 β-catenin and α",
        spans=(Span(2, 11, "gene"), Span(2, 17, "gene", fragments=((2, 3), (16, 17)))),
    )
    assert offsets.to_utf16(document) == [((3, 12),), ((3, 4), (17, 18))]
    assert offsets.to_bytes(document) == [((5, 15),), ((5, 7), (20, 22))]


def test_a_lone_surrogate_is_three_bytes_and_one_unit() -> None:
    text = "a\ud800b"
    assert offsets.utf8(text).of(2) == 4
    assert offsets.utf16(text).of(2) == 2
