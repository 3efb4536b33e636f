"""Writing DDI corpus XML: a file a document, named by its id."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from biomux.document import Argument, Relation
from biomux.errors import FormatError
from biomux.formats.format import Feature, Loss, report_losses
from biomux.formats.joined import parts_of
from biomux.formats.shelf import Once
from biomux.formats.xml import attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from biomux.document import Document, Range, Span

HOLDS: frozenset[Feature] = frozenset({"sentences", "spans", "overlaps", "fragments", "span ids", "relations"})
"""Of a span's extra, `text` is held."""
NONE = "none"
UNSPECIFIED = "unspecified"

_PLAIN = re.compile(r"[\w()\[\]+,=@-][\w()\[\]+,=@. -]{0,150}")


def write_folder(documents: Iterable[Document], folder: Path, *, on_loss: Callable[[Loss], None]) -> None:
    """`<id>.xml` a document; an id that cannot be a file's name is refused."""
    written = Once()
    for document in documents:
        if not _PLAIN.fullmatch(document.id) or written.put(document.id.casefold()) is not None:
            raise FormatError(
                "BX120",
                "the id cannot be a file's name, or has been written already",
                where=f"document {document.id!r}",
                hint="rename the document",
            )
        (folder / f"{document.id}.xml").write_bytes(_xml(document, on_loss).encode())


def _xml(document: Document, on_loss: Callable[[Loss], None]) -> str:
    where = f"document {document.id!r}"
    ranges = _sentences(document, on_loss)
    report_losses(document, HOLDS | {"metadata", "span extra"}, on_loss)
    extras = sum(bool(span.extra) and not _states_text(document, span) for span in document.spans)
    if extras:
        on_loss(Loss(document.id, "span extra", extras, "all but the text, where it differs from the mention's"))
    names = _names(document, on_loss)
    spans, home = _by_sentence(document, ranges, names, on_loss)
    pairs = _pairs(document, home, on_loss)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<document id="{attribute(document.id, where=where)}">']
    for number, (start, end) in enumerate(ranges):
        text = attribute(document.text[start:end], where=where)
        lines.append(f'    <sentence id="{attribute(document.id, where=where)}.s{number}" text="{text}">')
        lines += [_entity(document, span, name, start, where) for span, name in spans[number]]
        lines += [_pair(document, relation, number, count, where) for count, relation in enumerate(pairs[number])]
        lines.append("    </sentence>")
    return "\n".join([*lines, "</document>", ""])


def _sentences(document: Document, on_loss: Callable[[Loss], None]) -> list[Range]:
    """The ranges of the sentences, empty ones put back where the metadata says that they stood."""
    told = document.metadata.get("empty sentences")
    empty = told if isinstance(told, list) and all(type(number) is int for number in told) else []
    ranges = list(document.sentences or ())
    for number in sorted(empty):
        at = ranges[number - 1][1] + 1 if 0 < number <= len(ranges) else 0
        ranges.insert(max(number, 0), (at, at))
    found = parts_of(document, ranges, "sentences", "\n", on_loss)
    kept = [number for number, (start, end) in enumerate(found) if start == end]
    again = {"empty sentences": kept} if kept else {}
    if dict(document.metadata) != again:
        on_loss(Loss(document.id, "metadata", len(document.metadata) or 1))
    return found


def _states_text(document: Document, span: Span) -> bool:
    stated = span.extra.get("text")
    if set(span.extra) != {"text"} or not isinstance(stated, str) or stated == document.mention(span):
        return False
    return "".join(stated.split()) == "".join(document.mention(span).split())


def _names(document: Document, on_loss: Callable[[Loss], None]) -> list[str]:
    """The id of each span; those without one get one."""
    taken = {span.id for span in document.spans}
    if None in taken and len(taken) > 1:
        on_loss(Loss(document.id, "span ids", 1, "spans without an id get one"))
    free = (f"{document.id}.e{number}" for number in range(2 * len(document.spans) + 1))
    unused = (name for name in free if name not in taken)
    return [next(unused) if span.id is None else span.id for span in document.spans]


def _by_sentence(
    document: Document, ranges: list[Range], names: list[str], on_loss: Callable[[Loss], None]
) -> tuple[dict[int, list[tuple[Span, str]]], dict[str, int]]:
    """Spans by the number of their sentence, and the number by the span's id; a span across two is lost."""
    spans: dict[int, list[tuple[Span, str]]] = defaultdict(list)
    home: dict[str, int] = {}
    lost = 0
    for span, name in zip(document.spans, names, strict=True):
        number = next((n for n, (start, end) in enumerate(ranges) if start <= span.start and span.end <= end), None)
        if number is None:
            lost += 1
            continue
        home[name] = number
        spans[number].append((span, name))
    if lost:
        on_loss(Loss(document.id, "spans", lost, "mentions that are not within one sentence"))
    return spans, home


def _pairs(document: Document, home: dict[str, int], on_loss: Callable[[Loss], None]) -> dict[int, list[Relation]]:
    found: dict[int, list[Relation]] = defaultdict(list)
    lost = changed = 0
    for relation in document.relations:
        ends = [argument.target for argument in relation.arguments if argument.kind == "span"]
        numbers = {home.get(end) for end in ends}
        number = numbers.pop() if len(numbers) == 1 else None
        if len(relation.arguments) != 2 or len(ends) != 2 or number is None:
            lost += 1
            continue
        arguments = tuple(Argument(role, end) for role, end in zip(("e1", "e2"), ends, strict=True))
        changed += relation != Relation(relation.type, arguments, id=relation.id) or not (relation.id and relation.type)
        found[number].append(relation)
    if lost:
        on_loss(Loss(document.id, "relations", lost, "a pair is of two entities of one sentence"))
    if changed:
        on_loss(Loss(document.id, "relations", changed, "roles become e1 and e2; scores, heads and extra are not held"))
    return found


def _entity(document: Document, span: Span, name: str, start: int, where: str) -> str:
    offsets = ";".join(f"{first - start}-{last - start - 1}" for first, last in span.ranges)
    text = span.extra["text"] if _states_text(document, span) else document.mention(span)
    return (
        f'        <entity id="{attribute(name, where=where)}" charOffset="{offsets}" '
        f'type="{attribute(span.type, where=where)}" text="{attribute(text, where=where)}"/>'
    )


def _pair(document: Document, relation: Relation, sentence: int, count: int, where: str) -> str:
    name = relation.id or f"{document.id}.s{sentence}.p{count}"
    first, second = (attribute(argument.target, where=where) for argument in relation.arguments)
    said = 'ddi="false"' if relation.type == NONE else 'ddi="true"'
    if relation.type not in (NONE, UNSPECIFIED):
        said += f' type="{attribute(relation.type, where=where)}"'
    return f'        <pair id="{attribute(name, where=where)}" e1="{first}" e2="{second}" {said}/>'
