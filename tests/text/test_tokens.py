"""Tokens of several ranges of a text."""

from __future__ import annotations

import numpy as np
import tiny

from biomux.text import tokens


def test_ranges_split_together_are_those_split_alone() -> None:
    text = tiny.text(30)
    ranges = [(0, 0), (0, 20), (20, 21), (21, 21), (25, len(text))]
    for place, found in zip(ranges, tokens.split(tiny.tokenizer(), text, ranges), strict=True):
        alone = tokens.split(tiny.tokenizer(), text, [place])[0]
        for name in ("ids", "first", "starts", "ends"):
            assert getattr(found, name).dtype == np.int32
            assert getattr(found, name).tolist() == getattr(alone, name).tolist()
        assert all(text[start:end].strip() for start, end in zip(found.starts, found.ends, strict=True))
        assert all(place[0] <= start < place[1] for start in found.starts)


def test_no_ranges_give_no_tokens() -> None:
    assert tokens.split(tiny.tokenizer(), "aspirin", []) == []
