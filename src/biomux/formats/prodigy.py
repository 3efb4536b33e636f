"""Prodigy JSON lines: `{"text": "…", "spans": [{"start": 0, "end": 4, "label": "GENE"}], "answer": "accept"}`.

Offsets count characters. A span's `score` and `source` are its score and head, other fields its extra; `token_start` and `token_end` are dropped
if they agree with the tokens, and written again. `meta` is the document's metadata. Other fields
(hashes, the answer, the view, options, relations) are kept in the metadata under "prodigy", and there the other fields of tokens as "token fields". An example that was not accepted is read without its spans and labels:
these are kept in the metadata with its answer, since they were judged wrong or not judged.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Document, Label, Range, Span
from biomux.document.record_write import as_json
from biomux.errors import FormatError
from biomux.formats._fields import build, field, name_of, of_kind, optional, to_json
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._json_lines import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset(
    {"tokens", "spans", "overlaps", "scores", "heads", "span extra", "labels", "metadata"}
)

_OWN = {"id", "text", "spans", "tokens", "meta", "answer", "accept"}
_JUDGED = ("spans", "accept", "answer")
_SPAN = frozenset({"start", "end", "label", "score", "source", "text"})
_TOKEN = frozenset({"text", "start", "end", "id", "ws"})
_START = re.compile(rb'\s*\{(?=.*"text"\s*:).*"(?:spans"\s*:\s*\[|_input_hash"|answer"\s*:\s*")', re.DOTALL)


def sniff(name: str, head: bytes) -> bool:
    """By its suffix; or by a line with `text` and a field that only Prodigy has."""
    if name.endswith(".prodigy.jsonl"):
        return True
    first = head.split(b"\n", 1)[0]
    return name.endswith(".jsonl") and b'"biomux"' not in first and _START.match(first) is not None


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per line, named by its `id`, else `<stem>:<line>`."""
    for number, value in values(source, on_error=on_error):
        try:
            document = _document(value, f"{source.stem}:{number}", f"{source.name}:{number}")
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """One line per document; tokens have their `ws`, so that Prodigy keeps them."""
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        stream.write(to_json(_record(document, on_loss), document.id) + b"\n")


def _document(value: Any, default: str, where: str) -> Document:
    text = field(value, "text", str, where)
    metadata: dict[str, Any] = dict(optional(value, "meta", dict, where) or {})
    prodigy_fields = {name: content for name, content in value.items() if name not in _OWN}
    accepted = value.get("answer", "accept") == "accept"
    prodigy_fields |= {name: value[name] for name in (("answer",) if accepted else _JUDGED) if name in value}
    tokens = optional(value, "tokens", list, where)
    places = None if tokens is None else tuple(_place(token, where) for token in tokens)
    if token_fields := {
        str(number): rest for number, token in enumerate(tokens or ()) if (rest := _without(token, _TOKEN))
    }:
        prodigy_fields["token fields"] = token_fields
    if prodigy_fields:
        metadata["prodigy"] = prodigy_fields
    spans = (optional(value, "spans", list, where) or []) if accepted else []
    labels = (optional(value, "accept", list, where) or []) if accepted else []
    return build(
        where,
        default if value.get("id") is None else name_of(value["id"], "the id", where),
        text,
        tokens=places,
        spans=tuple(_span(span, text, places or (), where) for span in spans),
        labels=tuple(Label(of_kind(label, str, "an element of 'accept'", where)) for label in labels),
        metadata=metadata,
    )


def _place(item: Any, where: str) -> Range:
    return field(item, "start", int, where), field(item, "end", int, where)


def _without(item: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: content for name, content in item.items() if name not in names}


def _token_range(start: int, end: int, tokens: Sequence[Range]) -> dict[str, int]:
    """The first and last token of a span whose ends are those of tokens, else empty; Prodigy's `token_end` is inclusive."""
    first = bisect_left(tokens, start, key=itemgetter(0))
    last = bisect_left(tokens, end, key=itemgetter(1))
    aligned = last < len(tokens) and first < len(tokens) and (tokens[first][0], tokens[last][1]) == (start, end)
    return {"token_start": first, "token_end": last} if aligned else {}


def _span(item: Any, text: str, tokens: Sequence[Range], where: str) -> Span:
    start, end = _place(item, where)
    score = item.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise FormatError(
            "BX113", "a span's score must be a number", where=where, hint="leave it out, or give a number"
        )
    stated = optional(item, "text", str, where)
    if stated is not None and stated != text[start:end]:
        raise FormatError(
            "BX115",
            f"a span's text is {stated!r:.200}, but the text at {start}..{end} is {text[start:end]!r:.200}",
            where=where,
            hint="offsets count characters, end exclusive",
        )
    if "label" not in item and "type" in item:
        raise FormatError(
            "BX116",
            "the field 'label' of a span is missing",
            where=where,
            hint="Prodigy calls a span's type label; if these are Biomux's own JSON lines, add \"biomux\": 1 to each",
        )
    kind, head = field(item, "label", str, where), optional(item, "source", str, where)
    token_fields = {name: item[name] for name in ("token_start", "token_end") if name in item}
    derived = token_fields.keys() if token_fields and token_fields == _token_range(start, end, tokens) else frozenset()
    return Span(start, end, kind, score=score, head=head, extra=_without(item, _SPAN | derived))


def _record(document: Document, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": document.id, "text": document.text}
    if document.tokens is not None:
        fields["tokens"] = [
            {
                "text": document.text[start:end],
                "start": start,
                "end": end,
                "id": number,
                "ws": document.text[end : end + 1] == " ",
            }
            for number, (start, end) in enumerate(document.tokens)
        ]
    fields["spans"] = [_span_record(document, span, on_loss) for span in document.spans]
    labels = [label.name for label in document.labels if label == Label(label.name)]
    if len(labels) < len(document.labels):
        on_loss(Loss(document.id, "labels", len(document.labels) - len(labels), "labels with a number, place or score"))
    if labels:
        fields["accept"] = labels
    metadata = as_json(document.metadata, document.id)
    prodigy_fields = metadata.pop("prodigy", {})
    if (
        isinstance(prodigy_fields, dict)
        and (document.spans or document.labels)
        and prodigy_fields.keys() & {"spans", "accept"}
    ):
        on_loss(
            Loss(
                document.id,
                "metadata",
                detail="spans or labels that were not accepted, since the document has others now",
            )
        )
        prodigy_fields = {name: content for name, content in prodigy_fields.items() if name not in _JUDGED}
    if isinstance(prodigy_fields, dict) and prodigy_fields and not prodigy_fields.keys() & (_OWN - set(_JUDGED)):
        fields |= prodigy_fields
    elif prodigy_fields != {}:
        metadata["prodigy"] = prodigy_fields
    if metadata:
        fields["meta"] = metadata
    return fields


def _span_record(document: Document, span: Span, on_loss: Callable[[Loss], None]) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": span.start, "end": span.end, "label": span.type}
    fields |= _token_range(span.start, span.end, document.tokens or ())
    if span.score is not None:
        fields["score"] = as_json(float(span.score), document.id)
    if span.head is not None:
        fields["source"] = span.head
    if clash := sorted(span.extra.keys() & (_SPAN | fields.keys())):
        on_loss(Loss(document.id, "span extra", detail=f"Prodigy has its own fields called {clash}"))
    return {
        **{name: content for name, content in as_json(span.extra, document.id).items() if name not in clash},
        **fields,
    }


FORMAT = Format(
    name="prodigy",
    title="Prodigy JSON lines",
    suffixes=(".prodigy.jsonl",),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write,
)
