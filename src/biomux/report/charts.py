"""Small drawings for reports, as SVG text without any library.

Colours are a page's own variables where it has them (so a dark page draws light lines), else those for white paper. Nothing is shown by
colour alone: marks differ in shape, lines in their dashes, and figures are written beside them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from biomux.report import svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Point = tuple[float, float]

INKS = {
    "ink": "#1b2530",
    "soft": "#5b6875",
    "line": "#d5dbe1",
    "paper": "#ffffff",
    "tint": "#f3f5f8",
    "blue": "#0b62a8",
    "orange": "#b4540a",
    "green": "#00694b",
    "rose": "#a3467d",
    "sky": "#2b7fb8",
}
SERIES = ("blue", "orange", "green", "rose", "soft", "sky")
"""Colours of several systems, in order; shapes and dashes differ too."""
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4")
LETTER = 6.7
"""Pixels of a letter of 12 pixels, on the large side."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its standard error (0 if it has none)."""

    value: float
    error: float = 0.0


def dot_plot(rows: Mapping[str, Mapping[str, Dot]], *, ranges: Mapping[str, tuple[float, float]], alt: str) -> str:
    """One line per row: each system's value with twice its standard error on both sides; a bar behind them is its range, if it has one."""
    systems = list(dict.fromkeys(name for row in rows.values() for name in row))
    dots = [dot for row in rows.values() for dot in row.values()]
    lows = [dot.value - 2 * dot.error for dot in dots] + [low for low, _ in ranges.values()]
    highs = [dot.value + 2 * dot.error for dot in dots] + [high for _, high in ranges.values()]
    ticks = _ticks(min(lows), max(highs), 5)
    left = 14 + LETTER * min(20, max(map(len, rows)))
    width, top, step = 420.0, 8.0, 25.0
    bottom = top + step * len(rows)

    def x(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (width - left - 22)

    parts = [
        part
        for tick in ticks
        for part in (
            _line(x(tick), top, x(tick), bottom, "line"),
            _text(x(tick), bottom + 17, f"{tick:g}", anchor="middle", ink="soft"),
        )
    ]
    for place, (name, row) in enumerate(rows.items()):
        y = top + step * (place + 0.5)
        parts.append(_text(left - 10, y + 4, _short(name, 20), anchor="end"))
        if name in ranges:
            low, high = ranges[name]
            parts.append(_range(x(low), x(high), y))
        for system, dot in row.items():
            order = systems.index(system)
            lift = (order - (len(systems) - 1) / 2) * min(6.0, 14 / len(systems))
            colour = SERIES[order % len(SERIES)]
            if dot.error:
                ends = x(dot.value - 2 * dot.error), x(dot.value + 2 * dot.error)
                parts.append(_line(ends[0], y + lift, ends[1], y + lift, colour, 1.8))
            parts.append(_mark(x(dot.value), y + lift, order, colour))
    key = bottom + 38
    at = 12.0
    legend: list[str] = []
    for order, system in enumerate(systems):
        at, key = _next_line(at, key, system, width)
        legend += [_mark(at, key - 4, order, SERIES[order % len(SERIES)]), _text(at + 10, key, _short(system, 40))]
        at += 30 + LETTER * len(_short(system, 40))
    if ranges:
        label = "published, median to highest"
        at, key = _next_line(at, key, label, width)
        legend += [_range(at - 4, at + 20, key - 4), _text(at + 27, key, label)]
    return _svg(width, key + 10, alt, [*parts, *legend], scale=1.35)


def curve(points: Sequence[Point], *, title: str, alt: str, marks: bool = False, logarithmic: bool = False) -> str:
    """A small curve with its title, the value it ends with, and the ends of both axes."""
    width, height, left, top, bottom = 220.0, 124.0, 48.0, 30.0, 102.0
    values = [max(value, 1e-5) if logarithmic else value for _, value in points]
    heights = [math.log10(value) for value in values] if logarithmic else values
    low, high = min(heights), max(heights)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    begin, end = points[0][0], max(points[-1][0], points[0][0] + 1e-9)

    def place(across: float, up: float) -> Point:
        return left + (across - begin) / (end - begin) * (width - left - 12), bottom - (up - low) / (high - low) * (
            bottom - top - 6
        )

    drawn = [place(across, up) for (across, _), up in zip(points, heights, strict=True)]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
    first, last = ((10**low, 10**high) if logarithmic else (low, high)) if len(points) > 1 else (low, high)
    parts = [
        _text(2, 15, _short(title, 19), size=13, weight=600),
        _text(width - 8, 15, _figure(values[-1]), size=13, anchor="end", weight=600, ink="blue"),
        _line(left, top, left, bottom, "line"),
        _line(left, bottom, width - 8, bottom, "line"),
        _text(left - 5, top + 10, _figure(last), anchor="end", ink="soft", size=11),
        _text(left - 5, bottom, _figure(first), anchor="end", ink="soft", size=11),
        _text(left, bottom + 16, f"{begin:,.0f}", ink="soft", size=11),
        _text(width - 8, bottom + 16, f"{end:,.0f}", anchor="end", ink="soft", size=11),
        f'<path d="{path}" fill="none" style="{_stroke("blue", 1.8)}" stroke-linejoin="round"/>',
    ]
    if marks:
        parts += [_mark(x, y, 0, "blue", size=3.2) for x, y in drawn]
    return _svg(width, height, alt, parts)


def curves(lines: Mapping[str, Sequence[Point]], *, alt: str, across: str, up: str) -> str:
    """Several curves in one drawing, with a legend."""
    width, height, left, top, bottom = 560.0, 250.0, 46.0, 24.0, 206.0
    ticks = _ticks(
        min(y for line in lines.values() for _, y in line), max(y for line in lines.values() for _, y in line), 4
    )
    ends = _ticks(
        min(x for line in lines.values() for x, _ in line), max(x for line in lines.values() for x, _ in line), 5
    )
    parts = [_text(2, 13, up, ink="soft"), _text(width - 8, bottom - 6, across, anchor="end", ink="soft")]

    def place(point: Point) -> Point:
        return (
            left + (point[0] - ends[0]) / (ends[-1] - ends[0]) * (width - left - 70),
            bottom - (point[1] - ticks[0]) / (ticks[-1] - ticks[0]) * (bottom - top),
        )

    for tick in ticks:
        y = place((ends[0], tick))[1]
        parts += [_line(left, y, width - 12, y, "line"), _text(left - 6, y + 4, f"{tick:g}", anchor="end", ink="soft")]
    parts += [
        _text(place((tick, ticks[0]))[0], bottom + 17, f"{tick:,.10g}", anchor="middle", ink="soft") for tick in ends
    ]
    at, key = 12.0, height - 8
    for order, (name, line) in enumerate(lines.items()):
        colour, dash = SERIES[order % len(SERIES)], DASHES[order % len(DASHES)]
        drawn = [place(point) for point in line]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
        parts.append(f'<path d="{path}" fill="none" style="{_stroke(colour, 2)}" stroke-dasharray="{dash or "none"}"/>')
        parts += [_mark(x, y, order, colour) for x, y in drawn]
        at, key = _next_line(at, key, name, width)
        parts += [_mark(at, key - 4, order, colour), _text(at + 10, key, _short(name, 40))]
        at += 30 + LETTER * len(_short(name, 40))
    return _svg(width, key + 10, alt, parts)


def trust(
    bins: Sequence[tuple[float, float, int]], risks: Sequence[Point], *, title: str, alt: str, figures: tuple[str, str]
) -> str:
    """Left: the share right by score (mean score, share, number). Right: the share wrong (up) among the most certain ones (across)."""
    width, height, side, top = 300.0, 176.0, 108.0, 36.0
    first, second = 30.0, 178.0
    bottom = top + side
    parts = [_text(2, 15, _short(title, 34), size=13, weight=600)]
    for left, across, up, figure in (
        (first, "score", "right", figures[0]),
        (second, "kept", "wrong", figures[1]),
    ):
        parts += [
            f'<rect x="{left}" y="{top}" width="{side}" height="{side}" style="{_fill("tint")}"/>',
            _text(left, bottom + 15, "0", ink="soft", size=11),
            _text(left + side, bottom + 15, "1", anchor="end", ink="soft", size=11),
            _text(left + side / 2, bottom + 15, across, anchor="middle", ink="soft", size=11),
            _text(left + side, top - 5, figure, anchor="end", size=11),
            _text(left, top - 5, up, ink="soft", size=11),
        ]
    parts += [
        _text(first - 4, top + 9, "1", anchor="end", ink="soft", size=11),
        _text(first - 4, bottom, "0", anchor="end", ink="soft", size=11),
        f'<path d="M{first} {bottom}L{first + side} {top}" style="{_stroke("soft", 1)}" stroke-dasharray="3 3"/>',
    ]
    total = sum(number for _, _, number in bins) or 1
    shown = [(first + side * score, bottom - side * right, number) for score, right, number in bins]
    if shown:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in shown)
        parts.append(f'<path d="{path}" fill="none" style="{_stroke("blue", 1.4)}"/>')
    for x, y, number in shown:
        size = 1.8 + 4.5 * math.sqrt(number / total)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" style="{_fill("blue")}"/>')
    scale = _ceiling(max((risk for _, risk in risks), default=1.0))
    parts += [
        _text(second - 4, top + 9, f"{scale:g}", anchor="end", ink="soft", size=11),
        _text(second - 4, bottom, "0", anchor="end", ink="soft", size=11),
    ]
    if risks:
        drawn = "L".join(f"{second + side * covered:.1f} {bottom - side * risk / scale:.1f}" for covered, risk in risks)
        parts.append(f'<path d="M{drawn}" fill="none" style="{_stroke("orange", 2)}" stroke-linejoin="round"/>')
    return _svg(width, height, alt, parts)


