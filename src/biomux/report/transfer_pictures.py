"""Pictures of a transfer study: the directed graph, the heat map, the map of tasks. Blue helps, orange hurts, thin grey is no effect.

Nothing is shown by colour alone: in the graph hurting is dashed, in the heat map every cell has its figure and a sign.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from biomux.report import svg
from biomux.studies.transfer import HELPS, HURTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 520
"""Narrow enough to be read on a phone."""
COLOURS = {HELPS: svg.GAIN, HURTS: svg.LOSS}
SIGNS = {HELPS: "▲", HURTS: "▼"}


def graph(tasks: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]], *, title: str) -> str:
    """Tasks in a ring; an arrow from s to t says what s does to t."""
    names = [str(task["name"]) for task in tasks]
    size, middle, top = 44.0, WIDTH / 2, 34.0
    ring = 165.0 if len(names) > 2 else 130.0
    height = top + 2 * (ring + size) + 64
    centre = top + ring + size + 4
    places = {
        name: (
            middle + ring * 1.12 * math.sin(2 * math.pi * number / len(names)),
            centre - ring * math.cos(2 * math.pi * number / len(names)),
        )
        for number, name in enumerate(names)
    }
    parts = [svg.text(12, 22, title, size=15, weight=600)]
    labels: list[str] = []
    for edge in sorted(edges, key=lambda arrow: arrow["verdict"] in COLOURS):
        drawn, label = _arrow(places[edge["source"]], places[edge["target"]], size, edge)
        parts += drawn
        labels += label
    parts += labels
    for name, (x, y) in places.items():
        lines = svg.broken(name, 11)
        parts.append(svg.circle(x, y, size, fill="#f3f5f7", ink=svg.INK, width=1.5))
        for number, label_line in enumerate(lines):
            parts.append(
                svg.text(
                    x,
                    y + 4.5 + 15 * (number - (len(lines) - 1) / 2),
                    label_line,
                    size=12.5,
                    anchor="middle",
                    weight=600,
                )
            )
    parts += _legend(12, height - 14)
    description = "; ".join(
        f"{edge['source']} → {edge['target']}: {edge['verdict']} ({100 * edge['gain']:+.2f})" for edge in edges
    )
    return svg.picture(WIDTH, height, parts, title=title, about=description)


def heat_map(tasks: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]], *, title: str) -> str:
    """One row per task, one column per task trained with it: the gain in points. The diagonal has the task's figure alone."""
    names = [str(task["name"]) for task in tasks]
    left = min(150.0, 16 + max(svg.wide(line, 12.5) for name in names for line in svg.broken(name, 14)))
    cell = max(46.0, min(92.0, (WIDTH - left - 8) / len(names)))
    head = 58.0 + 15 * max(len(svg.broken(name, max(6, int(cell / 7)))) for name in names)
    width, height = max(float(WIDTH), left + cell * len(names) + 8), head + cell * 0.72 * len(names) + 58
    gains = {(edge["source"], edge["target"]): edge for edge in edges}
    most = max([abs(edge["gain"]) for edge in edges] or [0.0]) or 1.0
    parts = [svg.text(12, 22, title, size=15, weight=600), svg.text(left, 44, "trained with", size=12, fill=svg.SOFT)]
    for column, source in enumerate(names):
        lines = svg.broken(source, max(6, int(cell / 7)))
        for number, label_line in enumerate(lines):
            y = head - 8 - 15 * (len(lines) - 1 - number)
            parts.append(svg.text(left + cell * (column + 0.5), y, label_line, size=12, anchor="middle"))
    for row, task in enumerate(tasks):
        y = head + cell * 0.72 * row
        lines = svg.broken(names[row], 14)
        for number, label_line in enumerate(lines):
            parts.append(
                svg.text(
                    left - 8,
                    y + cell * 0.36 + 4 + 15 * (number - (len(lines) - 1) / 2),
                    label_line,
                    size=12.5,
                    anchor="end",
                    weight=600,
                )
            )
        for column, source in enumerate(names):
            x = left + cell * column
            edge = gains.get((source, names[row]))
            middle = x + cell / 2
            if source == names[row]:
                parts.append(svg.box(x + 1, y + 1, cell - 2, cell * 0.72 - 2, fill="#f3f5f7"))
                parts.append(
                    svg.text(middle, y + cell * 0.36, f"{100 * task['value']:.1f}", anchor="middle", weight=600)
                )
                parts.append(svg.text(middle, y + cell * 0.36 + 15, "alone", size=11, anchor="middle", fill=svg.SOFT))
            elif edge is None:
                parts.append(svg.box(x + 1, y + 1, cell - 2, cell * 0.72 - 2, fill=svg.PAPER, ink=svg.FAINT))
                parts.append(svg.text(middle, y + cell * 0.36 + 4, "–", anchor="middle", fill=svg.SOFT))
            else:
                fill, ink = _shade(edge["gain"] / most)
                parts.append(svg.box(x + 1, y + 1, cell - 2, cell * 0.72 - 2, fill=fill))
                sure = edge["verdict"] in COLOURS
                parts.append(
                    svg.text(
                        middle,
                        y + cell * 0.36,
                        _points(edge["gain"]),
                        anchor="middle",
                        fill=ink,
                        weight=600 if sure else 400,
                    )
                )
                word = f"{SIGNS[edge['verdict']]} {edge['verdict']}" if sure else "no effect"
                shown = word if cell >= 64 else SIGNS.get(edge["verdict"], "")
                parts.append(svg.text(middle, y + cell * 0.36 + 15, shown, size=11, anchor="middle", fill=ink))
    parts.append(
        svg.text(
            12, height - 30, "Rows: the task that is scored. Cells: points gained beside the", size=12, fill=svg.SOFT
        )
    )
    parts.append(
        svg.text(
            12, height - 13, "column's task; a sign where the tests say that it is not chance.", size=12, fill=svg.SOFT
        )
    )
    description = "; ".join(
        f"{edge['target']} with {edge['source']}: {100 * edge['gain']:+.2f}, {edge['verdict']}" for edge in edges
    )
    return svg.picture(width, height, parts, title=title, about=description)


