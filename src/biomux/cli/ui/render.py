"""Annotated text for people: colours and labels on a terminal, brackets where there are none.

On a terminal each line of the text is followed by lines of labels. A label begins where its mention begins and is drawn out with a line to where
that ends; mentions that overlap get labels below each other:

    mutations of breast cancer 1 gene in mice
                 disease──────           species
                 gene────────────────

Plain, a mention is `[breast cancer|disease]`, and nested ones nest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from biomux.document.colours import colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from biomux.document import Document, Span

LINE = "─"


def plain(document: Document) -> str:
    """The text with its mentions in brackets.

    >>> from biomux.document import Document, Span
    >>> plain(Document("1", "breast cancer 1", spans=(Span(0, 13, "disease"), Span(0, 15, "gene"))))
    '[[breast cancer|disease] 1|gene]'
    """
    opening: dict[int, list[Span]] = {}
    closing: dict[int, list[Span]] = {}
    for span in sorted(document.spans, key=lambda span: (span.start, -span.end)):
        opening.setdefault(span.start, []).append(span)
        closing.setdefault(span.end, []).append(span)
    parts: list[str] = []
    at = 0
    for place in sorted({*opening, *closing}):
        parts.append(visible(document.text[at:place]))
        inner_first = sorted(closing.get(place, ()), key=lambda span: -span.start)
        parts += [f"|{visible(span.type)}]" for span in inner_first]
        parts += ["[" for _ in opening.get(place, ())]
        at = place
    parts.append(visible(document.text[at:]))
    return "".join(parts)


def coloured(document: Document, *, width: int) -> Text:
    """The text in lines of at most `width` columns, each with the labels of its mentions below."""
    from rich.text import Text

    if any(_right_to_left(character) for character in document.text):
        return _inline(document)  # a terminal would move the words away from their labels
    whole = Text()
    spans = sorted(document.spans, key=lambda span: (span.start, -span.end, span.type))
    first = 0
    for start, end in wrapped(document.text, width):
        while first < len(spans) and spans[first].end <= start:
            first += 1
        here = [span for span in _until(spans, first, end) if span.end > start]
        whole.append(_line(document.text, start, end, here))
        whole.append("\n")
        for row in _rows(document.text, start, end, here, width):
            whole.append(row)
            whole.append("\n")
    return whole


def legend(counts: Iterable[tuple[str, int]], *, width: int) -> Text:
    """Every type in its colour, with how often it was found; in lines of at most `width` columns."""
    from rich.text import Text

    whole = Text()
    column = 0
    for type_, count in counts:
        part = Text.assemble((visible(type_), f"bold {colour(type_)}"), f" {count:,}")
        if column and column + 2 + len(part) > width:
            whole.append("\n")
            column = 0
        elif column:
            whole.append("  ")
            column += 2
        whole.append(part)
        column += len(part)
    return whole


def visible(text: str) -> str:
    """Text without terminal codes: control characters are shown, not obeyed; line ends stay and tabs become a blank."""
    return text if text.isprintable() else "".join(map(_shown, text))


def wrapped(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Lines of at most `width` columns, as ranges of the text: broken at line ends, else at blanks, else anywhere."""
    start = 0
    while start < len(text):
        column, place, blank = 0, start, -1
        while place < len(text) and text[place] != "\n":
            column += _columns(text[place])
            if column > width and place > start:
                break
            if text[place].isspace():
                blank = place
            place += 1
        ended = place >= len(text) or text[place] == "\n"
        if ended or text[place].isspace():
            yield start, place
            start = place + 1
        elif blank > start:
            yield start, blank
            start = blank + 1
        else:
            yield start, place
            start = place


@dataclass(frozen=True, slots=True)
class _Label:
    """A label in a row: columns `begin` to `end` are the mention's, `at` is the column of the name."""

    begin: int
    end: int
    at: int
    name: str
    type: str

    @property
    def low(self) -> int:
        return min(self.begin, self.at)

    @property
    def high(self) -> int:
        return max(self.end, self.at + len(self.name))


def _line(text: str, start: int, end: int, spans: Sequence[Span]) -> Text:
    from rich.text import Text

    line = Text(visible(text[start:end]))
    for span in spans:  # the longer come first, so that the inner one's colour wins
        line.stylize(f"underline {colour(span.type)}", max(span.start, start) - start, min(span.end, end) - start)
    return line


def _rows(text: str, start: int, end: int, spans: Sequence[Span], width: int) -> list[Text]:
    """The lines of labels: each label in the first in which it has room."""
    from rich.text import Text

    rows: list[list[_Label]] = []
    columns = [0]
    for character in text[start:end]:
        columns.append(columns[-1] + _columns(character))
    copies = Counter((span.start, span.end, span.type) for span in spans)
    for span in sorted(spans, key=lambda span: (max(span.start, start), span.end, span.type)):
        times = copies.pop((span.start, span.end, span.type), 0)
        if not times:
            continue
        label = _label(span, times, columns, start, end, width)
        free = next(
            (row for row in rows if all(label.low > other.high or label.high < other.low for other in row)), None
        )
        if free is None:
            rows.append([label])
        else:
            free.append(label)
    drawn = []
    for row in rows:
        line, at = Text(), 0
        for label in sorted(row, key=lambda label: label.low):
            line.append(" " * (label.low - at))
            before, after = label.at - label.low, max(0, label.end - label.at - len(label.name))
            line.append(LINE * before + label.name + LINE * after, style=colour(label.type))
            at = label.high
        drawn.append(line)
    return drawn


def _label(span: Span, times: int, columns: Sequence[int], start: int, end: int, width: int) -> _Label:
    begin, stop = columns[max(span.start, start) - start], columns[min(span.end, end) - start]
    name = visible(span.type) + (f" ×{times}" if times > 1 else "")
    name = name if span.start >= start else ""  # a mention that goes on in the next line is named once
    name = name if len(name) <= width else name[: width - 1] + "…"
    return _Label(begin, stop, max(0, min(begin, width - len(name))) if name else begin, name, span.type)


def _inline(document: Document) -> Text:
    """Brackets, in colour."""
    from rich.text import Text

    whole = Text(plain(document) + "\n")
    for span in document.spans:
        whole.highlight_words([f"|{visible(span.type)}]"], style=colour(span.type))
    return whole


def _until(spans: Sequence[Span], first: int, end: int) -> Iterator[Span]:
    for index in range(first, len(spans)):
        if spans[index].start >= end:
            return
        yield spans[index]


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable() or character == "\n":
        return character
    if character.isspace():
        return " "
    if code < 32:
        return chr(0x2400 + code)
    return "\u2421" if code == 127 else "\ufffd"


def _columns(character: str) -> int:
    if " " <= character <= "~":
        return 1
    from rich.cells import cell_len

    return cell_len(_shown(character))


def _right_to_left(character: str) -> bool:
    return "\u0590" <= character <= "\u08ff" or "\ufb1d" <= character <= "\ufefc"
