"""Balance the brackets of entities: what a tagger finds may begin or end inside a pair.

>>> text = "laminin (Ln) of HCT-116) cells"
>>> balanced(text, 0, 11), balanced(text, 16, 30), balanced(text, 8, 9)
((0, 7), (16, 23), None)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from biomux.document import Range

CLOSES = {")": "(", "]": "[", "}": "{"}
OPENS = {opening: closing for closing, opening in CLOSES.items()}
BRACKET = re.compile(r"[()\[\]{}]")


def balanced(text: str, start: int, end: int) -> Range | None:
    """The part of `start`..`end` to keep, with balanced brackets and at least one letter or digit; None if there is none.

    If a bracket is part of a word and its partner is right beside the range, the partner is included: "poly(ADP-ribose" becomes
    "poly(ADP-ribose)". Otherwise the part before the first unmatched bracket is kept, or the part after it if there is nothing before.
    """
    while True:
        mention = text[start:end]
        if mention.isalnum():
            return start, end
        lone = _lone(text, start, end) if BRACKET.search(mention) else None
        if lone is None:
            return (start, end) if any(map(str.isalnum, mention)) else None
        bracket = text[lone]
        if bracket in OPENS:
            if lone > start and not text[lone - 1].isspace() and text[end : end + 1] == OPENS[bracket]:
                end += 1
                continue
        elif lone + 1 < end and not text[lone + 1].isspace() and start > 0 and text[start - 1] == CLOSES[bracket]:
            start -= 1
            continue
        if any(map(str.isalnum, text[start:lone])):
            end = lone
        else:
            start = lone + 1
        start, end = _stripped(text, start, end)


def _lone(text: str, start: int, end: int) -> int | None:
    """The place of the first bracket without a partner."""
    waiting: list[int] = []
    for match in BRACKET.finditer(text, start, end):
        opening = CLOSES.get(match[0])
        if opening is None:
            waiting.append(match.start())
        elif waiting and text[waiting[-1]] == opening:
            waiting.pop()
        else:
            return min([match.start(), *waiting])
    return waiting[0] if waiting else None


def _stripped(text: str, start: int, end: int) -> Range:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