def task_map(
    points: Mapping[str, tuple[float, float]], *, kinds: Mapping[str, str], shares: Sequence[float], title: str
) -> str:
    """Tasks in the plane: near ones pull the encoder the same way. Shape and colour show the kind of task."""
    top, left, side = 40.0, 20.0, 380.0
    kind_names = list(dict.fromkeys(kinds.values()))
    xs, ys = [x for x, _ in points.values()], [y for _, y in points.values()]
    reach = max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    middle_x, middle_y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    parts = [svg.text(12, 22, title, size=15, weight=600)]
    parts.append(svg.box(left, top, WIDTH - 2 * left, side, fill="#f8f9fa", ink=svg.FAINT))
    places = {
        name: (
            left + (WIDTH - 2 * left) / 2 + (x - middle_x) / reach * (side - 80),
            top + side / 2 - (y - middle_y) / reach * (side - 80),
        )
        for name, (x, y) in sorted(points.items(), key=lambda item: item[1][1])
    }
    # Left, right and line of what a label may not cover: the marks, and earlier labels.
    covered = [(at - 8, at + 8, down + 4) for at, down in places.values()]
    for name, (at, down) in places.items():
        number = kind_names.index(kinds[name])
        parts.append(svg.mark(number, at, down, 6, fill=svg.SERIES[number % len(svg.SERIES)]))
        long = svg.wide(name, 12.5)
        right = at + 12 + long < WIDTH - left
        begin, line = (at + 11, down + 4) if right else (at - 11 - long, down + 4)
        while any(
            abs(line - baseline) < 14 and begin < end and start < begin + long for start, end, baseline in covered
        ):
            line += 14
        covered.append((begin, begin + long, line))
        parts.append(svg.text(begin, line, name, size=12.5))
    y = top + side + 24
    x = left
    for number, kind in enumerate(kind_names):
        if x > left and x + 30 + svg.wide(kind, 13) > WIDTH - left:
            x, y = left, y + 20
        parts.append(svg.mark(number, x + 6, y - 4, 5, fill=svg.SERIES[number % len(svg.SERIES)]))
        parts.append(svg.text(x + 17, y, kind, size=13))
        x += 38 + svg.wide(kind, 13)
    caption = f"Two principal axes: {' and '.join(f'{100 * share:.0f} %' for share in shares[:2])} of the differences."
    parts.append(svg.text(left, y + 22, caption, size=12, fill=svg.SOFT))
    description = "; ".join(f"{name} at {x:.3f}, {y:.3f}" for name, (x, y) in points.items())
    return svg.picture(WIDTH, y + 36, parts, title=title, about=description)


