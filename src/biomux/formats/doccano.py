"""doccano JSON lines: `{"id": "d1", "text": "…", "label": [[0, 4, "GENE"]], "offsets": "utf16", "meta": {}}`.

Also read: labels of the whole text (`"label": ["relevant"]`, `"label": "relevant"`); the fields of other versions and projects, `"labels"`, `"cats"`,
`"annotations"` and `"entities"`, whose elements are labels, `[start, end, type]` or objects with `start_offset`, `end_offset` and `label`; and doccano's export with relations
(`"relations"` with `from_id` and `to_id`). Other keys of an object (`user`) go to the span's extra or, for a label, to the metadata as "label details". Other fields become metadata, and so
do the fields of `meta`.

Files are written so that doccano 1.8 can import them. Metadata are in `meta`, which every line has, because an import fails if some lines lack a field. A document with relations has `entities`
and `relations`, for a project that uses relations (format "JSONL(Relation)"). Their ids are numbers, because doccano drops other ids; `name` keeps the original id. That import reads
spans from `entities` only, so documents without relations lose their spans in such a project. All other documents have `label`, without the ids of spans. Characters beyond ASCII are escaped, because the import
of relations guesses the encoding.

After characters beyond U+FFFF, doccano 1.8 counts UTF-16 units in offsets, except in projects that count grapheme clusters, which cannot be read. Written offsets count UTF-16 units, too, and
`"offsets": "utf16"` says so; doccano keeps that field. In lines without it, offsets count UTF-16 units if there is a field `Comments`, as in exports of doccano 1.8, and otherwise characters. The
option `offsets` (`"utf16"` or `"characters"`) takes precedence over both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from biomux.document import Argument, Document, Label, Relation, Span
from biomux.document.record_write import as_json
from biomux.errors import FormatError, UsageError
from biomux.formats._fields import build, field, name_of, of_kind, optional, to_json
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._json_lines import values
from biomux.formats._utf16 import from_utf16
from biomux.text.offsets import utf16

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Range
    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"spans", "overlaps", "span ids", "relations", "labels", "metadata"})
ROLES = ("from", "to")
"""The roles of a relation's arguments: doccano has no names for them."""

_LISTS = ("label", "labels", "annotations", "entities", "cats")
_OFFSETS = frozenset({"start_offset", "end_offset"})
_OWN = {"id", "text", "relations", *_LISTS}
_UNITS = ("characters", "utf16")
_ENTITY = ("id", "name", "label", "start_offset", "end_offset")
_START = re.compile(rb'\s*\{(?=.*"text"\s*:).*"(?:label|labels|annotations|entities|cats)"\s*:\s*\[', re.DOTALL)
_PRODIGY = re.compile(rb'"(?:_input_hash"|_task_hash"|answer"\s*:\s*"|spans"\s*:\s*\[)')


def sniff(name: str, head: bytes) -> bool:
    """By its suffix; or by a line with `text` and one of doccano's arrays, as far as can be seen, and nothing that only Prodigy has."""
    if name.endswith(".doccano.jsonl"):
        return True
    first = head.split(b"\n", 1)[0]
    return name.endswith((".jsonl", ".json1")) and _START.match(first) is not None and _PRODIGY.search(first) is None


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    offsets: Literal["characters", "utf16"] | None = None,
) -> Iterator[Document]:
    """One document per line, named `<stem>:<line>` if it has no id."""
    if offsets not in (None, *_UNITS):
        raise UsageError("BX001", f"offsets must be characters or utf16, got {offsets!r}")
    return _read(source, on_error, offsets)


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """With relations, write doccano's export with relations; else `label`, for spans or the whole text."""
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        line = to_json(_record(document, on_loss), document.id)
        if not line.isascii():
            line = json.dumps(json.loads(line), separators=(",", ":")).encode()
        stream.write(line + b"\n")


def _read(source: Source, on_error: Callable[[FormatError], None], offsets: str | None) -> Iterator[Document]:
    for number, value in values(source, on_error=on_error):
        try:
            document = _document(value, f"{source.stem}:{number}", f"{source.name}:{number}", offsets)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _document(value: Any, default: str, where: str, offsets: str | None) -> Document:
    text = field(value, "text", str, where)
    stated = value.get("offsets") if value.get("offsets") in _UNITS else None
    units = offsets or stated or ("utf16" if "Comments" in value else "characters")
    place = from_utf16(text) if units == "utf16" else None
    spans: list[Span] = []
    labels: list[Label] = []
    details: list[Any] = []
    names: dict[str, str] = {}
    for name in _LISTS:
        for item in _items(value, name, where):
            if isinstance(item, str):
                labels.append(Label(item))
            elif name != "entities" and isinstance(item, dict) and "label" in item and not item.keys() & _OFFSETS:
                labels.append(Label(name_of(item["label"], "a label", where)))
                details += [item] if len(item) > 1 else []
            else:
                span = _entity(item, where) if isinstance(item, dict) else _span(item, where)
                if span.id is not None and item.get("id") is not None:
                    names[str(item["id"])] = span.id
                spans.append(span)
    metadata = {name: content for name, content in value.items() if name not in _OWN}
    if stated:
        del metadata["offsets"]
    if isinstance(meta := metadata.get("meta"), dict) and not meta.keys() & metadata.keys() - {"meta"}:
        del metadata["meta"]
        metadata |= meta
    if details:
        metadata["label details"] = details
    if place is not None:
        spans = [place.span(span, where) for span in spans]
    return build(
        where,
        default if value.get("id") is None else name_of(value["id"], "the id", where),
        text,
        spans=tuple(spans),
        labels=tuple(labels),
        relations=tuple(_relation(item, names, where) for item in optional(value, "relations", list, where) or []),
        metadata=metadata,
    )


