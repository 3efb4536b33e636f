"""Abbreviations and their long forms, after Schwartz and Hearst (2003); types are carried from long form to short form.

>>> text = "Tumor necrosis factor (TNF) was high."
>>> [(text[slice(*pair.short)], text[slice(*pair.long)]) for pair in find(text)]
[('TNF', 'Tumor necrosis factor')]
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from biomux.document import Span
from biomux.text import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from biomux.document import Document, Range

SHORT_LENGTHS = range(2, 11)
LONGEST_LONG = 600
"""How many characters before a parenthesis are searched for a long form."""

PARENTHESIS = re.compile(r"\(([^()]{2,300})\)")
CUT = re.compile(r"[,;:]\s")
WORD = re.compile(r"\w+")
LAST_WORD = re.compile(r"[^\s()]{1,10}\Z")
TAIL = re.compile(r"-(?:\d|[A-Za-z\u0370-\u03ff](?!\w)|(?:alpha|beta|gamma|delta|kappa)\b)")
"""A suffix that makes a short form a longer name: "IL-2" and "TNF-alpha" are not mentions of "IL" and "TNF"."""


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """The places of a short form and of the long form that defines it."""

    short: Range
    long: Range


def find(text: str) -> list[Abbreviation]:
    """The abbreviations that a text defines, "long form (SF)" or "SF (long form)", each within one sentence."""
    return _find(text, sentences.split(text))


def carry(document: Document) -> Document:
    """Give each long form's types to the occurrences of its short form from the definition on.

    A span counts as the long form's if it has the same end, and the same start or an earlier one ("human tumor necrosis factor"). An
    occurrence that overlaps a span of the same type is left alone, unless that span comes from a vote (`engine.consistency`): a definition is stronger evidence.
    Where a short form is defined again, the new meaning applies from there on.
    """
    text = document.text
    carried: dict[str, list[tuple[int, list[Span]]]] = {}
    for abbreviation in _find(text, sentences.of(document)):
        sources = [span for span in document.spans if _is_long_form(span, abbreviation.long)]
        carried.setdefault(text[slice(*abbreviation.short)], []).append((abbreviation.short[0], sources))
    if not any(sources for meanings in carried.values() for _, sources in meanings):
        return document
    ranges_by_type: dict[str, list[Range]] = {}
    voted: set[tuple[int, int, str]] = set()
    tagged: set[tuple[int, int, str]] = set()
    for span in document.spans:
        ranges_by_type.setdefault(span.type, []).extend(span.ranges)
        (voted if span.extra.get("from") == "consistency" else tagged).add((span.start, span.end, span.type))
    voted -= tagged  # another head may have found the same span there
    covered = {name: _Cover(ranges) for name, ranges in ranges_by_type.items()}
    added: list[Span] = []
    replaced: set[tuple[int, int, str]] = set()
    for start, end in occurrences(text, carried):
        added_types: set[str] = set()
        for source in _meaning(carried[text[start:end]], start):
            place = (start, end, source.type)
            if source.type not in added_types and (place in voted or not covered[source.type].overlaps(start, end)):
                replaced.add(place)
                added_types.add(source.type)
                added.append(_carried(source, start, end))
    unchanged = [span for span in document.spans if (span.start, span.end, span.type) not in replaced]
    spans = sorted((*unchanged, *added), key=lambda span: (span.start, span.end))
    return replace(document, spans=tuple(spans)) if added else document


def long_form(short: str, text: str, low: int, high: int) -> int | None:
    """The start of the long form of `short` that ends at `high`; None if there is none after `low`.

    The paper's algorithm: match the short form's letters and digits in the text from right to left; the first must be at the start of a word.
    """
    place = high
    first = next(index for index, character in enumerate(short) if character.isalnum())
    for index in range(len(short) - 1, -1, -1):
        character = short[index].lower()
        if not character.isalnum():
            continue
        place -= 1
        while place >= low and (
            text[place].lower() != character or (index == first and place > low and text[place - 1].isalnum())
        ):
            place -= 1
        if place < low:
            return None
    while place > low and not text[place - 1].isspace() and text[place - 1] not in "([{\"'\u201c\u2018":
        place -= 1
    return place


def _find(text: str, ranges: Iterable[Range]) -> list[Abbreviation]:
    abbreviations: list[Abbreviation] = []
    for start, end in ranges:
        for match in PARENTHESIS.finditer(text, start, end):
            pair = _defined_before(text, start, match) or _defined_inside(text, start, match)
            if pair is not None:
                abbreviations.append(pair)
    return abbreviations


def _inside(text: str, match: re.Match[str]) -> Range:
    """The text in the parentheses up to the first comma, semicolon or colon, without quotes and white space."""
    start, end = match.span(1)
    cut = CUT.search(text, start, end)
    end = cut.start() if cut else end
    while start < end and (text[start].isspace() or text[start] in "\"'\u201c\u2018"):
        start += 1
    while start < end and (text[end - 1].isspace() or text[end - 1] in "\"'\u201d\u2019"):
        end -= 1
    return start, end


def _defined_before(text: str, low: int, match: re.Match[str]) -> Abbreviation | None:
    """ "Long form (SF)"."""
    short = _inside(text, match)
    high = _before(text, low, match.start())
    return _pair(text, short, max(low, high - LONGEST_LONG), high)


def _defined_inside(text: str, low: int, match: re.Match[str]) -> Abbreviation | None:
    """ "SF (long form)"; the short form must have a capital or a digit, since almost any word would match some text."""
    high = _before(text, low, match.start())
    word = LAST_WORD.search(text, max(low, high - SHORT_LENGTHS.stop), high)
    start, end = _inside(text, match)
    if word is None or word[0].islower() or end - start < len(word[0]):
        return None
    if word.start() > low and not (text[word.start() - 1].isspace() or text[word.start() - 1] == "("):
        return None
    return _pair(text, word.span(), start, end)


def _before(text: str, low: int, high: int) -> int:
    """The end of the text before a parenthesis, without white space."""
    while high > low and text[high - 1].isspace():
        high -= 1
    return high


def _pair(text: str, short: Range, low: int, high: int) -> Abbreviation | None:
    """The abbreviation, if the text from `low` to `high` ends in a long form of the short form at `short`."""
    name = text[slice(*short)]
    if not _is_short_form(name):
        return None
    start = long_form(name, text, low, high)
    if start is None:
        return None
    length = sum(character.isalnum() for character in name)
    words = text[start:high].split()
    if len(words) > min(length + 5, length * 2) or high - start <= len(name) or name in words:
        return None
    return Abbreviation(short, (start, high))


def _is_short_form(name: str) -> bool:
    return (
        len(name) in SHORT_LENGTHS
        and name[0].isalnum()
        and len(name.split()) <= 2
        and any(character.isalpha() for character in name)
        and sum(character.isalnum() for character in name) > 1
    )


def _is_long_form(span: Span, long: Range) -> bool:
    return not span.fragments and span.end == long[1] and span.start <= long[0]


def _carried(source: Span, start: int, end: int) -> Span:
    return Span(
        start,
        end,
        source.type,
        score=source.score,
        head=source.head,
        identifiers=source.identifiers,
        extra={"from": "abbreviation"},
    )


def _meaning(meanings: list[tuple[int, list[Span]]], place: int) -> list[Span]:
    """The spans of the last definition at or before a place."""
    return next((sources for start, sources in reversed(meanings) if start <= place), [])


def word_starts(text: str) -> dict[str, list[int]]:
    """Each word of a text, and where it begins."""
    starts: dict[str, list[int]] = {}
    for match in WORD.finditer(text):
        starts.setdefault(match[0], []).append(match.start())
    return starts


def occurrences(text: str, names: Iterable[str], starts: Mapping[str, Sequence[int]] | None = None) -> list[Range]:
    """Where the names occur as whole words; the longest, if one begins with another. `starts` are the text's words, if they are known (`word_starts`)."""
    starts = word_starts(text) if starts is None else starts
    by_word: dict[str, list[str]] = {}
    for short in sorted(names, key=len, reverse=True):
        first = WORD.match(short)
        if first:
            by_word.setdefault(first[0], []).append(short)
    places: list[Range] = []
    for word, shorts in by_word.items():
        for start in starts.get(word, ()):
            for short in shorts:
                if text.startswith(short, start) and _ends_word(text, start + len(short)):
                    places.append((start, start + len(short)))
                    break
    return sorted(places)


def _ends_word(text: str, end: int) -> bool:
    following = text[end : end + 1]
    return not (following.isalnum() or following == "_" or TAIL.match(text, end))


class _Cover:
    """Which characters a set of ranges covers; must be queried from left to right."""

    def __init__(self, ranges: list[Range]) -> None:
        self._ranges = sorted(ranges)
        self._next = 0
        self._reach = 0

    def overlaps(self, start: int, end: int) -> bool:
        while self._next < len(self._ranges) and self._ranges[self._next][0] < end:
            self._reach = max(self._reach, self._ranges[self._next][1])
            self._next += 1
        return self._reach > start
