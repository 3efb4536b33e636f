"""A document as a JSON object, as docs/reference/jsonl.md specifies it, without fields at their default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.document.record_read import VERSION
from biomux.errors import FormatError

if TYPE_CHECKING:
    from biomux.document.document import Document
    from biomux.document.parts import Answer, Argument, Label, Passage, Question, Relation, Span

MAX_DEPTH = 100
"""How deep lists and objects in `metadata` and `extra` may be nested."""


def record(document: Document) -> dict[str, Any]:
    """A document as a JSON object, without fields at their default."""
    fields: dict[str, Any] = {"biomux": VERSION, "id": document.id, "text": document.text}
    where = document.id
    if document.passages:
        fields["passages"] = [_passage_record(passage, where) for passage in document.passages]
    if document.sentences is not None:
        fields["sentences"] = document.sentences
    if document.tokens is not None:
        fields["tokens"] = document.tokens
    if document.spans:
        fields["spans"] = [_span_record(span, where) for span in document.spans]
    if document.relations:
        fields["relations"] = [_relation_record(relation, where) for relation in document.relations]
    if document.labels:
        fields["labels"] = [label_record(label, where) for label in document.labels]
    if document.pair is not None:
        fields["pair"] = document.pair
    if document.questions:
        fields["questions"] = [_question_record(question, where) for question in document.questions]
    if document.coverage is not None:
        fields["coverage"] = document.coverage
    if document.metadata:
        fields["metadata"] = as_json(document.metadata, where)
    return fields


def _span_record(span: Span, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": span.start, "end": span.end, "type": span.type}
    if span.score is not None:
        fields["score"] = _number(span.score, where)
    if span.head is not None:
        fields["head"] = span.head
    if span.identifiers:
        fields["identifiers"] = span.identifiers
    if span.fragments:
        fields["fragments"] = span.fragments
    if span.id is not None:
        fields["id"] = span.id
    if span.extra:
        fields["extra"] = as_json(span.extra, where)
    return fields


def _relation_record(relation: Relation, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": relation.type, "arguments": [_argument_record(end) for end in relation.arguments]}
    if relation.score is not None:
        fields["score"] = _number(relation.score, where)
    if relation.head is not None:
        fields["head"] = relation.head
    if relation.id is not None:
        fields["id"] = relation.id
    if relation.extra:
        fields["extra"] = as_json(relation.extra, where)
    return fields


def _argument_record(argument: Argument) -> dict[str, str]:
    fields = {"role": argument.role, "target": argument.target}
    if argument.kind != "span":
        fields["kind"] = argument.kind
    return fields


def _passage_record(passage: Passage, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": passage.start, "end": passage.end, "kind": passage.kind}
    if passage.extra:
        fields["extra"] = as_json(passage.extra, where)
    return fields


def label_record(label: Label, where: str) -> dict[str, Any]:
    """A label as an object."""
    fields: dict[str, Any] = {"name": label.name}
    if label.value is not None:
        fields["value"] = _number(label.value, where)
    return _placed(fields, label, where)


def _answer_record(answer: Answer, where: str) -> dict[str, Any]:
    return _placed({"text": answer.text}, answer, where)


def _placed(fields: dict[str, Any], part: Label | Answer, where: str) -> dict[str, Any]:
    if part.start is not None:
        fields["start"] = part.start
    if part.end is not None:
        fields["end"] = part.end
    if part.score is not None:
        fields["score"] = _number(part.score, where)
    if part.head is not None:
        fields["head"] = part.head
    return fields


def _question_record(question: Question, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": question.id, "text": question.text}
    if question.answers:
        fields["answers"] = [_answer_record(answer, where) for answer in question.answers]
    if question.kind != "factoid":
        fields["kind"] = question.kind
    if question.impossible:
        fields["impossible"] = True
    if question.extra:
        fields["extra"] = as_json(question.extra, where)
    return fields


def _number(value: float, where: str) -> float:
    """A plain number. NaN and infinities are refused: they would silently become null."""
    if not -float("inf") < value < float("inf"):
        raise _cannot_hold(f"JSON has no number {value}", where)
    return value if type(value) is int else float(value)


def as_json(value: Any, where: str, depth: int = 0) -> Any:
    """The value if it is JSON already; anything that would be read back as something else is refused."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return _number(value, where)
    if depth > MAX_DEPTH:
        raise _cannot_hold(f"metadata is nested more than {MAX_DEPTH} levels deep", where)
    if kind is list:
        return [as_json(item, where, depth + 1) for item in value]
    if hasattr(value, "items"):
        fields = {}
        for key, item in value.items():
            if type(key) is not str:
                raise _cannot_hold(f"the key {key!r} in metadata is not a string", where)
            fields[key] = as_json(item, where, depth + 1)
        return fields
    raise _cannot_hold(f"a {kind.__name__} in metadata is not JSON", where)


def _cannot_hold(message: str, where: str) -> FormatError:
    return FormatError(
        "BX120", message, where=f"document {where!r}", hint="use strings, finite numbers, lists, objects"
    )