def _span(item: Any, where: str) -> Span:
    if not isinstance(item, list) or len(item) != 3:
        raise FormatError("BX113", "a label must be [start, end, type]", where=where, hint='write [0, 4, "GENE"]')
    start, end = (of_kind(offset, int, "an offset", where) for offset in item[:2])
    return Span(start, end, of_kind(item[2], str, "a type", where))


def _items(value: dict[str, Any], name: str, where: str) -> list[Any]:
    """The elements of a field: those of an array, a single string, or the names in an object whose values are true or 1 (spaCy's `cats`)."""
    content = value.get(name)
    if isinstance(content, str) and name != "annotations":
        return [content]
    if name == "cats" and isinstance(content, dict):
        return [label for label, is_so in content.items() if is_so in (True, 1)]
    return optional(value, name, list, where) or []


def _entity(item: Any, where: str) -> Span:
    start, end = field(item, "start_offset", int, where), field(item, "end_offset", int, where)
    kind = name_of(field(item, "label", object, where), "a type", where)
    extra = {key: content for key, content in item.items() if key not in _ENTITY}
    name = _name(item, "an entity's id", where)
    return Span(start, end, kind, id=name, extra=extra)


def _name(item: dict[str, Any], what: str, where: str) -> str | None:
    """The id of an entity or relation: its `name`, which keeps an id that was not a number, or else its `id`."""
    name = item.get("id") if item.get("name") is None else item["name"]
    return None if name is None else name_of(name, what, where)


def _relation(item: Any, names: dict[str, str], where: str) -> Relation:
    ends = [name_of(field(item, key, object, where), f"{key!r}", where) for key in ("from_id", "to_id")]
    ends = [names.get(end, end) for end in ends]
    name = _name(item, "a relation's id", where)
    arguments = tuple(Argument(role, end) for role, end in zip(ROLES, ends, strict=True))
    return Relation(field(item, "type", str, where), arguments, id=name)


def _record(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": document.id, "text": document.text}
    place = utf16(document.text)
    places = [place.range((span.start, span.end)) for span in document.spans]
    labels = [label.name for label in document.labels if label == Label(label.name)]
    if len(labels) < len(document.labels):
        on_loss(Loss(document.id, "labels", len(document.labels) - len(labels), "labels with a number, place or score"))
    if document.relations:
        numbers: dict[str, int] = {}
        fields["entities"] = [
            _entity_record(span, range_, numbers) for span, range_ in zip(document.spans, places, strict=True)
        ]
        fields["relations"] = _relation_records(document, numbers, on_loss)
        fields["label"] = labels
    else:
        if ids := sum(span.id is not None for span in document.spans):
            on_loss(Loss(document.id, "span ids", ids, "spans have ids only in documents with relations"))
        fields["label"] = [
            *([*range_, span.type] for span, range_ in zip(document.spans, places, strict=True)),
            *labels,
        ]
    return {**fields, "offsets": "utf16", "meta": as_json(document.metadata, document.id)}


def _entity_record(span: Span, range_: Range, numbers: dict[str, int]) -> dict[str, Any]:
    place = {"label": span.type, "start_offset": range_[0], "end_offset": range_[1]}
    if span.id is None:
        return place
    number = numbers.setdefault(span.id, len(numbers))
    return {"id": number, **place} if str(number) == span.id else {"id": number, "name": span.id, **place}


def _relation_records(
    document: Document, numbers: dict[str, int], on_loss: Callable[[Loss], None]
) -> list[dict[str, Any]]:
    records = []
    for relation in document.relations:
        ends = [argument.target for argument in relation.arguments]
        plain = Relation(
            relation.type, tuple(Argument(role, end) for role, end in zip(ROLES, ends, strict=False)), id=relation.id
        )
        if relation != plain:
            on_loss(Loss(document.id, "relations", detail="everything but two spans with the roles from and to"))
        if len(ends) == 2 and all(argument.kind == "span" for argument in relation.arguments):
            id_field = {} if relation.id is None else {"name": relation.id}
            records.append({**id_field, "from_id": numbers[ends[0]], "to_id": numbers[ends[1]], "type": relation.type})
    return records


FORMAT = Format(
    name="doccano",
    title="doccano JSON lines",
    suffixes=(".doccano.jsonl",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write,
)
