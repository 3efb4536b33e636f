"""Relations and classes for people: a list below the text.

      Aspirin ─treats→ fever 0.98
      roles: Background 0.91 Aspirin is old.

A class is shown after the head that found it. Plain: `treats: Aspirin -> fever (0.98)` and `roles of 0..15: Background (0.91)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.cli.ui.render import visible, wrapped
from biomux.document.colours import colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.text import Text

    from biomux.document import Argument, Document, Label, Relation

INDENT = 2
PART = 60
"""Characters of a labelled sentence that are shown."""


def plain(document: Document) -> list[str]:
    """A line for each relation and class, without colours.

    >>> from biomux.document import Argument, Document, Label, Relation, Span
    >>> spans = (Span(0, 7, "chemical", id="T1"), Span(15, 20, "disease", id="T2"))
    >>> link = Relation("treats", (Argument("Arg1", "T1"), Argument("Arg2", "T2")), score=0.98)
    >>> plain(Document("1", "Aspirin treats fever.", spans=spans, relations=(link,), labels=(Label("yes", score=0.9),)))
    ['treats: Aspirin -> fever (0.98)', 'class: yes (0.90)']
    """
    lines = []
    ends = _ends(document)
    for relation in document.relations:
        named = " -> ".join(ends.get(_key(argument), (argument.target, ""))[0] for argument in relation.arguments)
        lines.append(f"{visible(relation.type)}: {named}{_bracketed(relation.score)}")
    for label in document.labels:
        place = "" if label.start is None else f" of {label.start}..{label.end}"
        lines.append(f"{visible(label.head or 'class')}{place}: {visible(label.name)}{_bracketed(_number(label))}")
    return [_one_line(line) for line in lines]


def coloured(document: Document, *, width: int) -> Text:
    """The relations, then the classes, in lines of at most `width` columns; empty if there are none."""
    from rich.text import Text

    whole = Text()
    for pieces in (*_relations(document), *_labels(document)):
        for line in _laid(pieces, width):
            whole.append(line)
            whole.append("\n")
    return whole


def _relations(document: Document) -> Iterator[list[tuple[str, str]]]:
    ends = _ends(document)
    for relation in document.relations:
        pieces: list[tuple[str, str]] = []
        for number, argument in enumerate(relation.arguments):
            name, type_ = ends.get(_key(argument), (argument.target, ""))
            if number:
                pieces.append((f"─{_one_line(relation.type)}→" if number == 1 else "→", "bold"))
            pieces.append((_one_line(name), colour(type_) if type_ else ""))
        if len(relation.arguments) < 2:
            pieces.insert(0, (f"{_one_line(relation.type)}:", "bold"))
        yield [*pieces, *_scored(relation.score)]


def _labels(document: Document) -> Iterator[list[tuple[str, str]]]:
    for label in document.labels:
        head = [(f"{_one_line(label.head)}:", "")] if label.head else []
        pieces = [*head, (_one_line(label.name), f"bold {colour(label.name)}"), *_scored(_number(label))]
        if label.start is not None and label.end is not None:
            part = _one_line(document.text[label.start : label.end])
            pieces.append((part if len(part) <= PART else f"{part[: PART - 1]}…", "dim"))
        yield pieces


def _laid(pieces: Sequence[tuple[str, str]], width: int) -> list[Text]:
    """Pieces beside each other, blanks between them; what does not fit continues on a new line, indented."""
    from rich.cells import cell_len
    from rich.text import Text

    lines = [Text(" " * INDENT)]
    used, first = INDENT, True
    for piece, style in pieces:
        inner = 2 * INDENT
        room = max(width - inner, 1)
        if not first and used + 1 + cell_len(piece) > width:
            lines.append(Text(" " * inner))
            used, first = inner, True
        if cell_len(piece) > width - used:
            for number, (start, end) in enumerate(wrapped(piece, room)):
                if number or not first:
                    lines.append(Text(" " * inner))
                lines[-1].append(piece[start:end], style=style)
                used = inner + cell_len(piece[start:end])
        else:
            lines[-1].append(piece if first else f" {piece}", style=style)
            used += cell_len(piece) + (not first)
        first = False
    return lines


def _ends(document: Document) -> dict[tuple[str, str], tuple[str, str]]:
    """What relations point at → how it is called, and its type."""
    ends = {("span", span.id): (document.mention(span), span.type) for span in document.spans if span.id is not None}
    links = {
        ("relation", relation.id): (relation.type, "") for relation in document.relations if relation.id is not None
    }
    return {**ends, **links}


def _key(argument: Argument) -> tuple[str, str]:
    return argument.kind, argument.target


def _number(answer: Relation | Label) -> float | None:
    """A label's number, if it is one; else how sure the head is."""
    value: float | None = getattr(answer, "value", None)
    return answer.score if value is None else value


def _scored(score: float | None) -> Iterable[tuple[str, str]]:
    return () if score is None else ((f"{score:.2f}", "dim"),)


def _bracketed(score: float | None) -> str:
    return "" if score is None else f" ({score:.2f})"


def _one_line(text: str) -> str:
    return " ".join(visible(text).split("\n"))
