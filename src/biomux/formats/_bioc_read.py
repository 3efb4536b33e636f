"""Make documents from BioC's tree (collection, document, passage, sentence, annotation, relation) of plain dictionaries.

Both BioC formats share this: a tree has the shape of BioC JSON, and BioC XML is read into the same shape. `bioc_json` says what
becomes of each part.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import orjson

from biomux.document import Argument, Document, Label, Passage, Range, Relation, Span
from biomux.document.record_read import MalformedError, label_of
from biomux.errors import DocumentError, FormatError, UsageError
from biomux.formats._fields import build, field, name_of, of_kind
from biomux.formats._pubtator_write import identifiers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Tree = dict[str, Any]
Unit = Literal["characters", "bytes"]

MAX_GAP = 1_000_000
"""Maximum characters between two passages, so that wrong offsets cannot make a document huge."""
GAP = "biomux"
"""The infon of a passage that only holds the text between two passages; its value is `BETWEEN`."""
BETWEEN = "between passages"
CONCEPTS = "concepts"
"""The value of the infon `GAP` of a relation between concepts that no annotation has."""
LABELS = "biomux labels"
"""The infon of a document that holds its labels, as JSON text."""
HEADER = ("source", "date", "key", "infons")
IDENTIFIER_KEYS = frozenset(
    {
        "mesh",
        "omim",
        "ncbi gene",
        "ncbigene",
        "entrez",
        "entrez gene",
        "ncbi homologene",
        "ncbi taxonomy",
        "taxonomy",
        "dbsnp",
        "rsid",
        "cellosaurus",
        "cvcl",
        "chebi",
        "umls",
        "cui",
    }
)
"""Infons of an annotation, in lower case, whose values are identifiers if there is no infon "identifier"."""
_DOCUMENT_FIELDS = frozenset({"bioctype", "id", "infons", "passages", "annotations", "relations"})
_FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e-?\+?[0-9]+)?")
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def check_unit(offsets: str) -> None:
    """Refuse an option that is not a unit."""
    if offsets not in ("characters", "bytes"):
        raise UsageError("BX001", f"offsets must be characters or bytes, got {offsets!r}")


def to_document(tree: Any, default_id: str, where: str, *, header: Mapping[str, Any], offsets: Unit) -> Document:
    """Make a document from its tree; FormatError says what is malformed, and where."""
    passages = field(tree, "passages", list, where)
    raw_id = tree.get("id")
    name = default_id if raw_id is None else name_of(raw_id, "the id", where)
    where = f"{where} (document {name!r})"
    layout = _Layout(where, offsets)
    for passage in passages:
        layout.add(passage)
    text, at = layout.text()
    if not layout.has_text and any(_says_text(node, where) for node in _nodes(tree, where)):
        raise FormatError(
            "BX116",
            "the document has annotations but no text",
            where=where,
            hint="put the text into its passages or sentences, or get the version of the file that has it",
        )
    spans = [_span(raw, text, at, where) for node in _nodes(tree, where) for raw in _list(node, "annotations", where)]
    links = [raw for node in _nodes(tree, where) for raw in _list(node, "relations", where)]
    metadata = {**_infons(tree, where), **{key: value for key, value in tree.items() if key not in _DOCUMENT_FIELDS}}
    labels = labels_of(metadata.get(LABELS), len(text))
    if labels:
        del metadata[LABELS]
    if layout.sentence_infons:
        metadata["sentence infons"] = {str(at(start)): infons for start, infons in layout.sentence_infons}
    if header:
        metadata["collection"] = dict(header)
    return build(
        where,
        name,
        text,
        passages=tuple(
            _passage(at(start), at(end), infons) for start, end, infons in layout.passages if infons.get(GAP) != BETWEEN
        ),
        sentences=tuple((at(start), at(end)) for start, end in layout.sentences) or None,
        spans=tuple(spans),
        relations=tuple(_relations(links, spans, where)),
        labels=labels,
        metadata=metadata,
    )


def labels_of(value: object, size: int) -> tuple[Label, ...]:
    """The labels in an infon, for a text of that size; empty if it holds anything else."""
    if not isinstance(value, str):
        return ()
    try:
        labels = tuple(label_of(fields) for fields in orjson.loads(value))
    except (orjson.JSONDecodeError, MalformedError, DocumentError, TypeError, AttributeError):
        return ()
    placed = [(label.start, label.end) for label in labels if label.start is not None or label.end is not None]
    return (
        labels
        if all(start is not None and end is not None and 0 <= start < end <= size for start, end in placed)
        else ()
    )


class _Layout:
    """Pieces of text at their offsets, in the unit of the file."""

    def __init__(self, where: str, unit: Unit) -> None:
        self._where = where
        self._unit = unit
        self._pieces: list[str] = []
        self._size = 0
        self.has_text = False
        self.passages: list[tuple[int, int, Tree]] = []
        self.sentences: list[Range] = []
        self.sentence_infons: list[tuple[int, Tree]] = []

    def add(self, passage: Any) -> None:
        start = number(field(passage, "offset", object, self._where), "a passage's offset", self._where)
        sentences = _list(passage, "sentences", self._where)
        text = _text(passage, self._where)
        if text == "" and sentences:
            text = None
        if text is not None:
            self._put(start, text, "passage")
        for sentence in sentences:
            self._sentence(sentence, None if text is None else (start, text))
        if text is None:
            self._put(max(start, self._size), "", "passage")
        self.passages.append((start, self._size, _infons(passage, self._where)))

    def text(self) -> tuple[str, Callable[[int], int]]:
        """The text, and a function from offsets in the file to offsets in the text."""
        text = "".join(self._pieces)
        if self._unit == "characters":
            return text, int
        starts = {0: 0}
        size = 0
        for index, character in enumerate(text, 1):
            size += len(character.encode("utf-8", "surrogatepass"))
            starts[size] = index
        return text, lambda offset: starts.get(offset, -1)

    def _length(self, text: str) -> int:
        return len(text) if self._unit == "characters" else len(text.encode("utf-8", "surrogatepass"))

    def _sentence(self, sentence: Any, passage: tuple[int, str] | None) -> None:
        start = number(field(sentence, "offset", object, self._where), "a sentence's offset", self._where)
        text = _text(sentence, self._where) or ""
        end = start + self._length(text)
        if passage is None:
            self._put(start, text, "sentence")
        elif self._unit == "characters":
            inside = passage[1][start - passage[0] : end - passage[0]] if start >= passage[0] else ""
            if inside != text:
                raise FormatError(
                    "BX115",
                    f"the sentence at {start} differs from the text of its passage",
                    where=self._where,
                    hint="offsets count characters of the document",
                )
        if text:
            self.sentences.append((start, end))
            if infons := _infons(sentence, self._where):
                self.sentence_infons.append((start, infons))

    def _put(self, start: int, text: str, part: str) -> None:
        gap = start - self._size
        if not 0 <= gap <= MAX_GAP:
            raise FormatError(
                "BX114",
                f"a {part} begins at {start}, but the text before it ends at {self._size}",
                where=self._where,
                hint="passages and sentences must be in order, without overlap, and their offsets count from the start of the document",
            )
        self._pieces += [" " * gap, text]
        self.has_text |= text != ""
        self._size = start + self._length(text)


def _says_text(node: Tree, where: str) -> bool:
    """Whether there are annotations of more than the spaces between passages."""
    annotations = _list(node, "annotations", where)
    return any(not isinstance(raw, dict) or raw.get("text") is None or str(raw["text"]).strip() for raw in annotations)


def _nodes(tree: Tree, where: str) -> Iterator[Tree]:
    """The document, its passages and their sentences: every node that may have annotations and relations."""
    for passage in _list(tree, "passages", where):
        yield from _list(passage, "sentences", where)
        yield passage
    yield tree


def _passage(start: int, end: int, infons: Tree) -> Passage:
    kind = infons.get("type")
    if isinstance(kind, str):
        return Passage(start, end, kind, {key: value for key, value in infons.items() if key != "type"})
    section = infons.get("section_type")
    return Passage(start, end, section.lower() if isinstance(section, str) else "passage", infons)


def _span(raw: Any, text: str, at: Callable[[int], int], where: str) -> Span:
    ranges = []
    for location in _list(raw, "locations", where):
        start = number(field(location, "offset", object, where), "a location's offset", where)
        length = number(field(location, "length", object, where), "a location's length", where)
        ranges.append((at(start), at(start + length)))
        if not 0 <= ranges[-1][0] < ranges[-1][1] <= len(text):
            raise FormatError(
                "BX114",
                f"an annotation is at {start}, {length} long, but the text has {len(text)} characters",
                where=where,
                hint="offsets count characters of the document",
            )
    if not ranges:
        raise FormatError("BX116", "an annotation has no location", where=where, hint="give its offset and length")
    ranges.sort()
    mention, stated = " ".join(text[start:end] for start, end in ranges), _text(raw, where)
    matches = stated == mention if len(ranges) == 1 else stated is not None and stated.split() == mention.split()
    if stated and not matches:
        raise FormatError(
            "BX115",
            f"the annotation is {stated!r:.200}, but the text at its offsets is {mention!r:.200}",
            where=where,
            hint="offsets count characters of the document; if the producer counted UTF-8 bytes, read with -O offsets=bytes",
        )
    infons = dict(_infons(raw, where))
    identifiers = _identifiers(infons)
    score, head = _score_and_head(infons)
    kind = infons.pop("type", "")
    return Span(
        ranges[0][0],
        ranges[-1][1],
        kind if isinstance(kind, str) else str(kind),
        score=score,
        head=head,
        identifiers=identifiers,
        fragments=tuple(ranges) if len(ranges) > 1 else (),
        id=None if raw.get("id") in (None, "") else name_of(raw["id"], "an annotation's id", where),
        extra=infons,
    )


def _identifiers(infons: Tree) -> tuple[str, ...]:
    """The identifiers of the infon "identifier", which is removed unless it says more than they do; else those of a database's infon."""
    raw = infons.get("identifier")
    identifiers = identifiers_of(raw, composite=False) if isinstance(raw, str) else ()
    if isinstance(raw, str) and ",".join(identifiers) == raw:
        del infons["identifier"]
    if not identifiers and (identifiers := database_identifiers(infons)) and isinstance(raw, str):
        infons.pop("identifier", None)  # "-": a database's infon has identifiers
    return identifiers


