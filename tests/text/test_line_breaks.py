"""Line breaks: which of them end a sentence."""

from __future__ import annotations

import pytest

from biomux.text.line_breaks import _is_heading


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("AIMS", True),
        ("DNA", False),
        ("1. Methods:", True),
        ("Aims of this", False),
        ("A" * 120, True),
        ("A" * 121, False),
    ],
)
def test_headings_are_known_words_or_four_capitals_and_more(line: str, heading: bool) -> None:
    assert _is_heading(line) is heading
