"""Words and punctuation, as BERT's basic pre-tokenizer splits them.

>>> text = "IL-2 (5 mg)."
>>> [text[start:end] for start, end in split(text)]
['IL', '-', '2', '(', '5', 'mg', ')', '.']
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from biomux.document import Range

CHUNK = re.compile(r"[^\s\0]+")


def split(text: str) -> list[Range]:
    """The words of a text, in order: runs between white space, every punctuation character by itself.

    Control and format characters (and U+FFFD) are left out at the edges of a word, but do not end it: a zero-width joiner
    inside a word stays in its range. Words end at anything that Python calls white space and at NUL; BERT instead deletes a few
    of these control characters (NUL, form feed, U+0085).
    """
    ranges: list[Range] = []
    for chunk in CHUNK.finditer(text):
        start, end = chunk.span()
        if chunk[0].isalnum():
            ranges.append((start, end))
        else:
            _split_chunk(text, start, end, ranges)
    return ranges


def _split_chunk(text: str, low: int, high: int, ranges: list[Range]) -> None:
    start = end = -1
    for place in range(low, high):
        kind = _kind(text[place])
        if kind == "letter":
            start = place if start < 0 else start
            end = place + 1
        elif kind == "punctuation":
            if start >= 0:
                ranges.append((start, end))
                start = -1
            ranges.append((place, place + 1))
    if start >= 0:
        ranges.append((start, end))


@lru_cache(maxsize=4096)
def _kind(character: str) -> Literal["letter", "punctuation", "control"]:
    """How BERT classifies a character: ASCII symbols such as "$" and "<" count as punctuation, other symbols do not."""
    category = unicodedata.category(character)
    if category[0] == "P" or (character.isascii() and category[0] == "S"):
        return "punctuation"
    return "control" if category[0] == "C" or character == "\ufffd" else "letter"