def _points(gain: float) -> str:
    """A gain in points; zero has no sign.

    >>> _points(0.0282), _points(-0.0003)
    ('+2.8', '0.0')
    """
    points = f"{100 * gain:+.1f}"
    return points if float(points) else "0.0"


def _arrow(
    start: tuple[float, float], end: tuple[float, float], size: float, edge: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """A bent arrow, so that the two directions do not cover each other; and its label."""
    ink = COLOURS.get(edge["verdict"], svg.NONE)
    sure = edge["verdict"] in COLOURS
    width = 2.0 + min(3.0, 60 * abs(edge["gain"])) if sure else 0.9
    dx, dy = end[0] - start[0], end[1] - start[1]
    long = math.hypot(dx, dy)
    ux, uy = dx / long, dy / long
    bend = 26.0
    mx, my = (start[0] + end[0]) / 2 - uy * bend, (start[1] + end[1]) / 2 + ux * bend
    first = _towards(start, (mx, my), size + 2)
    point = 11.0 if sure else 7.0
    tip = _towards(end, (mx, my), size + 3)
    base = _towards(end, (mx, my), size + 3 + point)
    nx, ny = (tip[1] - base[1]) * 0.42, (base[0] - tip[0]) * 0.42
    corners = f"M{tip[0]:.1f} {tip[1]:.1f}L{base[0] + nx:.1f} {base[1] + ny:.1f}L{base[0] - nx:.1f} {base[1] - ny:.1f}Z"
    dash = "7 5" if edge["verdict"] == HURTS else ""
    drawn = [
        svg.path(
            f"M{first[0]:.1f} {first[1]:.1f}Q{mx:.1f} {my:.1f} {base[0]:.1f} {base[1]:.1f}",
            ink=ink,
            width=width,
            dash=dash,
        ),
        svg.path(corners, ink=ink, width=0.5, fill=ink),
    ]
    if not sure:
        return drawn, []
    share = 0.36
    at = [
        (1 - share) ** 2 * first[axis] + 2 * share * (1 - share) * (mx, my)[axis] + share**2 * base[axis]
        for axis in (0, 1)
    ]
    gain_text = _points(edge["gain"])
    wide = svg.wide(gain_text, 12.5) + 8
    label = [
        svg.box(at[0] - wide / 2, at[1] - 9, wide, 18, fill=svg.PAPER, ink=ink, round=4),
        svg.text(at[0], at[1] + 4.5, gain_text, size=12.5, anchor="middle", fill=ink, weight=600),
    ]
    return drawn, label


def _towards(start: tuple[float, float], end: tuple[float, float], far: float) -> tuple[float, float]:
    dx, dy = end[0] - start[0], end[1] - start[1]
    long = math.hypot(dx, dy) or 1.0
    return start[0] + dx / long * far, start[1] + dy / long * far


def _shade(share: float) -> tuple[str, str]:
    """The fill of a cell, from white to a full colour, and an ink that can be read on it."""
    full = svg.GAIN if share > 0 else svg.LOSS
    part = min(1.0, abs(share)) ** 0.8 * 0.85
    mixed = [round(255 + (int(full[place : place + 2], 16) - 255) * part) for place in (1, 3, 5)]
    light = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2]
    return "#" + "".join(f"{channel:02x}" for channel in mixed), svg.INK if light > 140 else svg.PAPER


def _legend(x: float, y: float) -> list[str]:
    parts = []
    for word, ink, dash, width in (
        (HELPS, svg.GAIN, "", 3.0),
        (HURTS, svg.LOSS, "7 5", 3.0),
        ("no effect shown", svg.NONE, "", 1.0),
    ):
        parts.append(svg.line(x, y - 4, x + 30, y - 4, ink=ink, width=width, dash=dash))
        parts.append(svg.text(x + 36, y, word, size=12.5))
        x += 62 + svg.wide(word, 12.5)
    return parts
