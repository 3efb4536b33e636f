"""Views: some types of a corpus, possibly under other names, with no second copy.

>>> parse("bc5cdr[Chemical=chemical]")
('bc5cdr', {'Chemical': 'chemical'})
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from biomux.errors import CorpusError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from biomux.document import Document, Relation

_SPEC = re.compile(r"(?P<name>[^\[\]]+?)\s*(?:\[(?P<types>[^\[\]]*)\])?")


def parse(spec: str) -> tuple[str, dict[str, str] | None]:
    """A corpus name and, if it has brackets, the types it keeps → what they are called. None keeps all."""
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise _malformed(spec)
    if match["types"] is None:
        return match["name"], None
    kept: dict[str, str] = {}
    for part in match["types"].split(","):
        old, equals, new = (piece.strip() for piece in part.partition("="))
        if not old or (equals and not new):
            raise _malformed(spec)
        kept[old] = new or old
    return match["name"], kept


def check_types(wanted: Iterable[str], known: Iterable[str], *, corpus: str) -> None:
    """Refuse a type that the corpus does not have, and name the nearest one."""
    known = list(known)
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known) if known else "its spans have no types"
            raise CorpusError("BX207", f"corpus {corpus!r} has no type {name!r}", hint=hint)


def keep(document: Document, types: Mapping[str, str]) -> Document:
    """The document with only these types of spans, under their new names, and without relations that lost a span.

    >>> from biomux.document import Document, Span
    >>> keep(Document("1", "Aspirin", spans=(Span(0, 7, "Chemical"),)), {"Disease": "Disease"}).spans
    ()
    """
    spans = tuple(
        span if types[span.type] == span.type else replace(span, type=types[span.type])
        for span in document.spans
        if span.type in types
    )
    relations = document.relations
    if relations and len(spans) < len(document.spans):
        relations = _without(relations, {span.id for span in document.spans if span.type not in types})
    return replace(document, spans=spans, relations=relations)


def _without(relations: tuple[Relation, ...], spans: set[str | None]) -> tuple[Relation, ...]:
    """The relations that need neither these spans nor a relation that does."""
    gone: dict[str, set[str | None]] = {"span": spans, "relation": set(), "concept": set()}
    while True:
        lost = [one for one in relations if any(end.target in gone[end.kind] for end in one.arguments)]
        if not lost:
            return relations
        relations = tuple(one for one in relations if one not in lost)
        gone["relation"] = {one.id for one in lost}


def _malformed(spec: str) -> CorpusError:
    return CorpusError(
        "BX207",
        f"cannot parse {spec!r} as a corpus or view",
        hint='write "name", "name[Type,Type]" or "name[Type=new name]"',
    )
