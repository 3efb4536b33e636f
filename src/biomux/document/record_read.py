"""A document from a JSON object, as docs/reference/jsonl.md specifies it: every field is checked."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from biomux.document.document import Document
from biomux.document.parts import Answer, Argument, Label, Passage, Question, Relation, Span
from biomux.errors import FormatError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.document.parts import Range

Part = TypeVar("Part")

VERSION = 1
"""Written in every line, so that files can be split and joined. A line of a later version is refused."""

_FIELDS: dict[str, frozenset[str]] = {
    "document": frozenset(
        [
            "biomux",
            "id",
            "text",
            "passages",
            "sentences",
            "tokens",
            "spans",
            "relations",
            "labels",
            "pair",
            "questions",
            "coverage",
            "metadata",
        ]
    ),
    "span": frozenset(["start", "end", "type", "score", "head", "identifiers", "fragments", "id", "extra"]),
    "relation": frozenset(["type", "arguments", "score", "head", "id", "extra"]),
    "argument": frozenset(["role", "target", "kind"]),
    "passage": frozenset(["start", "end", "kind", "extra"]),
    "label": frozenset(["name", "value", "start", "end", "score", "head"]),
    "question": frozenset(["id", "text", "answers", "kind", "impossible", "extra"]),
    "answer": frozenset(["text", "start", "end", "score", "head"]),
}
_SPAN_FIELDS = _FIELDS["span"]
_KINDS = ("span", "concept", "relation")


class MalformedError(Exception):
    """Why a line is not a document; becomes a FormatError where the line's place is known."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def document_of(fields: Any) -> Document:
    """The document of a JSON object as `record` returns it.

    Raises MalformedError, or DocumentError if the object contradicts itself.
    """
    if type(fields) is not dict:
        raise MalformedError("BX113", "the line must be a JSON object", "write one object per line")
    version = fields.get("biomux")
    if version != VERSION or type(version) is not int:
        raise _wrong_version(version)
    if not _FIELDS["document"].issuperset(fields):
        raise _unknown(fields, "document")
    get = fields.get
    return Document(
        _string(fields, "id", "document"),
        _string(fields, "text", "document"),
        _each(fields, "passages", _passage) if "passages" in fields else (),
        _ranges(fields, "sentences") if "sentences" in fields else None,
        _ranges(fields, "tokens") if "tokens" in fields else None,
        _each(fields, "spans", _span) if "spans" in fields else (),
        _each(fields, "relations", _relation) if "relations" in fields else (),
        _each(fields, "labels", label_of) if "labels" in fields else (),
        _string(fields, "pair", "document") if get("pair") is not None else None,
        _each(fields, "questions", _question) if "questions" in fields else (),
        _ranges(fields, "coverage") if "coverage" in fields else None,
        _object(fields, "metadata"),
    )


def of_dict(fields: Any) -> Document:
    """As `document_of`, with errors for callers who read no file. Tuples are accepted as lists."""
    if not isinstance(fields, Mapping):
        raise UsageError(
            "BX001",
            f"fields must be a mapping, got {type(fields).__name__}",
            hint="pass what Document.to_dict() returns",
        )
    try:
        return document_of({"biomux": VERSION, **plain(dict(fields))})
    except MalformedError as bad:
        where = f"document {fields['id']!r:.60}" if "id" in fields else None
        raise FormatError(bad.code, bad.message, where=where, hint=bad.hint) from None


