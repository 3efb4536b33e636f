"""A document as self-contained HTML: no script, no font, no external picture.

Entities are underlined in the colour of their type and followed by its name; overlapping entities have their lines one below the other. Relations, labels
and answers are listed below the text. `page` makes a whole page of documents, on which types can be hidden; `excerpt` makes what a notebook shows of one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2s
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from biomux.document.colours import colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from biomux.document.document import Document
    from biomux.document.parts import Argument, Span

LANES = 8
"""How many underlines fit below each other; further overlapping entities share the last."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for the page: nothing but its own styles."""

UNSHOWN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that a browser would not show, or that would change the direction of the text after them: a symbol replaces each."""


@dataclass(slots=True)
class Types:
    """The types that occurred, each with the CSS class of its elements and its count."""

    classes: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def css_class(self, type_: str) -> str:
        """The CSS class of a type: derived from its name, since the cells of a notebook share one page and its styles."""
        if type_ not in self.classes:
            self.classes[type_] = f"t{blake2s(type_.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
        return self.classes[type_]


def page(documents: Iterable[Document], *, title: str = "Annotated documents") -> str:
    """A page that shows all documents."""
    types = Types()
    articles = [article(document, types) for document in documents]
    return page_head(types, documents=len(articles), title=title) + "".join(articles) + page_foot()


def excerpt(document: Document) -> str:
    """A part of a page, for a notebook: it takes the notebook's colours."""
    types = Types()
    shown = _shown(document, types)
    return f'<div class="biomux">\n<style>\n{_style("html.css")}{_colours(types)}</style>\n{shown}</div>\n'


def article(document: Document, types: Types) -> str:
    """A document as a part of a page; its types are added to `types`."""
    return f"<article>\n<h2>{_text(document.id)}</h2>\n{_shown(document, types)}</article>\n"


def page_head(types: Types, *, documents: int, title: str) -> str:
    """A page up to its first article. It lists the types, so all articles must have been made before."""
    listed = types.counts.most_common()
    boxes = "".join(
        f'<label class="{types.css_class(name)}"><input type="checkbox" id="{types.css_class(name)}" checked> {_text(name)} <span>{count:,}</span></label>\n'
        for name, count in listed
    )
    legend = f"<fieldset>\n<legend>Show</legend>\n{boxes}</fieldset>\n" if boxes else ""
    hidden = "".join(
        f"body:has(#{name}:not(:checked)) :is(mark.{name}) {{ border-color: transparent; }}\n"
        f"body:has(#{name}:not(:checked)) :is(small.{name}, tr.{name}) {{ display: none; }}\n"
        for name in (types.css_class(name) for name, _ in listed)
    )
    style = _style("html.css") + _style("html_page.css") + _colours(types) + hidden
    counted = f"{_count(documents, 'document')}, {_count(types.counts.total(), 'entity', 'entities')}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<title>{_text(title)}</title>
