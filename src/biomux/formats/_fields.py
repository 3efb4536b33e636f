"""Fields of JSON records, and documents from them; missing or wrong fields raise FormatError with their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from biomux.document import Document
from biomux.errors import DocumentError, FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")

_A = {str: "a string", list: "an array", int: "an integer", dict: "an object", bool: "true or false"}


def field(record: Any, name: str, kind: type[T], where: str) -> T:
    """A required field, of that kind."""
    if not isinstance(record, dict):
        raise FormatError("BX113", "expected a JSON object", where=where, hint="check how the file was made")
    if name not in record:
        raise FormatError("BX116", f"the field {name!r} is missing", where=where, hint="add it")
    return of_kind(record[name], kind, f"the field {name!r}", where)


def optional(record: dict[str, Any], name: str, kind: type[T], where: str) -> T | None:
    """A field that may be missing or null."""
    return field(record, name, kind, where) if record.get(name) is not None else None


def strings(record: Any, name: str, where: str) -> list[str]:
    """A field that must be an array of strings."""
    return [of_kind(value, str, f"an element of {name!r}", where) for value in field(record, name, list, where)]


def integers(values: Iterable[Any], name: str, where: str) -> list[int]:
    """Values that must be integers."""
    return [of_kind(value, int, f"an element of {name!r}", where) for value in values]


def of_kind(value: Any, kind: type[T], what: str, where: str) -> T:
    """The value, if it is of that kind."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise FormatError("BX113", f"{what} must be {_A[kind]}", where=where, hint="check how the file was made")
    return value


def name_of(value: Any, what: str, where: str) -> str:
    """An id, which may be a string or an integer."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FormatError(
            "BX113", f"{what} must be a string or an integer", where=where, hint="check how the file was made"
        )
    return str(value)


def build(where: str, id: str, text: str, **parts: Any) -> Document:
    """A document; if its parts contradict each other, the record at that place is malformed."""
    try:
        return Document(id, text, **parts)
    except DocumentError as error:
        raise FormatError(
            "BX114" if error.code == "BX101" else "BX113",
            error.message,
            where=f"{where} (document {id!r})",
            hint=error.hint,
        ) from None


def to_json(value: Any, document: str, *, indent: bool = False) -> bytes:
    """A record as JSON; values that JSON cannot hold are refused."""
    import orjson

    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except TypeError as error:
        raise FormatError(
            "BX120", f"cannot write as JSON: {error}", where=f"document {document!r}", hint="repair the document"
        ) from None
