"""Words and punctuation."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from biomux.text import words

COMMON = st.characters(
    max_codepoint=0xFFFF, exclude_categories=["Cs", "Cn", "Co"], exclude_characters="\0\v\f\x1c\x1d\x1e\x1f\x85"
).filter(lambda character: unicodedata.category(character) == unicodedata.ucd_3_2_0.category(character))
"""Characters that every version of Unicode's tables agrees about, without NUL and the control characters that Python calls white space."""


def mentions(text: str) -> list[str]:
    return [text[start:end] for start, end in words.split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("p53 is low.", ["p53", "is", "low", "."]),
        ("TNF-alpha (5 mg/kg)", ["TNF", "-", "alpha", "(", "5", "mg", "/", "kg", ")"]),
        ("a_b $5 <x>", ["a", "_", "b", "$", "5", "<", "x", ">"]),
        ("37 °C ± 2", ["37", "°C", "±", "2"]),
        ("“quoted”…", ["“", "quoted", "”", "…"]),
        ("α4β7", ["α4β7"]),
        ("na\u0308ive", ["na\u0308ive"]),
        ("\u200ba\u200db\u200b", ["a\u200db"]),
        ("\ufeff", []),
        ("a\fb", ["a", "b"]),
        ("TP53\0MDM2\0\0", ["TP53", "MDM2"]),
    ],
)
def test_words_and_punctuation(text: str, expected: list[str]) -> None:
    assert mentions(text) == expected


@given(st.text(alphabet=COMMON))
def test_words_are_those_of_berts_basic_pre_tokenizer(text: str) -> None:
    normalized = BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
    ).normalize_str(text)
    expected = [word for word, _ in BertPreTokenizer().pre_tokenize_str(normalized)]
    kept = {character for word in expected for character in word}
    assert ["".join(c for c in word if c in kept) for word in mentions(text)] == expected


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_words_are_in_order_and_hold_no_white_space(text: str) -> None:
    position = 0
    for start, end in words.split(text):
        assert position <= start < end <= len(text)
        assert not any(character.isspace() for character in text[start:end])
        position = end
