"""Texts and pairs of texts as readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.tasks.examples import ModelInput
from biomux.text import tokens as text_tokens
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections import Counter

    from tokenizers import Tokenizer

    from biomux.document import Document, Range
    from biomux.text.tokens import Tokens


def windowed(tokenizer: Tokenizer, text: str, part: Range, *, limit: int, counts: Counter[str]) -> list[Tokens]:
    """The tokens of a range of a text, in overlapping windows where it is longer than the limit; none where it has no token."""
    tokens = text_tokens.split(tokenizer, text, [part])[0]
    found = [window for window in windows(len(tokens), limit=limit) if window.end > window.start]
    if len(found) < 2:
        return [tokens] if found else []
    counts["texts read in windows"] += 1
    return [tokens.window(window.start, window.end) for window in found]


def pair(document: Document, tokenizer: Tokenizer, *, limit: int, counts: Counter[str]) -> ModelInput | None:
    """The document's text and its pair as one row, shortened to the limit one token at a time from the longer side."""
    if document.pair is None:
        counts["documents without a pair"] += 1
        return None
    left = text_tokens.split(tokenizer, document.text, [(0, len(document.text))])[0]
    right = text_tokens.split(tokenizer, document.pair, [(0, len(document.pair))])[0]
    kept = shares(len(left), len(right), limit - 1)
    if kept != (len(left), len(right)):
        counts["pairs shortened"] += 1
        counts["tokens cut from pairs"] += len(left) + len(right) - sum(kept)
    return ModelInput(right.window(0, kept[1]), left.window(0, kept[0]))


def shares(left: int, right: int, room: int) -> tuple[int, int]:
    """How many tokens of each side stay when one token at a time is taken from the longer side, from the second if both are equal.

    >>> shares(10, 4, 8), shares(3, 4, 8), shares(9, 9, 5)
    ((4, 4), (3, 4), (3, 2))
    """
    while left + right > room:
        if left > right:
            left -= 1
        else:
            right -= 1
    return left, right
