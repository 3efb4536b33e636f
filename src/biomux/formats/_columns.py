"""Documents from records with named fields (rows of a table or JSON objects): which fields are the text, and which is the id.

>>> document({"PMID": "7", "Title": "Aspirin", "Abstract": "It helps.", "Year": "1998"}, default="a:1", where="a.csv:2")
<Document '7': 'Aspirin\\nIt helps.', 17 characters, 2 passages>
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from biomux.document import Passage
from biomux.errors import FormatError
from biomux.formats._fields import build, name_of
from biomux.formats._joined_text import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from biomux.document import Document

TEXTS: tuple[tuple[str, ...], ...] = (
    ("text",),
    ("title", "articletitle", "abstract", "abstracttext"),
    ("sentence",),
    ("content",),
    ("body",),
    ("passage",),
    ("paragraph",),
)
"""Names of text fields; the first group that occurs is used, and several fields are joined. Case, spaces and punctuation do not matter: `Abstract_Text`."""
IDS = ("id", "pmid", "pubmedid", "docid", "documentid", "articleid", "textid", "sentenceid", "uid", "pmcid", "doi")
"""Names of id fields, likewise."""
SHOWN = 12
"""How many field names an error lists."""

_KINDS = {"articletitle": "title", "abstracttext": "abstract"}
_PASSAGES = ("title", "abstract")


def has_text(names: Iterable[str]) -> bool:
    """Whether one of the names is a known name of a text field."""
    return bool(_known_texts(list(names)))


def document(
    record: Mapping[str, Any],
    *,
    default: str,
    where: str,
    text: str | None = None,
    id: str | None = None,
    what: str = "field",
) -> Document:
    """The document of a record. `text` and `id` name fields ("title,abstract" are joined by a line feed); other fields become metadata.

    A missing field is an error, unless another part of the text is there. `what` is the word for a field in messages (field, column).
    """
    names = list(record)
    texts = text_names(names, text, where=where, what=what)
    id_name = id_field(names, id, where=where, what=what)
    parts = [(name, _text(record[name], name, where)) for name in texts]
    parts = [(name, part) for name, part in parts if part]
    content, ranges = join((part for _, part in parts), "\n")
    kinds = [_kind(name) for name, _ in parts]
    passages = tuple(Passage(start, end, kind) for (start, end), kind in zip(ranges, kinds, strict=True))
    if len(texts) == 1 and not any(kind in _PASSAGES for kind in kinds):
        passages = ()
    raw_id = None if id_name is None else record[id_name]
    stated_id = "" if raw_id is None else name_of(raw_id, f"the {what} {id_name!r}", where).strip()
    metadata = {
        name: value
        for name, value in record.items()
        if name not in texts and name != id_name and value is not None and value != ""
    }
    return build(where, stated_id or default, content, passages=passages, metadata=metadata)


def text_names(names: list[str], asked: str | None, *, where: str, what: str) -> list[str]:
    """The fields that hold the text: the requested ones, or those with a known name."""
    if asked is None:
        texts = _known_texts(names)
        if not texts:
            raise FormatError(
                "BX116",
                f"cannot find the {what} with the text among {listed(names)}",
                where=where,
                hint="name it with --text, for instance --text title,abstract",
            )
        return texts
    requested = [asked] if _match(names, asked) else [name.strip() for name in asked.split(",") if name.strip()]
    matched = [_match(names, name) for name in requested]
    if what == "column" and None in matched:
        raise _missing(requested[matched.index(None)], names, where, what, "--text")
    present = [name for name in matched if name is not None]
    if not present:
        raise _missing(asked, names, where, what, "--text")
    return list(dict.fromkeys(present))


def id_field(names: list[str], asked: str | None, *, where: str, what: str) -> str | None:
    """The field that holds the id: the requested one, or one with a known name; None if there is none."""
    if asked is None:
        plain = {_plain(name): name for name in reversed(names)}
        return next((plain[name] for name in IDS if name in plain), None)
    matched = _match(names, asked)
    if matched is None:
        raise _missing(asked, names, where, what, "--id")
    return matched


def listed(names: Iterable[str]) -> str:
    """The first names, quoted.

    >>> listed(["a", "b"]), listed([])
    ("'a', 'b'", 'none')
    """
    all_names = list(names)
    more = len(all_names) - SHOWN
    return (", ".join(f"{name!r:.60}" for name in all_names[:SHOWN]) or "none") + (
        f" and {more} more" if more > 0 else ""
    )


def _missing(name: str, names: list[str], where: str, field_word: str, option: str) -> FormatError:
    return FormatError(
        "BX116",
        f"there is no {field_word} {name!r} among {listed(names)}",
        where=where,
        hint=f"name another with {option}",
    )


def _known_texts(names: list[str]) -> list[str]:
    plain = [_plain(name) for name in names]
    for group in TEXTS:
        texts = [names[plain.index(name)] for name in group if name in plain]
        if texts:
            return texts
    return []


def _match(names: list[str], requested: str) -> str | None:
    if requested in names:
        return requested
    return next((name for name in names if _plain(name) == _plain(requested) and _plain(requested)), None)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _kind(name: str) -> str:
    plain = _plain(name)
    return _KINDS.get(plain, plain if plain in _PASSAGES else name)


def _text(value: Any, name: str, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError("BX113", f"the text in {name!r} must be a string", where=where, hint="give a string")
    return value
