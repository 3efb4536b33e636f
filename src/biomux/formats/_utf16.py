"""Convert offsets in UTF-16 units, as JavaScript counts, to offsets in characters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from biomux.errors import DocumentError, FormatError
from biomux.text.offsets import Units, utf16

if TYPE_CHECKING:
    from biomux.document import Span


@dataclass(frozen=True, slots=True)
class FromUtf16:
    """`Units` for readers: what is wrong is an error of the format, with its place."""

    units: Units

    def offset(self, unit: int, where: str) -> int:
        """The offset in characters. Where every character is one unit it is returned as it is, for the checks of all offsets."""
        if self.units.total == self.units.size:
            return unit
        try:
            return self.units.char(unit)
        except DocumentError:
            raise FormatError(
                "BX114",
                f"offset {unit} lies outside the text or within a character, counted in UTF-16 units",
                where=where,
                hint="check whether the offsets count characters",
            ) from None

    def span(self, span: Span, where: str) -> Span:
        """The span with its offsets in characters."""
        return replace(span, start=self.offset(span.start, where), end=self.offset(span.end, where))


def from_utf16(text: str) -> FromUtf16:
    """The conversion for one text.

    >>> from_utf16("🧬 TP53").offset(3, "here")
    2
    """
    return FromUtf16(utf16(text))
