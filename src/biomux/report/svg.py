"""Small parts of SVG pictures, written by hand: no library, no script. Colours can be told apart with any colour vision, and in grey by their shapes."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

INK, SOFT, FAINT, PAPER = "#1f2933", "#616e7c", "#d5dae0", "#ffffff"
GAIN, LOSS, NONE = "#0b6fa4", "#b4540a", "#8a949e"
"""Better, worse, neither: blue and orange, never green and red."""
SERIES = ("#0b6fa4", "#b4540a", "#4a8f5b", "#7d4f9e", "#8a6d00", "#c2416b", "#1f2933", "#2b9aa8")
"""Colours of systems, in order."""
LETTER = 0.56
"""Width of a letter as a share of its size, on the large side."""


def picture(width: float, height: float, parts: list[str], *, title: str, about: str) -> str:
    """The whole picture. It shrinks with a narrow page, and describes what it shows for those who cannot see it."""
    w, h = math.ceil(width), math.ceil(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
            'style="max-width:100%;height:auto" '
            "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">",
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(about)}</desc>",
            f'<rect width="{w}" height="{h}" fill="{PAPER}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def text(
    x: float,
    y: float,
    said: str,
    *,
    size: float = 13,
    anchor: str = "start",
    fill: str = INK,
    weight: int = 400,
    turn: float = 0,
) -> str:
    """A line of text; `turn` in degrees."""
    turned = f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" font-weight="{weight}" text-anchor="{anchor}" fill="{fill}"{turned}>'
        f"{escape(said)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, *, ink: str = INK, width: float = 1.2, dash: str = "") -> str:
    """A straight line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ink}" stroke-width="{width:g}"{dashed}/>'


def path(steps: str, *, ink: str = INK, width: float = 1.5, dash: str = "", fill: str = "none") -> str:
    """Any line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{steps}" fill="{fill}" stroke="{ink}" stroke-width="{width:g}"{dashed}/>'


def box(x: float, y: float, width: float, height: float, *, fill: str, ink: str = "none", round: float = 0) -> str:
    """A rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round:g}" fill="{fill}" stroke="{ink}"/>'


def circle(
    x: float, y: float, r: float, *, fill: str, ink: str = "none", width: float = 1.0, opacity: float = 1.0
) -> str:
    """A disc."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" fill="{fill}" stroke="{ink}" stroke-width="{width:g}" '
        f'fill-opacity="{opacity:g}"/>'
    )


def mark(shape: int, x: float, y: float, r: float, *, fill: str) -> str:
    """A disc, square, diamond or triangle: shapes tell series apart where colours cannot."""
    kind = shape % 4
    if kind == 0:
        return circle(x, y, r, fill=fill)
    if kind == 1:
        return box(x - r, y - r, 2 * r, 2 * r, fill=fill)
    corners = [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)] if kind == 2 else [(0, -1.2), (1.15, 0.9), (-1.15, 0.9)]
    points = " ".join(f"{x + r * dx:.1f},{y + r * dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{fill}"/>'


def broken(said: str, most: int) -> list[str]:
    """Text in lines of at most `most` letters, broken at blanks, hyphens and plus signs if it has any.

    >>> broken("bc5cdr-chemical", 8)
    ['bc5cdr-', 'chemical']
    """
    lines = [""]
    for word in said.replace("-", "-\0").replace(" ", " \0").replace("+", "+\0").split("\0"):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > most:
            lines.append("")
        lines[-1] += word
    return [line_text.strip() for line_text in lines if line_text.strip()] or [""]


def wide(said: str, size: float) -> float:
    """About how wide a text is."""
    return len(said) * size * LETTER


def ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round numbers that cover a range.

    >>> ticks(0.71, 0.84)
    [0.7, 0.75, 0.8, 0.85]
    """
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if span / (power * factor) <= most - 1)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * number, 10) for number in range(first, last + 1)]
