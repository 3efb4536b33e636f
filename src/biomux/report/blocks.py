"""What a report is made of, in any format: sections of blocks.

`page_html` and `page_markdown` write the same blocks, so that both say the same. Blocks hold plain text, which the writers escape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Cell = str


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph. `note` is one that says how to read what is near it."""

    text: str
    note: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence that must not be overlooked: an alarm, or (`fine`) that there is none."""

    text: str
    fine: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the first cell of a row is its heading. `below` is the line under it, most often a signature."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    below: str = ""
    strong: frozenset[int] = frozenset()
    """Rows that are sums or means of the others."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing. `name` is unique in a page and fit for a file name."""

    name: str
    svg: str
    alt: str
    caption: str = ""
    wide: bool = False
    """May not be made smaller than it is drawn: it scrolls instead."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Small drawings of one kind, side by side. `least`: pixels below which none is drawn narrower."""

    pictures: tuple[Picture, ...]
    least: int = 160


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A mistake in its text: pieces, each with whether it is in a gold mention and whether in a predicted one."""

    kind: str
    types: str
    pieces: tuple[tuple[str, bool, bool], ...]
    marked: str
    document: str


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Mistakes in their texts."""

    examples: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """A few figures to show first: each a label, a value and a short note."""

    facts: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that can be folded away under a title; `open` says whether they are shown at first."""

    title: str
    blocks: tuple[Block, ...]
    open: bool = False


Block = Prose | Notice | Grid | Picture | Gallery | Excerpts | Facts | Fold


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and the blocks below it; `anchor` is its place in the page's address."""

    title: str
    anchor: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    title: str
    about: str
    sections: tuple[PageSection, ...]
    foot: str = ""

    def pictures(self) -> list[Picture]:
        """Every drawing, in order."""
        return [picture for section in self.sections for picture in _pictures(section.blocks)]


def grid(
    title: str, table: tuple[Sequence[str], Sequence[tuple[str, ...]]], *, below: str = "", strong: int = 0
) -> Grid:
    """A `Table` as a block; the last `strong` rows are sums or means."""
    columns, rows = table
    last = range(len(rows) - strong, len(rows))
    return Grid(title, tuple(columns), tuple(tuple(row) for row in rows), below, frozenset(last))


def _pictures(blocks: tuple[Block, ...]) -> list[Picture]:
    pictures: list[Picture] = []
    for block in blocks:
        if isinstance(block, Picture):
            pictures.append(block)
        elif isinstance(block, Gallery):
            pictures += block.pictures
        elif isinstance(block, Fold):
            pictures += _pictures(block.blocks)
    return pictures
