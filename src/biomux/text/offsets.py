"""Convert offsets between characters and UTF-8 bytes or UTF-16 units: for Java, JavaScript and anything that counts bytes.

A text is treated as runs of characters of one width, so ASCII is a single run, and a lookup is a binary search among the runs. Lone
surrogates count as Python's `surrogatepass` writes them: three bytes, one unit.

>>> units = utf16("α 🧬 β")
>>> units.of(4), units.char(5)
(5, 4)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from biomux.errors import DocumentError

if TYPE_CHECKING:
    from biomux.document import Document, Range

UTF8_RUN = re.compile(
    "(?P<w1>[\0-\x7f]+)|(?P<w2>[\x80-\u07ff]+)|(?P<w3>[\u0800-\uffff]+)|(?P<w4>[\U00010000-\U0010ffff]+)"
)
UTF16_RUN = re.compile("(?P<w1>[\0-\uffff]+)|(?P<w2>[\U00010000-\U0010ffff]+)")


@dataclass(frozen=True, slots=True)
class Units:
    """The offsets of one text in other units. Run i begins at character `chars[i]` and unit `starts[i]`; its characters are `widths[i]` units wide."""

    name: str
    size: int
    """Characters in the text."""
    total: int
    """Units in the text."""
    chars: tuple[int, ...]
    starts: tuple[int, ...]
    widths: tuple[int, ...]

    def of(self, char: int) -> int:
        """The unit at which a character begins; the end of the text is a valid offset."""
        if not 0 <= char <= self.size:
            raise self._outside(char, self.size, "characters")
        run = bisect_right(self.chars, char) - 1
        return self.starts[run] + (char - self.chars[run]) * self.widths[run]

    def char(self, unit: int) -> int:
        """The character that begins at a unit."""
        if not 0 <= unit <= self.total:
            raise self._outside(unit, self.total, self.name)
        run = bisect_right(self.starts, unit) - 1
        steps, rest = divmod(unit - self.starts[run], self.widths[run])
        if rest:
            raise DocumentError(
                "BX103",
                f"offset {unit} in {self.name} lies inside a character",
                hint=f"the character begins at {unit - rest}; check that both sides count the same units",
            )
        return self.chars[run] + steps

    def range(self, chars: Range) -> Range:
        """A range of characters, in units."""
        return self.of(chars[0]), self.of(chars[1])

    def _outside(self, offset: int, size: int, name: str) -> DocumentError:
        return DocumentError(
            "BX103",
            f"offset {offset} lies outside the text, which has {size} {name}",
            hint="check that the offset belongs to this text and is in these units",
        )


def utf8(text: str) -> Units:
    """Offsets of a text in bytes of UTF-8."""
    return _units(text, "bytes of UTF-8", UTF8_RUN)


def utf16(text: str) -> Units:
    """Offsets of a text in units of UTF-16."""
    return _units(text, "units of UTF-16", UTF16_RUN)


def to_bytes(document: Document) -> list[tuple[Range, ...]]:
    """The ranges of each span (one, or one per fragment) in bytes of UTF-8, in the order of `document.spans`."""
    return _span_ranges(document, utf8(document.text))


def to_utf16(document: Document) -> list[tuple[Range, ...]]:
    """The ranges of each span (one, or one per fragment) in units of UTF-16, in the order of `document.spans`.

    >>> from biomux.document import Document, Span
    >>> to_utf16(Document("1", "🧬 TP53", spans=(Span(2, 6, "gene"),)))
    [((3, 7),)]
    """
    return _span_ranges(document, utf16(document.text))


def _span_ranges(document: Document, units: Units) -> list[tuple[Range, ...]]:
    return [tuple(units.range(place) for place in span.ranges) for span in document.spans]


def _units(text: str, name: str, pattern: re.Pattern[str]) -> Units:
    size = len(text)
    if text.isascii():
        return Units(name, size, size, (0,), (0,), (1,))
    chars: list[int] = []
    starts: list[int] = []
    widths: list[int] = []
    total = 0
    for match in pattern.finditer(text):
        width = match.lastindex or 1
        chars.append(match.start())
        starts.append(total)
        widths.append(width)
        total += (match.end() - match.start()) * width
    return Units(name, size, total, tuple(chars), tuple(starts), tuple(widths))
