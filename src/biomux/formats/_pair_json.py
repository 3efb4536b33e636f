"""Pairs of texts as JSON objects: the part of `pairs` that does not read tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from biomux.document import Label
from biomux.errors import FormatError
from biomux.formats import _columns as columns
from biomux.formats import json_records
from biomux.formats._fields import build, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from biomux.document import Document
    from biomux.formats._source import Source


def is_json(head: bytes) -> bool:
    """Whether the first character begins an object or an array."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def sniff_json(head: bytes, names: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether the first object has strings under known names for both texts, and is not a line of Biomux's own format."""
    keys = json_records.keys(head)
    strings = {key.lower() for key, is_string in keys.items() if is_string}
    return "biomux" not in keys and all(strings & set(names[role]) for role in ("text", "pair"))


def read_json(
    source: Source,
    asked: Mapping[str, str | int | None],
    names: Mapping[str, tuple[str, ...]],
    *,
    on_error: Callable[[FormatError], None],
) -> Iterator[Document]:
    """One document per object. `asked` maps roles to keys; the other keys are found by `names`."""
    count = 0
    for number, value in json_records.objects(source, on_error):
        count += 1
        where = f"{source.name}:{number}"
        try:
            if not isinstance(value, dict):
                raise FormatError(
                    "BX113", "expected a JSON object", where=where, hint="give objects with two texts each"
                )
            document = _document(value, asked, names, f"{source.stem}:{count}", where)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def number_of(value: object, where: str) -> float | None:
    """A finite number, or its digits; None if empty."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(
            "BX113", f"the score must be a number such as 2.5, got {value!r}", where=where, hint="correct it"
        )
    return number


def _document(
    record: dict[str, Any],
    requested: Mapping[str, str | int | None],
    names: Mapping[str, tuple[str, ...]],
    default_id: str,
    where: str,
) -> Document:
    keys = {role: _key(record, role, requested.get(role), known_keys, where) for role, known_keys in names.items()}
    texts = {role: _text(record, keys[role], role, where) for role in ("text", "pair")}
    values = {role: record[key] for role, key in keys.items() if key is not None}
    label, score = values.get("label"), values.get("score")
    if label is not None and not isinstance(label, str):
        label = name_of(label, "the label", where)
    number = number_of(score, where)
    labels = (Label(label or "similarity", value=number),) if label or number is not None else ()
    stated_id = None if values.get("id") is None else name_of(values["id"], "the id", where)
    used_keys = set(keys.values())
    metadata = {key: value for key, value in record.items() if key not in used_keys and value is not None}
    return build(where, stated_id or default_id, texts["text"], pair=texts["pair"], labels=labels, metadata=metadata)


def _key(
    record: dict[str, Any], role: str, requested: str | int | None, known_keys: Iterable[str], where: str
) -> str | None:
    if requested is not None:
        if str(requested) in record:
            return str(requested)
        raise FormatError(
            "BX116",
            f"there is no key {str(requested)!r} among {columns.listed(record)}",
            where=where,
            hint=f"name another for {role!r}",
        )
    lower = {key.lower(): key for key in reversed(list(record))}
    return next((lower[name] for name in known_keys if name in lower), None)


def _text(record: dict[str, Any], key: str | None, role: str, where: str) -> str:
    if key is None:
        which = "first" if role == "text" else "second"
        raise FormatError(
            "BX116",
            f"cannot find the key with the {which} text among {columns.listed(record)}",
            where=where,
            hint=f"name it with --{role}",
        )
    text = record[key]
    if not isinstance(text, str):
        raise FormatError("BX113", f"the text in {key!r} must be a string", where=where, hint="give a string")
    return text