def database_identifiers(infons: Tree) -> tuple[str, ...]:
    """The identifiers in infons with the name of a database ("MESH", "NCBI Gene") or another spelling of "identifier"; the infons are kept."""
    identifiers: list[str] = []
    for name, value in infons.items():
        if isinstance(value, str) and (
            name.lower() in IDENTIFIER_KEYS or (name != "identifier" and name.lower() == "identifier")
        ):
            identifiers += identifiers_of(value, composite=False)
    return tuple(dict.fromkeys(identifiers))


def _score_and_head(infons: Tree) -> tuple[float | None, str | None]:
    """Take score and head out of the infons; a score that is not a finite float, or is written differently, stays there."""
    score, head = infons.get("score"), infons.get("head")
    value: float | None = None
    if isinstance(score, float) or (isinstance(score, str) and _FLOAT.fullmatch(score)):
        value = float(score)
        if not isfinite(value) or (isinstance(score, str) and repr(value) != score):
            value = None
        else:
            del infons["score"]
    if isinstance(head, str):
        del infons["head"]
        return value, head
    return value, None


def _relations(links: list[Any], spans: list[Span], where: str) -> Iterator[Relation]:
    known_spans = {span.id for span in spans}
    concepts = {identifier for span in spans for identifier in span.identifiers}
    known_links = {str(raw.get("id")) for raw in links if isinstance(raw, dict) and raw.get("id") not in (None, "")}
    for raw in links:
        arguments = []
        for node in _list(raw, "nodes", where):
            target = name_of(field(node, "refid", object, where), "a node's refid", where)
            kind: Literal["span", "relation", "concept"] = (
                "span" if target in known_spans else "relation" if target in known_links else "concept"
            )
            if kind == "concept" and target not in concepts and not _may_name_others(_infons(raw, where)):
                raise FormatError(
                    "BX113",
                    f"a relation refers to {target!r:.80}, which is not an annotation, relation or identifier of the document",
                    where=where,
                    hint="correct the reference, or remove the relation",
                )
            role = node.get("role")
            arguments.append(Argument("" if role is None else str(role), target, kind))
        infons = {name: value for name, value in _infons(raw, where).items() if (name, value) != (GAP, CONCEPTS)}
        if not _list(raw, "nodes", where):
            arguments = named_concepts(infons, concepts)
            if "type" not in infons and arguments and "relation" in infons:
                infons["type"] = infons.pop("relation")
        score, head = _score_and_head(infons)
        name = None if raw.get("id") in (None, "") else name_of(raw["id"], "a relation's id", where)
        kind_of = infons.pop("type", "")
        yield Relation(
            kind_of if isinstance(kind_of, str) else str(kind_of), tuple(arguments), score, head, name, infons
        )


