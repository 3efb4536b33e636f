"""Prodigy JSON lines: `{"text": "…", "spans": [{"start": 0, "end": 4, "label": "GENE"}], "answer": "accept"}`.

Offsets count characters. A span's `score` and `source` are its score and head; `meta` is the document's metadata. Other fields
(hashes, the view, options) are kept in the metadata under "prodigy". An example that was not accepted is read without its spans and labels:
they stand in the metadata with its answer, since they were judged wrong or not judged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Document, Label, Range, Span
from biomux.errors import FormatError
from biomux.formats._fields import build, field, name_of, of_kind, optional, to_json
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._json_lines import values
from biomux.formats._record_write import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"tokens", "spans", "overlaps", "scores", "heads", "labels", "metadata"})

_OWN = {"id", "text", "spans", "tokens", "meta", "answer", "accept"}
_JUDGED = ("spans", "accept", "answer")
_START = re.compile(rb'\s*\{(?=.*"text"\s*:).*"(?:spans"\s*:\s*\[|_input_hash"|answer"\s*:\s*")', re.DOTALL)


def sniff(name: str, head: bytes) -> bool:
    """Its suffix; or a line with `text` and a field that only Prodigy has."""
    if name.endswith(".prodigy.jsonl"):
        return True
    first = head.split(b"\n", 1)[0]
    return name.endswith(".jsonl") and b'"biomux"' not in first and _START.match(first) is not None


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document a line, called by its `id`, else `<stem>:<line>`."""
    for number, value in values(source, on_error=on_error):
        try:
            document = _document(value, f"{source.stem}:{number}", f"{source.name}:{number}")
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """One line a document; tokens with their `ws`, so that Prodigy takes them as they are."""
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        stream.write(to_json(_record(document, on_loss), document.id) + b"\n")


def _document(value: Any, default: str, where: str) -> Document:
    text = field(value, "text", str, where)
    metadata: dict[str, Any] = dict(optional(value, "meta", dict, where) or {})
    other = {name: held for name, held in value.items() if name not in _OWN}
    accepted = value.get("answer", "accept") == "accept"
    if not accepted:
        other |= {name: value[name] for name in _JUDGED if name in value}
    if other:
        metadata["prodigy"] = other
    tokens = optional(value, "tokens", list, where)
    spans = (optional(value, "spans", list, where) or []) if accepted else []
    labels = (optional(value, "accept", list, where) or []) if accepted else []
    return build(
        where,
        default if value.get("id") is None else name_of(value["id"], "the id", where),
        text,
        tokens=None if tokens is None else tuple(_place(token, where) for token in tokens),
        spans=tuple(_span(span, text, where) for span in spans),
        labels=tuple(Label(of_kind(label, str, "an element of 'accept'", where)) for label in labels),
        metadata=metadata,
    )


def _place(item: Any, where: str) -> Range:
    return field(item, "start", int, where), field(item, "end", int, where)


def _span(item: Any, text: str, where: str) -> Span:
    start, end = _place(item, where)
    score = item.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise FormatError("BX113", "a span's score is not a number", where=where, hint="leave it out, or give a number")
    said = optional(item, "text", str, where)
    if said is not None and said != text[start:end]:
        raise FormatError(
            "BX115",
            f"a span's text is {said!r}, but the text at {start}..{end} is {text[start:end]!r}",
            where=where,
            hint="offsets count characters, end exclusive",
        )
    return Span(start, end, field(item, "label", str, where), score=score, head=optional(item, "source", str, where))


def _record(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": document.id, "text": document.text}
    if document.tokens is not None:
        fields["tokens"] = [
            {
                "text": document.text[start:end],
                "start": start,
                "end": end,
                "id": n,
                "ws": document.text[end : end + 1] == " ",
            }
            for n, (start, end) in enumerate(document.tokens)
        ]
    fields["spans"] = [_span_record(span, document.id) for span in document.spans]
    labels = [label.name for label in document.labels if label == Label(label.name)]
    if len(labels) < len(document.labels):
        on_loss(Loss(document.id, "labels", len(document.labels) - len(labels), "labels with a number, place or score"))
    if labels:
        fields["accept"] = labels
    metadata = as_json(document.metadata, document.id)
    other = metadata.pop("prodigy", {})
    if isinstance(other, dict) and other and not other.keys() & (_OWN - set(_JUDGED)):
        fields |= other
    elif other != {}:
        metadata["prodigy"] = other
    if metadata:
        fields["meta"] = metadata
    return fields


def _span_record(span: Span, document: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": span.start, "end": span.end, "label": span.type}
    if span.score is not None:
        fields["score"] = as_json(float(span.score), document)
    if span.head is not None:
        fields["source"] = span.head
    return fields


FORMAT = Format(
    name="prodigy",
    title="Prodigy JSON lines",
    suffixes=(".prodigy.jsonl",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write,
)
