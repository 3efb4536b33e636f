"""Curves of a study: a figure against the values of an axis, one line per system; or, without an axis, one row per system. All seeds are drawn.

A line joins the means over seeds, a bar is their standard deviation, small marks are the seeds. Values of the axis are equally spaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.evaluation.compare import spread
from biomux.report import svg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 520
"""Narrow enough to be read on a phone."""


def curves(values: Mapping[str, Mapping[str, Sequence[float]]], *, axis: str, title: str) -> str:
    """Point → system → the figure of each seed, as SVG text."""
    points = list(values)
    systems = list(dict.fromkeys(name for by_system in values.values() for name in by_system))
    marks = _scale([value for by_system in values.values() for seeds in by_system.values() for value in seeds])
    left, right, top = 56.0, 18.0, 40.0
    bottom = top + 250
    step = (WIDTH - left - right) / max(len(points), 1)

    def across(place: int, number: int) -> float:
        return left + step * (place + 0.5) + (number - (len(systems) - 1) / 2) * min(9, step / (len(systems) + 1))

    def up(value: float) -> float:
        return bottom - (value - marks[0]) / (marks[-1] - marks[0]) * (bottom - top - 10)

    parts = [svg.text(left, 22, title, size=15, weight=600)]
    for tick in marks:
        parts.append(svg.line(left, up(tick), WIDTH - right, up(tick), ink=svg.FAINT, width=1))
        parts.append(svg.text(left - 8, up(tick) + 4, f"{100 * tick:g}", size=12, anchor="end", fill=svg.SOFT))
    for place, point in enumerate(points):
        parts.append(svg.text(left + step * (place + 0.5), bottom + 20, point, size=12, anchor="middle", fill=svg.SOFT))
    parts.append(svg.text((left + WIDTH - right) / 2, bottom + 40, axis, size=12, anchor="middle", fill=svg.SOFT))
    for number, system in enumerate(systems):
        colour = svg.SERIES[number % len(svg.SERIES)]
        steps: list[str] = []
        for place, point in enumerate(points):
            seeds = values[point].get(system, ())
            if not seeds:
                continue
            x, summary = across(place, number), spread(seeds)
            mean, sd = summary["mean"] or 0.0, summary["sd"]
            steps.append(f"{'L' if steps else 'M'}{x:.1f} {up(mean):.1f}")
            if sd:
                parts.append(svg.line(x, up(mean - sd), x, up(mean + sd), ink=colour, width=1.5))
            parts += [svg.circle(x, up(value), 2.2, fill=svg.PAPER, ink=colour) for value in seeds if len(seeds) > 1]
            parts.append(svg.mark(number, x, up(mean), 4.5, fill=colour))
        parts.append(svg.path("".join(steps), ink=colour, width=1.8))
    height = _legend(parts, systems, left, bottom + 64)
    return svg.picture(WIDTH, height, parts, title=title, about=_said(values))


def rows(values: Mapping[str, Sequence[float]], *, title: str) -> str:
    """System → the figure of each seed: a row for each."""
    systems = list(values)
    marks = _scale([value for seeds in values.values() for value in seeds])
    left = min(210.0, 20 + max(svg.wide(name, 13) for name in systems))
    right, top, step = 64.0, 44.0, 30.0
    bottom = top + step * len(systems)

    def across(value: float) -> float:
        return left + 10 + (value - marks[0]) / (marks[-1] - marks[0]) * (WIDTH - left - right - 10)

    parts = [svg.text(12, 22, title, size=15, weight=600)]
    for tick in marks:
        parts.append(svg.line(across(tick), top, across(tick), bottom, ink=svg.FAINT, width=1))
        parts.append(svg.text(across(tick), bottom + 18, f"{100 * tick:g}", size=12, anchor="middle", fill=svg.SOFT))
    for number, system in enumerate(systems):
        y, colour, summary = top + step * (number + 0.5), svg.SERIES[number % len(svg.SERIES)], spread(values[system])
        mean, sd = summary["mean"] or 0.0, summary["sd"]
        parts.append(svg.text(left, y + 4.5, system, anchor="end"))
        if sd:
            parts.append(svg.line(across(mean - sd), y, across(mean + sd), y, ink=colour, width=2))
        if len(values[system]) > 1:
            parts += [svg.circle(across(value), y, 2.6, fill=svg.PAPER, ink=colour) for value in values[system]]
        parts.append(svg.mark(number, across(mean), y, 5, fill=colour))
        parts.append(svg.text(WIDTH - 8, y + 4.5, f"{100 * mean:.2f}", anchor="end", weight=600))
    return svg.picture(WIDTH, bottom + 30, parts, title=title, about=_said({"": values}))


def _scale(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = max(0.01, 0.15 * (high - low))
    return svg.ticks(low - room, high + room)


def _legend(parts: list[str], systems: Sequence[str], left: float, y: float) -> float:
    x = left
    for number, system in enumerate(systems):
        if x > left and x + 24 + svg.wide(system, 13) > WIDTH - 8:
            x, y = left, y + 22
        parts.append(svg.mark(number, x + 6, y - 4.5, 5, fill=svg.SERIES[number % len(svg.SERIES)]))
        parts.append(svg.text(x + 18, y, system))
        x += 40 + svg.wide(system, 13)
    return y + 16


def _said(values: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    return "; ".join(
        f"{point} {system}: {100 * (spread(seeds)['mean'] or 0.0):.2f}".strip()
        for point, systems in values.items()
        for system, seeds in systems.items()
        if seeds
    )
