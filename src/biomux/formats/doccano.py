"""doccano JSON lines: `{"id": 1, "text": "…", "label": [[0, 4, "GENE"]]}`.

Read as well: labels of the whole text (`"label": ["relevant"]`), and doccano's export with relations (`"entities"` with
`start_offset` and `end_offset`, `"relations"` with `from_id` and `to_id`). Other fields become metadata.

doccano's versions disagree about offsets after characters beyond U+FFFF: some count characters, others UTF-16 units, and nothing in
the file tells which. Characters are assumed; `offsets="utf16"` reads the other kind. What is written counts characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from biomux.document import Argument, Document, Label, Relation, Span
from biomux.errors import FormatError, UsageError
from biomux.formats._fields import build, field, name_of, of_kind, optional, to_json
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._json_lines import values
from biomux.formats._record_write import as_json
from biomux.formats._utf16 import from_utf16

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"spans", "overlaps", "span ids", "relations", "labels", "metadata"})
ROLES = ("from", "to")
"""The roles of a relation's arguments: doccano has no names for them."""

_OWN = {"id", "text", "label", "entities", "relations"}
_START = re.compile(rb'\s*\{(?=.*"text"\s*:).*"(?:label|entities)"\s*:\s*\[', re.DOTALL)


def sniff(name: str, head: bytes) -> bool:
    """Its suffix; or a line with `text` and `label` or `entities` as far as can be seen."""
    if name.endswith(".doccano.jsonl"):
        return True
    return name.endswith((".jsonl", ".json1")) and _START.match(head.split(b"\n", 1)[0]) is not None


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    offsets: Literal["characters", "utf16"] = "characters",
) -> Iterator[Document]:
    """One document a line; called `<stem>:<line>` where there is no id."""
    if offsets not in ("characters", "utf16"):
        raise UsageError("BX001", f"there are no offsets {offsets!r}", hint="one of: characters, utf16")
    return _read(source, on_error, utf16=offsets == "utf16")


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """With span ids or relations, doccano's export with relations; else `label`, of spans or of the whole text."""
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        stream.write(to_json(_record(document, on_loss), document.id) + b"\n")


def _read(source: Source, on_error: Callable[[FormatError], None], *, utf16: bool) -> Iterator[Document]:
    for number, value in values(source, on_error=on_error):
        try:
            document = _document(value, f"{source.stem}:{number}", f"{source.name}:{number}", utf16=utf16)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _document(value: Any, default: str, where: str, *, utf16: bool) -> Document:
    text = field(value, "text", str, where)
    place = from_utf16(text) if utf16 else None
    spans, labels = [], []
    for item in optional(value, "label", list, where) or []:
        if isinstance(item, str):
            labels.append(Label(item))
        else:
            spans.append(_span(item, where))
    spans += [_entity(item, where) for item in optional(value, "entities", list, where) or []]
    if place is not None:
        spans = [place.span(span, where) for span in spans]
    return build(
        where,
        default if value.get("id") is None else name_of(value["id"], "the id", where),
        text,
        spans=tuple(spans),
        labels=tuple(labels),
        relations=tuple(_relation(item, where) for item in optional(value, "relations", list, where) or []),
        metadata={name: held for name, held in value.items() if name not in _OWN},
    )


def _span(item: Any, where: str) -> Span:
    if not isinstance(item, list) or len(item) != 3:
        raise FormatError("BX113", "a label is not [start, end, type]", where=where, hint='write [0, 4, "GENE"]')
    start, end = (of_kind(offset, int, "an offset", where) for offset in item[:2])
    return Span(start, end, of_kind(item[2], str, "a type", where))


def _entity(item: Any, where: str) -> Span:
    start, end = field(item, "start_offset", int, where), field(item, "end_offset", int, where)
    name = None if item.get("id") is None else name_of(item["id"], "an entity's id", where)
    return Span(start, end, field(item, "label", str, where), id=name)


def _relation(item: Any, where: str) -> Relation:
    ends = [name_of(field(item, key, object, where), f"{key!r}", where) for key in ("from_id", "to_id")]
    name = None if item.get("id") is None else name_of(item["id"], "a relation's id", where)
    arguments = tuple(Argument(role, end) for role, end in zip(ROLES, ends, strict=True))
    return Relation(field(item, "type", str, where), arguments, id=name)


def _record(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": document.id, "text": document.text}
    labels = [label.name for label in document.labels if label == Label(label.name)]
    if len(labels) < len(document.labels):
        on_loss(Loss(document.id, "labels", len(document.labels) - len(labels), "labels with a number, place or score"))
    if document.relations or any(span.id is not None for span in document.spans):
        fields["entities"] = [_entity_record(span) for span in document.spans]
        fields["relations"] = _relation_records(document, on_loss)
        fields["label"] = labels
    else:
        fields["label"] = [[span.start, span.end, span.type] for span in document.spans] + labels
    metadata = as_json(document.metadata, document.id)
    if clash := _OWN & metadata.keys():
        on_loss(Loss(document.id, "metadata", len(clash), f"doccano has fields of its own called {sorted(clash)}"))
    return {**metadata, **fields}


def _entity_record(span: Span) -> dict[str, Any]:
    named = {} if span.id is None else {"id": span.id}
    return {**named, "label": span.type, "start_offset": span.start, "end_offset": span.end}


def _relation_records(document: Document, on_loss: Callable[[Loss], None]) -> list[dict[str, Any]]:
    kept = []
    for relation in document.relations:
        ends = [argument.target for argument in relation.arguments]
        plain = Relation(
            relation.type, tuple(Argument(role, end) for role, end in zip(ROLES, ends, strict=False)), id=relation.id
        )
        if relation != plain:
            on_loss(Loss(document.id, "relations", detail="what is not two spans with the roles from and to"))
        if len(ends) == 2 and all(argument.kind == "span" for argument in relation.arguments):
            named = {} if relation.id is None else {"id": relation.id}
            kept.append({**named, "from_id": ends[0], "to_id": ends[1], "type": relation.type})
    return kept


FORMAT = Format(
    name="doccano",
    title="doccano JSON lines",
    suffixes=(".doccano.jsonl",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write,
)