<style>
{style}</style>
</head>
<body class="biomux">
<header>
<h1>{_text(title)}</h1>
<p>{counted}</p>
{legend}</header>
<main>
"""


def page_foot() -> str:
    """The rest of a page after its last article."""
    from biomux import __version__

    return f"</main>\n<footer>Made by Biomux {__version__}. Entities were found by a program and may be wrong.</footer>\n</body>\n</html>\n"


def unshown(document: Document) -> int:
    """How many characters of the text are shown as a symbol instead."""
    return len(UNSHOWN.findall(document.text)) + len(UNSHOWN.findall(document.pair or ""))


def _shown(document: Document, types: Types) -> str:
    types.counts.update(span.type for span in document.spans)
    parts = [_marked(document, types)]
    if document.pair is not None:
        parts.append(f'<h3>Second text</h3>\n<div class="text">{_text(document.pair)}</div>\n')
    parts += [_relations(document), _labels(document), _questions(document), _entities(document, types)]
    return "".join(parts)


def _marked(document: Document, types: Types) -> str:
    """The text, each part inside the marks of the entities that cover it, and each entity followed by its type."""
    lanes = _lanes(document.spans)
    starting: dict[int, list[int]] = {}
    ending: dict[int, list[int]] = {}
    places = {0, len(document.text)}
    for number, span in enumerate(document.spans):
        for start, end in span.ranges:
            starting.setdefault(start, []).append(number)
            ending.setdefault(end, []).append(number)
            places |= {start, end}
    marks = [
        f'<mark class="{types.css_class(span.type)} l{lane}"' for span, lane in zip(document.spans, lanes, strict=True)
    ]
    covering: dict[int, None] = {}
    parts: list[str] = []
    at = 0
    for place in sorted(places):
        parts.append(_wrapped(_text(document.text[at:place]), covering, document.spans, marks))
        for number in ending.get(place, ()):
            covering.pop(number, None)
        ended = [document.spans[number] for number in ending.get(place, ()) if document.spans[number].end == place]
        type_names = "".join(
            f'<small class="{types.css_class(span.type)}">{_text(span.type)}</small>' for span in ended
        )
        parts.append(_wrapped(type_names, covering, document.spans, marks))
        covering |= dict.fromkeys(starting.get(place, ()))
        at = place
    room = f' style="line-height:calc(1.75em + {4 * max(lanes)}px)"' if lanes else ""
    return f'<div class="text"{room}>{"".join(parts)}</div>\n'


def _wrapped(inner: str, covering: Iterable[int], spans: Sequence[Span], marks: Sequence[str]) -> str:
    """HTML inside marks; hovering shows what all of them are."""
    numbers = list(covering)
    if not inner or not numbers:
        return inner
    tooltip = _text("\n".join(_summary(spans[number]) for number in numbers))
    opened = "".join(f"{marks[number]}>" for number in numbers[:-1]) + f'{marks[numbers[-1]]} title="{tooltip}">'
    return opened + inner + "</mark>" * len(numbers)


def _summary(span: Span) -> str:
    """A span in one line: type, score, head, identifiers."""
    parts = [span.type, "" if span.score is None else f"{span.score:.2f}", span.head or "", *span.identifiers]
    return " · ".join(part for part in parts if part)


def _lanes(spans: Sequence[Span]) -> list[int]:
    """The line on which each span is drawn: the highest free one, longer spans first."""
    lanes = [0] * len(spans)
    reached: list[int] = []
    for number in sorted(range(len(spans)), key=lambda number: (spans[number].start, -spans[number].end)):
        span = spans[number]
        lane = next((lane for lane, end in enumerate(reached) if end <= span.start), len(reached))
        if lane == len(reached):
            reached.append(0)
        reached[lane] = span.end
        lanes[number] = min(lane, LANES - 1)
    return lanes


def _relations(document: Document) -> str:
    mentions = {span.id: document.mention(span) for span in document.spans if span.id is not None}

    def end(argument: Argument) -> str:
        target = mentions.get(argument.target, argument.target) if argument.kind == "span" else argument.target
        return f"{argument.role}: {target}" if argument.role else target

    rows = [
        (relation.type, "; ".join(map(end, relation.arguments)), _number(relation.score), relation.head or "")
        for relation in document.relations
    ]
    return _table("Relations", ("type", "between", "score", "head"), rows)


def _labels(document: Document) -> str:
    rows = [
        (
            label.name,
            _number(label.value),
            "" if label.start is None or label.end is None else document.text[label.start : label.end],
            _number(label.score),
            label.head or "",
        )
        for label in document.labels
    ]
    return _table("Labels", ("label", "value", "applies to", "score", "head"), rows)


def _questions(document: Document) -> str:
    rows = [
        (question.text, answer.text, _number(answer.score), answer.head or "")
        for question in document.questions
        for answer in question.answers
    ]
    rows += [
        (question.text, "none" if question.impossible else "", "", "")
        for question in document.questions
        if not question.answers
    ]
    return _table("Questions", ("question", "answer", "score", "head"), rows)


def _entities(document: Document, types: Types) -> str:
    if not document.spans:
        return ""
    rows = "".join(
        f'<tr class="{(name := types.css_class(entity.type))}"><td class="type {name}">{_text(entity.type)}</td><td>{_text(entity.text)}</td>'
        f'<td class="number">{entity.start:,}–{entity.end:,}</td><td class="number">{_number(entity.score)}</td>'
        f"<td>{_text(entity.head or '')}</td><td>{_text(', '.join(entity.identifiers))}</td></tr>\n"
        for entity in document.entities
    )
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("type", "entity", "place", "score", "head", "identifiers")
    )
    counted = _count(len(document.spans), "entity", "entities")
    return f'<details>\n<summary>{counted} as a table</summary>\n<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n</details>\n'


def _table(title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    """A table without its empty columns; an empty string if there are no rows."""
    used = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{columns[place]}</th>' for place in used)
    body = "".join("<tr>" + "".join(f"<td>{_text(row[place])}</td>" for place in used) + "</tr>\n" for row in rows)
    return f'<h3>{title}</h3>\n<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'


def _colours(types: Types) -> str:
    return "".join(f".{types.css_class(name)} {{ --c: {colour(name)}; }}\n" for name in types.classes)


@cache
def _style(name: str) -> str:
    return files("biomux.document").joinpath(name).read_text(encoding="utf-8")


def _text(value: str) -> str:
    return escape(UNSHOWN.sub(_symbol, value))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