def named_concepts(infons: Tree, concepts: set[str]) -> list[Argument]:
    """The arguments of a relation without nodes: the infons "entity1" and "entity2", or those whose value is an identifier of the document."""
    names = [name for name in ("entity1", "entity2") if isinstance(infons.get(name), str)]
    if len(names) < 2:
        names = [name for name, value in infons.items() if isinstance(value, str) and value in concepts]
        names = names if len(names) > 1 else []
    return [Argument(name, infons.pop(name), "concept") for name in names]


def _may_name_others(infons: Tree) -> bool:
    """Whether a relation's nodes need not refer to the document: it says so, or has PubTator's roles, whose nodes are numbers."""
    return infons.get(GAP) == CONCEPTS or "role1" in infons


def number(value: object, what: str, where: str) -> int:
    """An integer, which may be written as a string."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return int(value)
    return of_kind(value, int, what, where)


def _text(node: Any, where: str) -> str | None:
    text = node.get("text")
    return None if text is None else of_kind(text, str, "the text", where)


def _infons(node: Tree, where: str) -> Tree:
    infons = node.get("infons")
    checked: Tree = {} if infons is None else of_kind(infons, dict, "the field 'infons'", where)
    return checked


def _list(node: Any, name: str, where: str) -> list[Any]:
    if not isinstance(node, dict):
        raise FormatError("BX113", "expected a JSON object", where=where, hint="check how the file was made")
    items: list[Any] = [] if node.get(name) is None else of_kind(node[name], list, f"the field {name!r}", where)
    return items
