"""Pairs of texts to be compared: files with two texts a row, or two texts on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from biomux import formats
from biomux.annotate.inputs import Inputs, is_text
from biomux.document import Document
from biomux.errors import FormatError, UsageError
from biomux.formats import ReadAs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from biomux.formats import Format, Source


@dataclass
class PairReadAs(ReadAs):
    """As `ReadAs`; what is recognised as something without a second text is read as a table or JSON of pairs."""

    @classmethod
    def of(cls, reads: ReadAs, *, text: str | None, pair: str | None) -> PairReadAs:
        """The same, with columns for the two texts. Numbers count from 1 here, as in all commands, and from 0 in the format."""
        columns = {name: _position(value) for name, value in (("text", text), ("pair", pair)) if value is not None}
        if text is not None and pair is None:
            raise UsageError("BX001", "--text needs --pair", hint="name the columns of both texts, or neither")
        named = {name: _position(value) if name == "id" else value for name, value in reads.options.items()}
        asked = "pairs" if columns and reads.format is None else reads.format
        return cls(asked, {**named, **columns}, reads.on_hint)

    def format_of(self, source: Source) -> Format:
        """The format of a source: one that holds pairs."""
        if self.format:
            return formats.get(self.format)
        try:
            recognised = formats.guess(source)
        except FormatError:
            recognised = None
        return recognised if recognised and "pair" in recognised.holds else formats.get("pairs")


@dataclass
class PairInputs(Inputs):
    """As `Inputs`; two texts in place of files are one pair."""

    def __post_init__(self) -> None:
        super().__post_init__()
        texts = [argument for argument in self.arguments if self._is_text(argument)]
        if texts and (len(texts) != 2 or len(self.arguments) != 2):
            raise UsageError(
                "BX001",
                f"expected files or exactly two texts, got {texts[0]!r:.60}",
                hint="no file has that name; give two texts, or the names of files",
            )

    def places(self) -> list[Path] | None:
        """As `Inputs.places`; no argument can be declared a text here."""
        try:
            return super().places()
        except UsageError as error:
            hint = (error.hint or "").removesuffix(", or add --as-text if it is a text")
            raise UsageError(error.code, error.message, where=error.where, hint=hint or None) from None

    def documents(self) -> Iterator[Document]:
        """Every pair, lazily."""
        if len(self.arguments) == 2 and all(map(is_text, self.arguments)):
            yield Document("text", self.arguments[0], pair=self.arguments[1])
            return
        yield from super().documents()


def _position(column: str) -> str:
    return str(int(column) - 1) if column.isdecimal() and int(column) else column
