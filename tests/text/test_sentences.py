"""Sentences: hard cases, properties, speed."""

from __future__ import annotations

import pytest
from text.hard_sentences import TUNED, parts

from biomux.text import sentences


@pytest.mark.parametrize("case", TUNED)
def test_a_hard_case_splits_where_its_bars_stand(case: str) -> None:
    text, expected = parts(case)
    assert [text[start:end] for start, end in sentences.split(text)] == expected
