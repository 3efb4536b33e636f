"""Documents to BioC's tree: the counterpart of `_bioc_read`."""

from __future__ import annotations

from bisect import bisect_right
from itertools import count
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from biomux.document.record_write import label_record
from biomux.formats._bioc_read import (
    BETWEEN,
    CONCEPTS,
    GAP,
    HEADER,
    LABELS,
    database_identifiers,
    labels_of,
    named_concepts,
)
from biomux.formats._fields import to_json
from biomux.formats._format import Feature, Loss
from biomux.formats._pubtator_write import identifiers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from biomux.document import Document, Passage, Range, Relation, Span
    from biomux.formats._bioc_read import Tree

HOLDS: frozenset[Feature] = frozenset(
    {
        "passages",
        "sentences",
        "spans",
        "overlaps",
        "fragments",
        "identifiers",
        "scores",
        "heads",
        "span ids",
        "span extra",
        "relations",
        "labels",
        "metadata",
    }
)
_INFON_SENTENCES = "sentence infons"


def from_document(document: Document, on_loss: Callable[[Loss], None]) -> Tree:
    """The tree of a document; what BioC cannot hold is reported to `on_loss`."""

    def lose(feature: str, detail: str) -> None:
        on_loss(Loss(document.id, feature, detail=detail))

    passages = [_passage(document.text, *part, lose) for part in _parts(document)]
    _place_sentences(document, passages, lose)
    tree: Tree = {"bioctype": "BioCDocument", "id": document.id, "infons": _metadata(document, lose)}
    tree |= {"passages": passages, "annotations": [], "relations": []}
    used_ids = {span.id for span in document.spans} | {relation.id for relation in document.relations}
    free = (str(number) for number in count(1) if str(number) not in used_ids)
    concepts: set[str] = set()
    for span in document.spans:
        if span.id == "":
            lose("span ids", "an empty id becomes a number")
        annotation = _annotation(document, span, span.id or next(free), lose)
        concepts.update(identifiers_of(annotation["infons"].get("identifier", ""), composite=False))
        _home(tree, span)["annotations"].append(annotation)
    free = (f"R{number}" for number in count(1) if f"R{number}" not in used_ids)
    names = _Names({span.id for span in document.spans}, {relation.id for relation in document.relations}, concepts)
    for relation in document.relations:
        if not relation.id:
            lose("relation ids", "a relation without an id gets one")
        tree["relations"].append(_relation(relation, names, relation.id or next(free), lose))
    return tree


def collection_of(document: Document) -> Tree:
    """The header of the document's collection, if the metadata have it."""
    header = document.metadata.get("collection")
    if not isinstance(header, dict) or not header or header.keys() - set(HEADER):
        return {}
    infons = header.get("infons", {"": ""})
    texts = all(isinstance(value, str) and value for name, value in header.items() if name != "infons")
    return header if texts and isinstance(infons, dict) and infons else {}


def _parts(document: Document) -> Iterator[tuple[int, int, Passage | None, bool]]:
    """Start, end, passage and whether it is a gap: pieces that cover the text, except for spaces between passages."""
    text, position = document.text, 0
    if not document.passages and text:
        yield 0, len(text), None, False
        return
    for passage in document.passages:
        if text[position : passage.start].strip(" "):
            yield position, passage.start, None, True
        yield passage.start, passage.end, passage, False
        position = passage.end
    if position < len(text):
        yield position, len(text), None, True


def _passage(
    text: str, start: int, end: int, passage: Passage | None, gap: bool, lose: Callable[[str, str], None]
) -> Tree:
    infons: Tree = {GAP: BETWEEN} if gap else {}
    if passage is not None:
        infons = {"type": passage.kind, **passage.extra}
        if "type" in passage.extra or passage.extra.get(GAP) == BETWEEN:
            infons |= {"type": passage.kind}
            infons.pop(GAP, None)
            lose("passage extra", "type")
    return {
        "bioctype": "BioCPassage",
        "offset": start,
        "infons": infons,
        "text": text[start:end],
        "sentences": [],
        "annotations": [],
        "relations": [],
    }


def _place_sentences(document: Document, passages: list[Tree], lose: Callable[[str, str], None]) -> None:
    """Put sentences into their passages, which then lose their text unless there is more than spaces between the sentences."""
    infons = document.metadata.get(_INFON_SENTENCES)
    infons_by_start: Mapping[str, Any] = infons if isinstance(infons, dict) else {}
    sentences = document.sentences or ()
    index = placed = 0
    for passage in passages:
        start, end = passage["offset"], passage["offset"] + len(passage["text"])
        while index < len(sentences) and sentences[index][0] < start:
            index += 1
        first = index
        while index < len(sentences) and sentences[index][1] <= end:
            index += 1
        inside = sentences[first:index]
        placed += len(inside)
        passage["sentences"] = [_sentence(document.text, place, infons_by_start) for place in inside]
        if inside and _tiled(document.text, start, end, inside):
            del passage["text"]
    if placed < len(sentences):
        lose("sentences", "sentences that are not inside one passage")


def _tiled(text: str, start: int, end: int, sentences: Sequence[Range]) -> bool:
    """Whether the text consists of the sentences and spaces between them."""
    position = start
    for low, high in sentences:
        if text[position:low].strip(" "):
            return False
        position = high
    return position == end


def _sentence(text: str, place: Range, infons_by_start: Mapping[str, Any]) -> Tree:
    infons = infons_by_start.get(str(place[0]))
    return {
        "bioctype": "BioCSentence",
        "offset": place[0],
        "infons": infons if isinstance(infons, dict) else {},
        "text": text[place[0] : place[1]],
        "annotations": [],
        "relations": [],
    }


