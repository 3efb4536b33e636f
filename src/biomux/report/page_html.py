"""A report as one HTML page that needs nothing else: no script, no font, no picture from elsewhere.

Everything that came from outside (names, texts) is escaped here, and in drawings by the code that draws them; drawings are never read from files.
"""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from biomux.report.blocks import Excerpts, Facts, Fold, Gallery, Grid, Notice, Picture, Prose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.report.blocks import Block, Excerpt, Page

NUMBER = re.compile(r"[+−-]?[\d,]*\.?\d+(e-?\d+)?( ?%)?( ±\d+\.\d+)?")
"""Cells that match are set as figures: aligned right, in digits of one width."""

SHORT = 24
"""Cells of at most this many letters are not broken into lines."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for the page: nothing but its own styles."""


def html(page: Page) -> str:
    """The page."""
    style = files("biomux.report").joinpath("page.css").read_text(encoding="utf-8").strip()
    contents = "".join(
        f'<li><a href="#{_attribute(section.anchor)}">{_text(section.title)}</a></li>' for section in page.sections
    )
    sections = "\n".join(
        f'<section id="{_attribute(section.anchor)}" aria-labelledby="{_attribute(section.anchor)}-title">\n'
        f'<h2 id="{_attribute(section.anchor)}-title">{_text(section.title)}</h2>\n{_blocks(section.blocks)}\n</section>'
        for section in page.sections
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_attribute(POLICY)}">
<title>{_text(page.title)}</title>
<style>
{style}
</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<h1>{_text(page.title)}</h1>
<p>{_text(page.about)}</p>
<nav aria-label="Sections"><ul>{contents}</ul></nav>
</header>
<main id="content">
{sections}
</main>
<footer><p>{_text(page.foot)}</p></footer>
</body>
</html>
"""


def _blocks(blocks: Iterable[Block]) -> str:
    return "\n".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Prose(text, note):
            return f"<p{' class=note' if note else ''}>{_text(text)}</p>"
        case Notice(text, fine):
            kind, word = ("fine", "") if fine else ("alarm", "<strong>Alarm:</strong> ")
            return f'<p class="notice {kind}" role="note">{word}{_text(text)}</p>'
        case Grid():
            return _grid(block)
        case Picture():
            return _picture(block)
        case Gallery(pictures, least):
            return (
                f'<div class="gallery" style="--least:{least}px">\n' + "\n".join(map(_picture, pictures)) + "\n</div>"
            )
        case Excerpts(examples):
            return '<ul class="excerpts">\n' + "\n".join(map(_excerpt, examples)) + "\n</ul>"
        case Facts(facts):
            shown = "".join(
                f"<div><dt>{_text(label)}</dt><dd><b>{_text(value)}</b> <span>{_text(word)}</span></dd></div>"
                for label, value, word in facts
            )
            return f'<dl class="facts">{shown}</dl>'
        case Fold(title, inner, opened):
            return (
                f"<details{' open' if opened else ''}><summary><h3>{_text(title)}</h3></summary>\n"
                f"{_blocks(inner)}\n</details>"
            )


def _grid(block: Grid) -> str:
    plain = not any(block.columns)  # a list of names and values: nothing to head, nothing to add up
    head = "".join(f'<th scope="col">{_text(name) or "<span class=hidden>row</span>"}</th>' for name in block.columns)
    body = []
    for place, row in enumerate(block.rows):
        first, *rest = row
        cells = "".join(f"<td{'' if plain else _kind(cell)}>{_text(cell)}</td>" for cell in rest)
        body.append(
            f'<tr{" class=sum" if place in block.strong else ""}><th scope="row">{_text(first)}</th>{cells}</tr>'
        )
    below = f'<p class="signature">{_text(block.below)}</p>' if block.below else ""
    caption = f"<caption>{_text(block.title)}</caption>" if block.title else ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_attribute(block.title or "table")}">'
        f"<table>{caption}{'' if plain else f'<thead><tr>{head}</tr></thead>'}<tbody>\n"
        + "\n".join(body)
        + f"\n</tbody></table></div>{below}"
    )


def _kind(cell: str) -> str:
    if NUMBER.fullmatch(cell):
        return " class=number"
    return " class=short" if len(cell) <= SHORT else ""


def _picture(picture: Picture) -> str:
    caption = f"<figcaption>{_text(picture.caption)}</figcaption>" if picture.caption else ""
    shown = picture.svg.strip()
    if picture.wide:
        shown = f'<div class="scroll" role="region" tabindex="0" aria-label="{_attribute(picture.alt)}">{shown}</div>'
    return f"<figure>{shown}{caption}</figure>"


def _excerpt(example: Excerpt) -> str:
    shown = []
    before = (False, False)
    for text, gold, predicted in (*example.pieces, ("", False, False)):
        # Brackets that are read aloud and copied but not shown: on screen there are the marks.
        signs = "".join(
            sign
            for sign, changes in (
                ("}", before[1] and not predicted),
                ("]", before[0] and not gold),
                ("[", gold and not before[0]),
                ("{", predicted and not before[1]),
            )
            if changes
        )
        if signs:
            shown.append(f"<span class=hidden>{signs}</span>")
        kind = " ".join(name for name, on in (("gold", gold), ("said", predicted)) if on)
        shown.append(f'<mark class="{kind}">{_text(text)}</mark>' if kind else _text(text))
        before = (gold, predicted)
    return (
        f"<li><span class=kind>{_text(example.kind)}</span> <span class=types>{_text(example.types)}</span> "
        f"<q>{''.join(shown)}</q> <cite>{_text(example.document)}</cite></li>"
    )


def _text(value: str) -> str:
    """Text, with characters made visible that would be invisible or change the direction of what follows."""
    return escape("".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in value))


_attribute = _text
