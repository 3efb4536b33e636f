"""Split biomedical text into sentences.

One compiled pattern finds the candidates (stops and line breaks); cheap checks of the words around each decide. Time is linear in
the length of any text: the pattern never fails after a long match, and every check looks at a bounded number of characters.

>>> text = "We cloned it in E. coli. p53 was low (Fig. 1A)."
>>> [text[start:end] for start, end in split(text)]
['We cloned it in E. coli.', 'p53 was low (Fig. 1A).']
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.text.line_breaks import breaks_sentence, is_blank_line
from biomux.text.sentence_ends import ends_sentence

if TYPE_CHECKING:
    from biomux.document import Document, Range

STOPS = ".!?\u2026"
WIDE_STOPS = "\u3002\uff01\uff1f"
BREAKS = "\n\r\v\f\x85\u2028\u2029"
CANDIDATE = re.compile(
    rf"[{STOPS}{WIDE_STOPS}{BREAKS}]"
    rf"(?:(?<=[{BREAKS}])\s*+|[{STOPS}{WIDE_STOPS}]*+[\"'\u201d\u2019)\]}}\u00bb\u300d\u300f\uff09]*+)"
)
"""Begins with one character set, which `re` searches for fastest. Possessive, and nothing in it can fail after the first character: a run
of a million stops is one match, not a million attempts."""

VISIBLE = re.compile(r"\S")


def split(text: str) -> list[Range]:
    """The sentences of a text, in order, without the white space around them; every other character is in one."""
    return _within(text, 0, len(text))


def of(document: Document) -> tuple[Range, ...]:
    """The document's sentences if it has them; otherwise its text is split, and no sentence crosses the edge of a passage."""
    if document.sentences is not None:
        return document.sentences
    ranges: list[Range] = []
    position = 0
    for passage in document.passages:
        ranges += _within(document.text, position, passage.start)
        ranges += _within(document.text, passage.start, passage.end)
        position = passage.end
    ranges += _within(document.text, position, len(document.text))
    return tuple(ranges)


def _within(text: str, low: int, high: int) -> list[Range]:
    """The sentences between two offsets."""
    ranges: list[Range] = []
    first = VISIBLE.search(text, low, high)
    if first is None:
        return ranges
    start = first.start()
    for match in CANDIDATE.finditer(text, start, high):
        if match.start() < start:  # the line break after a stop that has already ended a sentence
            continue
        end = _end(text, start, match, low, high)
        if end is None:
            continue
        following = VISIBLE.search(text, end, high)
        if following is None:
            break
        ranges.append((start, _trimmed(text, start, end)))
        start = following.start()
    ranges.append((start, _trimmed(text, start, high)))
    return ranges


def _trimmed(text: str, start: int, end: int) -> int:
    """The end without white space before it."""
    if not text[end - 1].isspace():
        return end
    return start + len(text[start:end].rstrip())


def _end(text: str, start: int, match: re.Match[str], low: int, high: int) -> int | None:
    """The end of the sentence begun at `start` if this candidate ends it."""
    place, after = match.span()
    mark = text[place]
    if mark in STOPS:
        return ends_sentence(text, start, place, after, high)
    if mark in WIDE_STOPS:
        return after
    if is_blank_line(match.group()) or breaks_sentence(text, start, place, after, low, high):
        return place
    return None
