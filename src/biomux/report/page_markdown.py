"""A report as Markdown: the same sections; drawings are files beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from biomux.report.blocks import Excerpts, Facts, Fold, Gallery, Grid, Notice, Picture, Prose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.report.blocks import Block, Page

FIGURES = "figures"
"""The folder of the drawings, beside the page."""

_SIGNS = re.compile(r"([\\`*_{}\[\]#|~!])")


def markdown(page: Page) -> str:
    """The page; its drawings are expected as `figures/NAME.svg`."""
    parts = [f"# {_text(page.title)}", _text(page.about)]
    for section in page.sections:
        parts += [f"## {_text(section.title)}", *_blocks(section.blocks)]
    if page.foot:
        parts.append(_text(page.foot))
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Iterable[Block]) -> list[str]:
    return [part for block in blocks for part in _block(block)]


def _block(block: Block) -> list[str]:
    match block:
        case Prose(text, _):
            return [_text(text)]
        case Notice(text, fine):
            return [_text(text) if fine else f"> **Alarm:** {_text(text)}"]
        case Grid():
            return _grid(block)
        case Picture():
            return _picture(block)
        case Gallery(pictures, _):
            return [part for picture in pictures for part in _picture(picture)]
        case Excerpts(examples):
            return [
                "\n".join(
                    f"- **{_text(example.kind)}** {_text(example.types)}: {_text(example.marked)} ({_text(example.document)})"
                    for example in examples
                )
            ]
        case Facts(facts):
            return [
                "\n".join(
                    f"- {_text(label)}: **{_text(value)}** {_text(word)}".rstrip() for label, value, word in facts
                )
            ]
        case Fold(title, inner, _):
            return [f"### {_text(title)}", *_blocks(inner)]


def _grid(block: Grid) -> list[str]:
    rows = [
        tuple(f"**{_text(cell)}**" if cell and place in block.strong else _text(cell) for cell in row)
        for place, row in enumerate(block.rows)
    ]
    lines = [tuple(map(_text, block.columns)), ("---",) * len(block.columns), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    title = [f"**{_text(block.title)}**"] if block.title else []
    return [*title, table, *([_code(block.below)] if block.below else [])]


def _picture(picture: Picture) -> list[str]:
    shown = f"![{_text(picture.alt)}]({FIGURES}/{picture.name}.svg)"
    return [shown, *([_text(picture.caption)] if picture.caption else [])]


def _code(text: str) -> str:
    """One line as code: a signature has characters that would be read as markup."""
    return f"`{_line(text).replace('`', chr(39))}`"


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in " ".join(text.split(" ")))


def _text(text: str) -> str:
    """Text on one line, with markup escaped."""
    return _SIGNS.sub(r"\\\1", _line(text)).replace("<", "&lt;").replace(">", "&gt;")