def _metadata(document: Document, lose: Callable[[str, str], None]) -> Tree:
    infons = dict(document.metadata)
    if LABELS in infons and (document.labels or labels_of(infons[LABELS], len(document.text))):
        del infons[LABELS]
        lose("metadata", LABELS)
    if document.labels:
        infons[LABELS] = to_json([label_record(label, document.id) for label in document.labels], document.id).decode()
    if collection_of(document):
        del infons["collection"]
    starts = {str(start) for start, _ in document.sentences or ()}
    sentence_infons = infons.get(_INFON_SENTENCES)
    if (
        isinstance(sentence_infons, dict)
        and sentence_infons
        and sentence_infons.keys() <= starts
        and all(isinstance(values, dict) and values for values in sentence_infons.values())
    ):
        del infons[_INFON_SENTENCES]
    elif sentence_infons is not None:
        lose("metadata", _INFON_SENTENCES)
    return infons


def _home(tree: Tree, span: Span) -> Tree:
    """The smallest of sentence, passage and document that holds the span. Annotations of a passage with text stay in the passage."""
    passage = _last_at(tree["passages"], span.start)
    if passage is None:
        return tree
    if "text" in passage:
        return passage if _encloses(passage, span) else tree
    sentences: list[Tree] = passage["sentences"]
    sentence = _last_at(sentences, span.start)
    if sentence is not None and _encloses(sentence, span):
        return sentence
    return passage if span.end <= sentences[-1]["offset"] + len(sentences[-1]["text"]) else tree


def _last_at(nodes: list[Tree], start: int) -> Tree | None:
    """The last node that does not begin after `start`: since nodes do not overlap, no other can contain a span that begins there."""
    index = bisect_right(nodes, start, key=itemgetter("offset"))
    return nodes[index - 1] if index else None


def _encloses(node: Tree, span: Span) -> bool:
    start: int = node["offset"]
    return start <= span.start and span.end <= start + len(node["text"])


def _annotation(document: Document, span: Span, id_: str, lose: Callable[[str, str], None]) -> Tree:
    infons: Tree = {"type": span.type}
    raw = ",".join(span.identifiers)
    extra = dict(span.extra)
    stated = extra.get("identifier")
    if isinstance(stated, str) and stated != raw and identifiers_of(stated, composite=False) == span.identifiers:
        raw = extra.pop("identifier")
    elif identifiers_of(raw, composite=False) != span.identifiers or (
        span.identifiers and raw != ",".join(identifiers_of(raw, composite=False))
    ):
        lose("identifiers", f"{raw} would be read back differently")
        lose("span extra", "identifier")
    if not span.identifiers and database_identifiers(extra):
        lose("identifiers", "infons with the name of a database are read as identifiers")
    if raw or stated == "":
        infons["identifier"] = raw
    infons |= _score_infons(span.score, span.head, "scores", lose)
    _add_extra(infons, extra, "span extra", lose, identifier=True)
    return {
        "id": id_,
        "infons": infons,
        "text": document.mention(span),
        "locations": [{"offset": start, "length": end - start} for start, end in span.ranges],
    }


class _Names(NamedTuple):
    """The targets that the arguments of a document's relations may point at."""

    spans: set[str | None]
    relations: set[str | None]
    identifiers: set[str]


def _relation(relation: Relation, names: _Names, id_: str, lose: Callable[[str, str], None]) -> Tree:
    if not relation.arguments and named_concepts(dict(relation.extra), names.identifiers):
        lose("relation arguments", "infons of a relation without arguments may be read as arguments")
    infons: Tree = {"type": relation.type, **_score_infons(relation.score, relation.head, "relation scores", lose)}
    extra = dict(relation.extra)
    if extra.get(GAP) == CONCEPTS:
        del extra[GAP]
        lose("relation extra", GAP)
    concepts = [argument.target for argument in relation.arguments if argument.kind == "concept"]
    if any(target not in names.identifiers for target in concepts):
        if GAP in extra:
            del extra[GAP]
            lose("relation extra", GAP)
        infons[GAP] = CONCEPTS
    _add_extra(infons, extra, "relation extra", lose, identifier=False)
    if any(target in names.spans or target in names.relations for target in concepts):
        lose("relation arguments", "a concept has the name of a span or relation")
    links = [argument.target for argument in relation.arguments if argument.kind == "relation"]
    if any(target in names.spans for target in links):
        lose("relation arguments", "a relation has the name of a span")
    nodes = [{"refid": argument.target, "role": argument.role} for argument in relation.arguments]
    return {"id": id_, "infons": infons, "nodes": nodes}


def _score_infons(score: float | None, head: str | None, feature: str, lose: Callable[[str, str], None]) -> Tree:
    infons: Tree = {}
    if score is not None and isfinite(score):
        infons["score"] = float(score)
    elif score is not None:
        lose(feature, f"{score} is not a number")
    return infons if head is None else {**infons, "head": head}


def _add_extra(infons: Tree, extra: Tree, feature: str, lose: Callable[[str, str], None], *, identifier: bool) -> None:
    """Add the extra values as infons, except names to which the reader gives a meaning."""
    for name, value in extra.items():
        reserved = name == "type" or name in infons
        reserved |= name == "score" and isinstance(value, float | str)
        reserved |= name == "head" and isinstance(value, str)
        reserved |= name == "identifier" and isinstance(value, str) and identifier
        if reserved:
            lose(feature, name)
        else:
            infons[name] = value
