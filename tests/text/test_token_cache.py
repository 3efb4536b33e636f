"""Remembered tokens are the tokenizer's own, whatever the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tiny
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from biomux.text import token_cache, tokens

if TYPE_CHECKING:
    import pytest

KEPT = tiny.tokenizer()
MEMORY = token_cache.Remembering(KEPT)
PARTS = st.one_of(
    st.sampled_from(
        [*tiny.WORDS, *tiny.SPECIALS, " ", "  ", "\n", "\t", "\u00a0", "\u2028", "\x00", "\x1c", "\ufeff", "\u00ad"]
    ),
    st.sampled_from(
        ["é", "e\u0301", "\u0301", "ß", "İ", "癌", "한", "\U0001f9ec", "(il-2)", "aspirin/bexol", "x" * 120]
    ),
    st.text(max_size=8),
)


def same(left: tokens.Tokens, right: tokens.Tokens) -> bool:
    return all(
        one.dtype == other.dtype and np.array_equal(one, other)
        for one, other in ((getattr(left, name), getattr(right, name)) for name in ("ids", "first", "starts", "ends"))
    )


@given(st.lists(PARTS, max_size=30).map("".join), st.data())
def test_tokens_are_those_of_the_tokenizer(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    ranges = [(0, cut), (cut, len(text))]
    wanted = tokens.split(KEPT, text, ranges)
    for _ in range(2):
        assert all(same(one, other) for one, other in zip(MEMORY.split(text, ranges), wanted, strict=True))


def test_a_memory_that_is_full_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_cache, "MOST", 3)
    memory, text = token_cache.Remembering(KEPT), tiny.text(60)
    assert same(memory.split(text, [(0, len(text))])[0], tokens.split(KEPT, text, [(0, len(text))])[0])
    assert len(memory._cache) <= 3


def test_only_tokenizers_that_do_not_look_across_blanks_are_remembered() -> None:
    assert token_cache.may_remember(KEPT)
    other = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    other.normalizer = normalizers.BertNormalizer()
    other.pre_tokenizer = pre_tokenizers.ByteLevel()
    assert not token_cache.may_remember(other)
    for settings in ({"lstrip": True}, {"rstrip": True}, {"single_word": True}):
        reaching = Tokenizer.from_str(KEPT.to_str())
        reaching.add_tokens([AddedToken("zol", normalized=False, **settings)])
        assert not token_cache.may_remember(reaching)
    inner = Tokenizer.from_str(KEPT.to_str())
    inner.add_tokens([AddedToken("zol", normalized=False)])
    assert token_cache.may_remember(inner)
    inner.add_tokens([AddedToken("zol mide", normalized=False)])
    assert not token_cache.may_remember(inner)
