"""Views: some types of a corpus, possibly under other names, without copying it.

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
    """A corpus name and, if it has brackets, a map from the types to keep to their new names. None keeps all."""
    if spec.startswith("{"):  # user data, which name their types in the mapping
        return spec, None
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise _malformed(spec)
    if match["types"] is None:
        return match["name"], None
    new_names: dict[str, str] = {}
    for part in match["types"].split(","):
        old, equals, new = (piece.strip() for piece in part.partition("="))
        if not old or (equals and not new):
            raise _malformed(spec)
        new_names[old] = new or old
    return match["name"], new_names


def spec(corpus: str, *, types: Sequence[str] | None = None, rename: Mapping[str, str] | None = None) -> str:
    """The name of a view: these types of a corpus (all if not given), possibly renamed. `types` are the new names.

    >>> spec("bc5cdr", types=["Chemical"]), spec("bc5cdr", types=["drug"], rename={"Chemical": "drug"})
    ('bc5cdr[Chemical]', 'bc5cdr[Chemical=drug]')
    """
    if own.of_spec(corpus) is not None:
        return own.spec(corpus, types=types, rename=rename)
    if not rename:
        return f"{corpus}[{','.join(types)}]" if types else corpus
    corpus_types = catalogue.card(corpus).types
    check_types(rename, corpus_types, corpus=corpus)
    new_names = {old: rename.get(old, old) for old in corpus_types}
    if types is not None:
        check_types(types, dict.fromkeys(new_names.values()), corpus=corpus)
        new_names = {old: new for old, new in new_names.items() if new in types}
    return f"{corpus}[{','.join(old if old == new else f'{old}={new}' for old, new in new_names.items())}]"


def check_types(wanted: Iterable[str], known: Iterable[str], *, corpus: str) -> None:
    """Refuse a type that the corpus does not have, and suggest the nearest."""
    known = list(known)
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known) if known else "its spans have no types"
            raise CorpusError("BX207", f"corpus {corpus!r} has no type {name!r}", hint=hint)


def keep(document: Document, types: Mapping[str, str]) -> Document:
    """The document with only these types of spans, under their new names, without relations that lost a span.

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
    """The document with other names for types of spans and relations, and for classes; other names stay.

    >>> from biomux.document import Document, Span
    >>> rename(Document("1", "TP53", spans=(Span(0, 4, "Protein"),)), {"Protein": "gene"}).spans[0].type
    'gene'
    """
    return replace(
        document,
        spans=tuple(replace(span, type=names.get(span.type, span.type)) for span in document.spans),
        relations=tuple(replace(link, type=names.get(link.type, link.type)) for link in document.relations),
        labels=tuple(replace(label, name=names.get(label.name, label.name)) for label in document.labels),
    )


def _without(relations: tuple[Relation, ...], spans: set[str | None]) -> tuple[Relation, ...]:
    """The relations that refer neither to these spans nor to a relation that does."""
    missing: dict[str, set[str | None]] = {"span": spans, "relation": set(), "concept": set()}
    while True:
        lost = [
            relation
            for relation in relations
            if any(argument.target in missing[argument.kind] for argument in relation.arguments)
        ]
        if not lost:
            return relations
        relations = tuple(relation for relation in relations if relation not in lost)
        missing["relation"] = {relation.id for relation in lost}


def _malformed(spec: str) -> CorpusError:
    return CorpusError(
        "BX207",
        f"cannot parse {spec!r} as a corpus or view",
        hint='write "name", "name[Type,Type]" or "name[Type=new name]"',
    )
