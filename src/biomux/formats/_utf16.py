"""Convert offsets in UTF-16 units, as JavaScript counts, to offsets in characters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from biomux.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from biomux.document import Span


@dataclass(frozen=True, slots=True)
class FromUtf16:
    """The character offset of each UTF-16 offset of a text; `table` is None if every character is one unit."""

    table: Mapping[int, int] | None
    size: int

    def offset(self, units: int, where: str) -> int:
        """The offset in characters."""
        if self.table is None:
            return units
        if units not in self.table:
            raise FormatError(
                "BX114",
                f"offset {units} lies outside the text or within a character, counted in UTF-16 units",
                where=where,
                hint="check whether the offsets count characters",
            )
        return self.table[units]

    def span(self, span: Span, where: str) -> Span:
        """The span with its offsets in characters."""
        if self.table is None:
            return span
        return replace(span, start=self.offset(span.start, where), end=self.offset(span.end, where))


def from_utf16(text: str) -> FromUtf16:
    """The conversion for one text.

    >>> from_utf16("🧬 TP53").offset(3, "here")
    2
    """
    if text.isascii() or max(text) <= "\uffff":
        return FromUtf16(None, len(text))
    table = {0: 0}
    units = 0
    for place, character in enumerate(text, 1):
        units += 2 if character > "\uffff" else 1
        table[units] = place
    return FromUtf16(table, units)