def plain(value: Any) -> Any:
    """The same value with lists instead of tuples, as JSON returns them."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def _span(fields: dict[str, Any]) -> Span:
    """Written for speed: an annotated file is mostly spans with offsets, type, score and head."""
    try:
        start, end, type_ = fields["start"], fields["end"], fields["type"]
    except KeyError as error:
        raise _missing(error.args[0], "span") from None
    if type(start) is not int or type(end) is not int or type(type_) is not str:
        raise MalformedError(
            "BX113", "a span's start and end must be integers, and its type a string", "see docs/reference/jsonl.md"
        )
    size = len(fields)
    if size == 3:
        return Span(start, end, type_)
    score, head = fields.get("score"), fields.get("head")
    if size == 5 and type(score) is float and type(head) is str:
        return Span(start, end, type_, score, head)
    if not _SPAN_FIELDS.issuperset(fields):
        raise _unknown(fields, "span")
    return Span(
        start,
        end,
        type_,
        _float(score, "score"),
        _text(head, "head"),
        _strings(fields, "identifiers") if "identifiers" in fields else (),
        _ranges(fields, "fragments") if "fragments" in fields else (),
        _text(fields.get("id"), "id"),
        _object(fields, "extra") if "extra" in fields else {},
    )


def _relation(fields: dict[str, Any]) -> Relation:
    if not _FIELDS["relation"].issuperset(fields):
        raise _unknown(fields, "relation")
    get = fields.get
    return Relation(
        _string(fields, "type", "relation"),
        _each(fields, "arguments", _argument),
        _float(get("score"), "score"),
        _text(get("head"), "head"),
        _text(get("id"), "id"),
        _object(fields, "extra"),
    )


def _argument(fields: dict[str, Any]) -> Argument:
    if not _FIELDS["argument"].issuperset(fields):
        raise _unknown(fields, "argument")
    kind = fields.get("kind", "span")
    if kind not in _KINDS:
        raise MalformedError(
            "BX113",
            f"an argument's kind must be span, concept or relation, got {kind!r}",
            "see docs/reference/jsonl.md",
        )
    return Argument(_string(fields, "role", "argument"), _string(fields, "target", "argument"), kind)


def _passage(fields: dict[str, Any]) -> Passage:
    if not _FIELDS["passage"].issuperset(fields):
        raise _unknown(fields, "passage")
    start, end = _integer(fields, "start", "passage"), _integer(fields, "end", "passage")
    return Passage(start, end, _string(fields, "kind", "passage"), _object(fields, "extra"))


def label_of(fields: dict[str, Any]) -> Label:
    """A label from its object."""
    if not _FIELDS["label"].issuperset(fields):
        raise _unknown(fields, "label")
    name = _string(fields, "name", "label")
    return Label(name, _float(fields.get("value"), "value"), *_place(fields, "label"))


def _question(fields: dict[str, Any]) -> Question:
    if not _FIELDS["question"].issuperset(fields):
        raise _unknown(fields, "question")
    impossible = fields.get("impossible", False)
    if type(impossible) is not bool:
        raise MalformedError("BX113", "a question's 'impossible' must be true or false", "see docs/reference/jsonl.md")
    return Question(
        _string(fields, "id", "question"),
        _string(fields, "text", "question"),
        _each(fields, "answers", _answer) if "answers" in fields else (),
        _string(fields, "kind", "question") if "kind" in fields else "factoid",
        impossible,
        _object(fields, "extra"),
    )


def _answer(fields: dict[str, Any]) -> Answer:
    if not _FIELDS["answer"].issuperset(fields):
        raise _unknown(fields, "answer")
    return Answer(_string(fields, "text", "answer"), *_place(fields, "answer"))


def _place(fields: dict[str, Any], part_name: str) -> tuple[int | None, int | None, float | None, str | None]:
    start = _integer(fields, "start", part_name) if fields.get("start") is not None else None
    end = _integer(fields, "end", part_name) if fields.get("end") is not None else None
    return start, end, _float(fields.get("score"), "score"), _text(fields.get("head"), "head")


def _each(fields: dict[str, Any], name: str, build: Callable[[dict[str, Any]], Part]) -> tuple[Part, ...]:
    if name not in fields:
        raise _missing(name, "record")
    items = fields[name]
    if type(items) is not list or not {dict}.issuperset(map(type, items)):
        raise MalformedError("BX113", f"{name!r} must be a list of objects", "see docs/reference/jsonl.md")
    return tuple([build(item) for item in items])


def _ranges(fields: dict[str, Any], name: str) -> tuple[Range, ...]:
    items = fields[name]
    try:
        ranges = tuple([(start, end) for start, end in items])
    except (TypeError, ValueError):
        ranges = (("", ""),)
    if type(items) is not list or not {int}.issuperset(map(type, chain.from_iterable(ranges))):
        raise MalformedError(
            "BX113", f"{name!r} must be a list of [start, end] pairs of integers", "see docs/reference/jsonl.md"
        )
    return ranges


def _strings(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    items = fields[name]
    if type(items) is not list or not all(type(item) is str for item in items):
        raise MalformedError("BX113", f"{name!r} must be a list of strings", "see docs/reference/jsonl.md")
    return tuple(items)


def _object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    if value is None:
        return {}
    if type(value) is not dict:
        raise MalformedError("BX113", f"{name!r} must be an object", "see docs/reference/jsonl.md")
    return value


def _string(fields: dict[str, Any], name: str, part_name: str) -> str:
    value = fields.get(name)
    if type(value) is str:
        return value
    if name not in fields:
        raise _missing(name, part_name)
    raise MalformedError("BX113", f"{name!r} of a {part_name} must be a string", "see docs/reference/jsonl.md")


def _text(value: Any, name: str) -> str | None:
    if value is None or type(value) is str:
        return value
    raise MalformedError("BX113", f"{name!r} must be a string", "leave it out, or give a string")


def _integer(fields: dict[str, Any], name: str, part_name: str) -> int:
    value = fields.get(name)
    if type(value) is int:
        return value
    if name not in fields:
        raise _missing(name, part_name)
    raise MalformedError("BX113", f"{name!r} of a {part_name} must be an integer", "see docs/reference/jsonl.md")


def _float(value: Any, name: str) -> float | None:
    if value is None or type(value) is float or type(value) is int:
        return value
    raise MalformedError("BX113", f"{name!r} must be a number", "leave it out, or give a number")


def _missing(name: str, part_name: str) -> MalformedError:
    return MalformedError("BX116", f"a {part_name} lacks the field {name!r}", "see docs/reference/jsonl.md")


def _unknown(fields: dict[str, Any], part_name: str) -> MalformedError:
    names = ", ".join(repr(name) for name in sorted(fields.keys() - _FIELDS[part_name]))
    return MalformedError(
        "BX113", f"a {part_name} has the unknown field {names}", "put your own values into 'metadata' or 'extra'"
    )


def _wrong_version(version: Any) -> MalformedError:
    if type(version) is int and version > VERSION:
        message = f"the line has version {version}, but this Biomux reads version {VERSION}"
        return MalformedError("BX122", message, "read it with a newer Biomux")
    if version is None:
        return MalformedError(
            "BX116",
            "the line lacks the field 'biomux', which holds the version",
            'add "biomux": 1, or read objects with an id and a text with --from json',
        )
    return MalformedError("BX113", f"the version must be a positive integer, got {version!r}", 'write "biomux": 1')
