"""Views: some types of a corpus, possibly under other names, with no second copy.

>>> parse("bc5cdr[Chemical=chemical]")
('bc5cdr', {'Chemical': 'chemical'})
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from biomux.corpora import catalogue, own
from biomux.errors import CorpusError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from biomux.document import Document, Relation

_SPEC = re.compile(r"(?P<name>[^\[\]]+?)\s*(?:\[(?P<types>[^\[\]]*)\])?")


def parse(spec: str) -> tuple[str, dict[str, str] | None]:
    """A corpus name and, if it has brackets, the types it keeps → what they are called. None keeps all."""
    if spec.startswith("{"):  # data of one's own, which name their types themselves
        return spec, None
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


def spec(corpus: str, *, types: Sequence[str] | None = None, rename: Mapping[str, str] | None = None) -> str:
    """The name of a view: these types of a corpus (all without any), some of them under other names. `types` are the new names.

    >>> spec("bc5cdr", types=["Chemical"]), spec("bc5cdr", types=["drug"], rename={"Chemical": "drug"})
    ('bc5cdr[Chemical]', 'bc5cdr[Chemical=drug]')
    """
    if own.of_spec(corpus) is not None:
        return own.spec(corpus, types=types, rename=rename)
    if not rename:
        return f"{corpus}[{','.join(types)}]" if types else corpus
    known = catalogue.card(corpus).types
    check_types(rename, known, corpus=corpus)
    kept = {old: rename.get(old, old) for old in known}
    if types is not None:
        check_types(types, dict.fromkeys(kept.values()), corpus=corpus)
        kept = {old: new for old, new in kept.items() if new in types}
    return f"{corpus}[{','.join(old if old == new else f'{old}={new}' for old, new in kept.items())}]"


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


def rename(document: Document, names: Mapping[str, str]) -> Document:
    """The document with other names for types of spans and relations, and for classes; what is not named stays.

    >>> from biomux.document import Document, Span
    >>> rename(Document("1", "TP53", spans=(Span(0, 4, "Protein"),)), {"Protein": "gene"}).spans[0].type
    'gene'
    """
    return replace(
        document,
        spans=tuple(replace(one, type=names.get(one.type, one.type)) for one in document.spans),
        relations=tuple(replace(one, type=names.get(one.type, one.type)) for one in document.relations),
        labels=tuple(replace(one, name=names.get(one.name, one.name)) for one in document.labels),
    )


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
