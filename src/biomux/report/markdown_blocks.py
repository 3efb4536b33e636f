"""Blocks from Markdown that Biomux wrote: headings, paragraphs, lists, tables, code and pictures. Anything else stays a paragraph of text."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from biomux.report.blocks import Fold, Grid, Picture, Prose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from biomux.report.blocks import Block

_IMAGE = re.compile(r"!\[(?P<alt>(?:\\.|[^\]])*)\]\((?P<path>[^)]*)\)")
_LINK = re.compile(r"\[((?:\\.|[^\]])*)\]\([^)]*\)")
_CELL = re.compile(r"(?<!\\)\|")
_SIGN = re.compile(r"\\([\\`*_{}\[\]<>#|~!.+()-])")


def blocks_of(text: str, *, drawings: Mapping[str, str], name: str) -> list[Block]:
    """The blocks of a text. Pictures are looked up by their file name; drawings that it does not name follow at the end."""
    top: list[Block] = []
    folds: list[tuple[str, list[Block]]] = []
    used: set[str] = set()
    for paragraph in _paragraphs(text):
        into = folds[-1][1] if folds else top
        first = paragraph[0]
        if first.startswith("# "):
            continue  # the section has a title of its own
        if first.startswith("#"):
            folds.append((_plain(first.lstrip("# ")), []))
            into = folds[-1][1]
            paragraph = paragraph[1:]
        if not paragraph:
            continue
        if paragraph[0].startswith("|") and len(paragraph) > 1:
            into.append(_table(paragraph))
        elif found := _IMAGE.fullmatch(paragraph[0].strip()):
            file = found["path"].rsplit("/", 1)[-1]
            if file in drawings:
                used.add(file)
                into.append(_picture(file, drawings[file], _plain(found["alt"]), name))
            into += [Prose(_plain(" ".join(paragraph[1:])))] if paragraph[1:] else []
        elif paragraph[0].startswith(("- ", "* ")):
            into += [Prose("• " + _plain(line[2:])) for line in _items(paragraph)]
        else:
            into.append(Prose(_plain(" ".join(line.strip() for line in paragraph if not line.startswith("```")))))
    made = [*top, *(Fold(title, tuple(inner), open=True) for title, inner in folds)]
    return [*made, *(_picture(file, svg, file, name) for file, svg in drawings.items() if file not in used)]


def _paragraphs(text: str) -> list[list[str]]:
    return [list(lines) for blank, lines in groupby(text.splitlines(), lambda line: not line.strip()) if not blank]


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if line.startswith(("- ", "* ")) or not items:
            items.append(line)
        else:
            items[-1] += " " + line.strip()
    return items


def _table(lines: list[str]) -> Grid:
    rows = [tuple(_plain(cell) for cell in _CELL.split(line.strip().strip("|").strip())) for line in lines]
    head = rows[0]
    body = tuple((*row, *[""] * (len(head) - len(row)))[: len(head)] for row in rows[2:])
    return Grid("", head, body)


def _picture(file: str, svg: str, alt: str, name: str) -> Picture:
    stem = re.sub(r"[^\w-]", "_", file.removesuffix(".svg"))
    return Picture(f"{name}-{stem}", svg, alt or file, foreign=True)


def _plain(text: str) -> str:
    """Text without its marks: bold, code, links; escaped signs as themselves."""
    text = _LINK.sub(r"\1", text.strip())
    text = re.sub(r"(?<!\\)(\*\*|`)", "", text)
    return _SIGN.sub(r"\1", text).strip()
