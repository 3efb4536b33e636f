"""Whether a line break ends a sentence: headings and list items do, lines of wrapped prose do not."""

from __future__ import annotations

import re


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


NARROW = 50
"""If all lines are shorter than this, the text is not prose wrapped at a margin."""
WIDE = 120
"""A line longer than this is not wrapped at a margin."""

HEADINGS = frozenset(
    (
        *(
            "abstract",
            "background",
            "introduction",
            "objective",
            "objectives",
            "aim",
            "aims",
            "purpose",
            "hypothesis",
            "design",
        ),
        *("setting", "method", "methods", "materials and methods", "methods and materials", "patients and methods"),
        *(
            "subjects and methods",
            "experimental procedures",
            "results",
            "findings",
            "discussion",
            "results and discussion",
        ),
        *(
            "conclusion",
            "conclusions",
            "interpretation",
            "summary",
            "references",
            "acknowledgements",
            "acknowledgments",
        ),
        *(
            "funding",
            "abbreviations",
            "keywords",
            "limitations",
            "participants",
            "patients",
            "intervention",
            "interventions",
        ),
        *("main outcome measures", "measurements", "statistical analysis", "case report", "case presentation"),
        *("supplementary material", "supplementary data", "competing interests", "author contributions"),
    )
)

UNFINISHED = _words(
    """
    a an and any are as at be been between both but by can could each either for from had has have if in into is its may might neither
    no nor not of on or our over per such than that the their then these this those to under until upon using via was we were when
    where whether which while who whose will with within without would against after before during among
    """
)
"""A sentence does not end after one of these words."""

VERBS = _words("was were is are had has have been showed shows found")

BULLET = re.compile(r"(?:[-*\u2022\u2023\u25aa\u25cf\u00b7\u2013]|\d{1,2}[.)]|[a-z]\))[ \t\xa0]")
ITEM = re.compile(r"\((?:\d{1,2}|[a-z]|[ivx]{1,4})\)[ \t\xa0]")
NUMBERING = re.compile(r"(?:\d{1,2}\.)*\d{1,2}\.?\s+|[IVX]{1,4}\.\s+")
FIRST_WORD = re.compile(r"\S{1,40}")
LINE_BREAK = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
PARAGRAPH = re.compile(
    r"(?>\r\n|[\n\r\v\x85\u2028])[^\S\n\r\v\f\x85\u2028\u2029]*+[\n\r\v\f\x85\u2028\u2029]\s*+|[\f\u2029]"
)
"""An empty line, or a page or paragraph break."""


def is_blank_line(gap: str) -> bool:
    """Whether the white space from a line break on contains an empty line, or is a page or paragraph break."""
    if len(gap) == 1 or gap == "\r\n":
        return gap in "\f\u2029"
    return "\f" in gap or "\u2029" in gap or len(LINE_BREAK.findall(gap)) > 1


def breaks_sentence(text: str, start: int, end: int, following: int, low: int, high: int) -> bool:
    """Whether the single line break at `end` ends the sentence begun at `start`; the next line's text begins at `following`."""
    if following >= high:
        return False
    line_start = _line_start(text, max(start, end - 4 * WIDE), end)
    line = text[line_start:end].strip()
    last = line[-1:]
    after = text[following : min(high, following + 48)]
    unfinished = last in ",(-\u2013/=<>+" or line[-12:].rpartition(" ")[2].lower() in UNFINISHED
    if BULLET.match(after):
        return not unfinished
    if ITEM.match(after) and (last in ":;." or ITEM.match(line)):
        return True
    # After a stop, the rules for stops have already decided.
    if unfinished or last in ".!?":
        return False
    whole = line_start <= start
    if whole and _is_heading(line):
        return True
    first = after[0]
    if first.islower() or first in ",;:)]}%/=+\u2019\u201d":
        return False
    # From here on the sentence must begin with this line: the last line of a wrapped paragraph is short too, but continues the previous one.
    if not whole:
        return False
    if len(line) > WIDE:
        return True
    width = _width(text, start, low, high)
    if width < NARROW:
        return not VERBS.intersection(line.split())
    # Wrapped prose breaks a line where the next word no longer fits. If it would have fitted, the break is intended.
    word = FIRST_WORD.match(after)
    return len(line) + 1 + (len(word[0]) if word else 0) <= width


def _is_heading(line: str) -> bool:
    """Whether a line's words or capitals make it a heading."""
    bare = NUMBERING.sub("", line, count=1).rstrip(":").strip()
    return bare.lower() in HEADINGS or (len(bare) > 3 and bare.isupper() and len(bare) <= WIDE)


def _line_start(text: str, low: int, end: int) -> int:
    """The start of the line that ends at `end`, or `low` if that is later."""
    return max(low, *(text.rfind(mark, low, end) + 1 for mark in "\n\r\u2028"))


def _width(text: str, start: int, low: int, high: int) -> int:
    """The longest line of the paragraph near `start`: its margin, if it has one."""
    before = PARAGRAPH.split(text[max(low, start - 4 * WIDE) : start])[-1]
    after = PARAGRAPH.split(text[start : min(high, start + 8 * WIDE)], maxsplit=1)[0]
    return max(map(len, map(str.strip, (before + after).splitlines())), default=0)
