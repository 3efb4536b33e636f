"""The critical-difference picture: systems on an axis of average ranks, bars over those that do not differ. SVG, without any library.

The best system is on the left. A bar joins neighbours of which no pair differs by the chosen test; with Nemenyi's test the critical
difference is drawn to scale. Where Friedman's test finds nothing, the picture says so: its bars then mean nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from biomux.scoring.ranks import Ranking

INK, SOFT, BAR = "#1f2933", "#7b8794", "#b4540a"
STEP = 84
"""Pixels of one rank, if there is room."""
LINE = 24
"""Pixels from one label to the next."""
LEVEL = 11
"""Pixels from one bar to the next."""
LETTER = 7.3
"""Pixels of a letter at the size of labels, on the large side."""


def rank_diagram(ranking: Ranking, *, test: str = "conover", title: str = "") -> str:
    """The picture as SVG text; `test` ("conover" or "nemenyi") decides the bars."""
    order = sorted(ranking.systems, key=lambda name: (ranking.average_ranks[name], name))
    number = len(order)
    labels = {name: f"{name}  {ranking.average_ranks[name]:.2f}" for name in order}
    margin = 28 + LETTER * max(map(len, labels.values()))
    axis = min(STEP * (number - 1), 900)
    caption = _caption(ranking, test)
    width = math.ceil(max(2 * margin + axis, 40 + 6.6 * max(len(caption), 1.25 * len(title))))
    left = (width - axis) / 2

    def place(rank: float) -> float:
        return left + (rank - 1) * axis / (number - 1)

    top = 34.0 if title else 10.0
    if test == "nemenyi":
        top += 34
    line = top + 30
    bars = _levels(ranking, test)
    first = line + 20 + LEVEL * (1 + max((level for level, _, _ in bars), default=-1)) + 10
    half = (number + 1) // 2
    height = math.ceil(first + LINE * half + 34)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">",
        f"<title>{escape(title or 'Average ranks')}</title>",
        f"<desc>{escape('; '.join(f'{name} {ranking.average_ranks[name]:.2f}' for name in order))}. {escape(caption)}</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    if title:
        parts.append(_text(width / 2, 24, title, size=15, anchor="middle", weight=600))
    if test == "nemenyi":
        parts += _scale(place(1), place(1 + min(ranking.critical_difference, number - 1)), top - 14, ranking)
    parts.append(_line(place(1), line, place(number), line, INK, 1.5))
    for rank in range(1, number + 1):
        parts.append(_line(place(rank), line - 6, place(rank), line, INK, 1.5))
        parts.append(_text(place(rank), line - 11, str(rank), size=12, anchor="middle", fill=SOFT))
    for index, name in enumerate(order):
        x, on_left = place(ranking.average_ranks[name]), index < half
        y = first + LINE * (index if on_left else number - 1 - index) + 10
        end = left - 14 if on_left else left + axis + 14
        parts.append(_path(f"M{x:.1f} {line:.1f}V{y:.1f}H{end:.1f}"))
        parts.append(f'<circle cx="{x:.1f}" cy="{line:.1f}" r="3" fill="{INK}"/>')
        parts.append(_text(end + (-6 if on_left else 6), y + 4.5, labels[name], anchor="end" if on_left else "start"))
    for level, begin, end in bars:
        y = line + 14 + LEVEL * level
        parts.append(_line(place(begin) - 2, y, place(end) + 2, y, BAR, 4.5))
    parts.append(_text(width / 2, height - 12, caption, size=11.5, anchor="middle", fill=SOFT))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _caption(ranking: Ranking, test: str) -> str:
    by = (
        f"Conover{f', {ranking.correction.capitalize()}' if ranking.correction else ''}"
        if test == "conover"
        else "Nemenyi"
    )
    friedman = f"Friedman p = {ranking.p:.2g} over {ranking.corpora} corpora"
    if not ranking.significant:
        return f"{friedman}: no difference between systems is shown"
    return f"Average ranks, best left. {friedman}; bars join systems that do not differ ({by}, {ranking.alpha:g})"


def _levels(ranking: Ranking, test: str) -> list[tuple[int, float, float]]:
    """Each bar's level, and the ranks that it joins; bars that do not touch share a level."""
    placed: list[tuple[int, float, float]] = []
    reach: list[float] = []
    for clique in ranking.cliques(test=test):
        begin, end = ranking.average_ranks[clique[0]], ranking.average_ranks[clique[-1]]
        level = next((level for level, far in enumerate(reach) if far + 0.2 < begin), len(reach))
        reach[level : level + 1] = [end]
        placed.append((level, begin, end))
    return placed


def _scale(begin: float, end: float, y: float, ranking: Ranking) -> list[str]:
    return [
        _line(begin, y, end, y, INK, 1.5),
        _line(begin, y - 4, begin, y + 4, INK, 1.5),
        _line(end, y - 4, end, y + 4, INK, 1.5),
        _text(
            (begin + end) / 2, y - 8, f"critical difference {ranking.critical_difference:.2f}", size=12, anchor="middle"
        ),
    ]


def _line(x1: float, y1: float, x2: float, y2: float, ink: str, width: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ink}" stroke-width="{width}"/>'


def _path(steps: str) -> str:
    return f'<path d="{steps}" fill="none" stroke="{SOFT}" stroke-width="1.2"/>'


def _text(
    x: float, y: float, content: str, *, size: float = 13, anchor: str = "start", fill: str = INK, weight: int = 400
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="{fill}">{escape(content)}</text>'
    )