def _svg(width: float, height: float, alt: str, parts: Sequence[str], *, scale: float = 1.0) -> str:
    """The drawing; if there is room, it is shown `scale` times as large as it is drawn."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{scale * width:g}" height="{scale * height:g}" '
        f'role="img" aria-label={quoteattr(alt)} font-family="system-ui, \'Segoe UI\', Helvetica, Arial, sans-serif">'
        f'<rect width="{width:g}" height="{height:g}" style="{_fill("paper")}"/>' + "".join(parts) + "</svg>\n"
    )


def _mark(x: float, y: float, order: int, ink: str, *, size: float = 4.2) -> str:
    """A disc, square, diamond or triangle: shapes tell systems apart where colours do not."""
    style = f'style="{_fill(ink)}"'
    kind = order % 4
    if kind == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {style}/>'
    if kind == 1:
        return f'<rect x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:g}" height="{2 * size:g}" {style}/>'
    far = size * 1.35
    if kind == 2:
        return f'<path d="M{x:.1f} {y - far:.1f}L{x + far:.1f} {y:.1f}L{x:.1f} {y + far:.1f}L{x - far:.1f} {y:.1f}Z" {style}/>'
    return f'<path d="M{x:.1f} {y - far:.1f}L{x + far:.1f} {y + size:.1f}L{x - far:.1f} {y + size:.1f}Z" {style}/>'


def _range(low: float, high: float, y: float) -> str:
    """A bar from low to high, wide enough to be seen if both are the same."""
    low, high = (low - 1.5, high + 1.5) if high - low < 3 else (low, high)
    return f'<rect x="{low:.1f}" y="{y - 7:.1f}" width="{high - low:.1f}" height="14" rx="2" style="{_fill("soft")};fill-opacity:.32"/>'


def _line(x1: float, y1: float, x2: float, y2: float, ink: str, width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" style="{_stroke(ink, width)}"/>'


def _text(
    x: float, y: float, content: str, *, size: float = 12, anchor: str = "start", ink: str = "ink", weight: int = 400
) -> str:
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{bold} text-anchor="{anchor}" style="{_fill(ink)}">{escape(content)}</text>'


def _fill(ink: str) -> str:
    return f"fill:var(--{ink},{INKS[ink]})"


def _stroke(ink: str, width: float) -> str:
    return f"stroke:var(--{ink},{INKS[ink]});stroke-width:{width:g}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _figure(value: float) -> str:
    """Three digits that matter.

    >>> _figure(0.01234), _figure(74.042), _figure(1.0)
    ('0.012', '74.0', '1.00')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def _ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers that enclose low and high, two at least."""
    return svg.ticks(low, high if high - low > 1e-6 else low + 1, most=about + 1)


def _ceiling(value: float) -> float:
    return next((limit for limit in (0.05, 0.1, 0.2, 0.5) if value <= limit), 1.0)


def _next_line(at: float, key: float, label: str, width: float) -> Point:
    """Where the next entry of a legend goes: a new line if it would not fit."""
    return (12.0, key + 20) if at > 12 and at + 20 + LETTER * len(_short(label, 40)) > width else (at, key)
