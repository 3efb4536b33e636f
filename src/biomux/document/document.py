"""The document itself, and its checks of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from biomux import values
from biomux.document.parts import Answer, Entity, Label, Passage, Question, Range, Relation, Span
from biomux.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spacy.language import Language
    from spacy.tokens import Doc

_NOTHING: tuple[Any, ...] = ()
_SHOWN = 60
"""Characters of a text that its document's repr shows."""


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A text and everything known about it.

    Passages, sentences, tokens and coverage are in order and do not overlap; there may be gaps. Spans, relations and labels may
    be in any order, and spans may overlap and nest. Making a document checks all this and raises DocumentError if it does not hold.

    `sentences` and `tokens` are None if the source does not give them (`biomux.text.sentences` splits on demand). `pair` is
    the second text of a pair task: hypothesis, claim, second question. `coverage` lists the ranges that an annotator read, or is
    None if no annotator has run. `metadata` holds any other JSON values.
    """

    id: str
    text: str
    passages: tuple[Passage, ...] = ()
    sentences: tuple[Range, ...] | None = None
    tokens: tuple[Range, ...] | None = None
    spans: tuple[Span, ...] = ()
    relations: tuple[Relation, ...] = ()
    labels: tuple[Label, ...] = ()
    pair: str | None = None
    questions: tuple[Question, ...] = ()
    coverage: tuple[Range, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _settle(self)
        _check(self)

    def __repr__(self) -> str:
        """Its id, how its text begins, and what it holds; `to_dict` gives everything."""
        begin = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN].rstrip()}…"
        parts = {name: getattr(self, name) for name in ("passages", "spans", "relations", "labels", "questions")}
        counts = [f"{len(held):,} {name if len(held) > 1 else name[:-1]}" for name, held in parts.items() if held]
        pair = ["a second text"] if self.pair is not None else []
        length = f"{len(self.text):,} character{'' if len(self.text) == 1 else 's'}"
        return f"<Document {self.id!r}: {begin!r}, {', '.join([length, *counts, *pair])}>"

    def mention(self, span: Span) -> str:
        """The text of a span; the fragments of a discontinuous span are joined by a space."""
        return " ".join(self.text[start:end] for start, end in span.ranges)

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The spans with their texts, in reading order; of spans with the same start, the longest comes first."""
        return tuple(
            Entity(
                self.mention(span),
                span.type,
                span.start,
                span.end,
                span.score,
                span.head,
                span.identifiers,
                span.fragments,
            )
            for span in sorted(self.spans, key=lambda span: (span.start, -span.end))
        )

    def to_dict(self) -> dict[str, Any]:
        """The document as an object of Biomux JSON lines (docs/reference/jsonl.md): everything, as plain values.

        >>> Document("1", "TP53", spans=(Span(0, 4, "gene"),)).to_dict()
        {'biomux': 1, 'id': '1', 'text': 'TP53', 'spans': [{'start': 0, 'end': 4, 'type': 'gene'}]}
        """
        from biomux.document.record_read import plain
        from biomux.document.record_write import record

        fields: dict[str, Any] = plain(record(self))
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Document:
        """Make a document from an object as `to_dict` returns it, checked like a line of a file; the version may be missing.

        >>> Document.from_dict({"id": "1", "text": "TP53"}).text
        'TP53'
        """
        from biomux.document.record_read import of_dict

        return of_dict(fields)

    def to_html(self, *, title: str | None = None) -> str:
        """A self-contained HTML page of the document: entities underlined, relations and labels listed."""
        from biomux.document.html import page

        return page([self], title=title or f"Document {self.id}")

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows."""
        from biomux.document.html import excerpt

        return excerpt(self)

    def to_spacy(self, nlp: Language, *, key: str = "biomux", align: Literal["split", "expand"] = "split") -> Doc:
        """The document as a spaCy `Doc`, tokenized by that pipeline, with all entities in `doc.spans[key]` and those that do not overlap in `doc.ents`.

        Where an entity begins or ends within a token, `align="split"` splits the token, so that offsets stay exact; `"expand"` keeps the tokens
        and widens the entity to whole ones. Of overlapping entities, `doc.ents` has the longest; annotate with `resolve=True` to choose them by type.
        No other component of the pipeline is run.
        """
        from biomux.document.spacy_doc import make

        return make(self, nlp, key=key, align=align)

    def to_hf(self) -> list[dict[str, Any]]:
        """The spans in the form that Hugging Face's token-classification pipeline returns.

        >>> Document("1", "TP53", spans=(Span(0, 4, "gene", score=0.5),)).to_hf()
        [{'entity_group': 'gene', 'score': 0.5, 'word': 'TP53', 'start': 0, 'end': 4}]
        """
        return [
            {
                "entity_group": span.type,
                "score": 1.0 if span.score is None else float(span.score),
                "word": self.text[span.start : span.end],
                "start": span.start,
                "end": span.end,
            }
            for span in self.spans
        ]


_CHECKS: dict[str, values.Check] = {
    "id": values.name,
    "text": values.text,
    "passages": values.several(values.one_of(Passage), "passages"),
    "sentences": values.maybe(values.ranges),
    "tokens": values.maybe(values.ranges),
    "spans": values.several(values.one_of(Span), "spans"),
    "relations": values.several(values.one_of(Relation), "relations"),
    "labels": values.several(values.one_of(Label), "labels"),
    "pair": values.maybe(values.text),
    "questions": values.several(values.one_of(Question), "questions"),
    "coverage": values.maybe(values.ranges),
    "metadata": values.mapping,
}


def _settle(document: Document) -> None:
    if not (
        type(document.id) is str
        and type(document.text) is str
        and type(document.metadata) is dict
        and (document.pair is None or type(document.pair) is str)
        and (document.spans is _NOTHING or values.are(document.spans, Span))
        and (document.passages is _NOTHING or values.are(document.passages, Passage))
        and (document.sentences is None or type(document.sentences) is tuple)
        and (document.tokens is None or type(document.tokens) is tuple)
        and (document.coverage is None or type(document.coverage) is tuple)
        and (document.relations is _NOTHING or values.are(document.relations, Relation))
        and (document.labels is _NOTHING or values.are(document.labels, Label))
        and (document.questions is _NOTHING or values.are(document.questions, Question))
    ):
        values.settle(document, **_CHECKS)


def _check(document: Document) -> None:
    size = len(document.text)
    for span in document.spans:
        _check_range(document, span.start, span.end, size, f"span {span.type!r}")
        if span.fragments:
            _check_fragments(document, span)
    _are_in_order(
        document, [(passage.start, passage.end) for passage in document.passages], size, "passage", empty=True
    )
    for name, ranges in (
        ("sentences", document.sentences),
        ("tokens", document.tokens),
        ("coverage", document.coverage),
    ):
        if ranges and not _are_in_order(document, ranges, size, name.removesuffix("s")):
            values.settle(document, **{name: _CHECKS[name]})
            _are_in_order(document, getattr(document, name), size, name.removesuffix("s"))
    for label in document.labels:
        _check_place(document, label, size, f"label {label.name!r}")
    for question in document.questions:
        for answer in question.answers:
            _check_place(document, answer, size, f"answer of question {question.id!r}")
    if document.relations:
        _check_relations(document)


def _check_range(document: Document, start: int, end: int, size: int, part_name: str) -> None:
    if not 0 <= start < end <= size:
        raise DocumentError(
            "BX101",
            f"{part_name} is at {start}..{end}, but the text has {size} characters",
            where=f"document {document.id!r}",
            hint="give offsets in characters, end exclusive, at least one character long",
        )


def _check_place(document: Document, part: Label | Answer, size: int, part_name: str) -> None:
    """Check a place, of which both ends or neither may be missing."""
    if part.start is not None and part.end is not None:
        _check_range(document, part.start, part.end, size, part_name)
    elif part.start is not None or part.end is not None:
        raise DocumentError(
            "BX101",
            f"{part_name} is at {part.start}..{part.end}: one end is missing",
            where=f"document {document.id!r}",
            hint="give both ends, or neither",
        )


def _are_in_order(
    document: Document, ranges: Iterable[Range], size: int, part_name: str, *, empty: bool = False
) -> bool:
    """Refuse ranges that lie outside the text, are out of order or overlap. False if some are not pairs of integers."""
    previous_end = 0
    for place in ranges:
        try:
            start, end = place
            fits = previous_end <= start < end <= size or (empty and previous_end <= start == end <= size)
        except (TypeError, ValueError):
            return False
        if type(start) is not int or type(end) is not int or type(place) is not tuple:
            return False
        if not fits:
            raise DocumentError(
                "BX101",
                f"{part_name} {start}..{end} is empty, out of order, overlaps the previous one, or lies outside the {size} characters of the text",
                where=f"document {document.id!r}",
                hint="give them in order, without overlap, end exclusive",
            )
        previous_end = end
    return True


def _check_fragments(document: Document, span: Span) -> None:
    first, last = span.fragments[0][0], span.fragments[-1][1]
    ordered = all(start < end for start, end in span.fragments)
    ordered &= all(
        fragment[1] <= following[0] for fragment, following in zip(span.fragments, span.fragments[1:], strict=False)
    )
    if not ordered or (first, last) != (span.start, span.end):
        raise DocumentError(
            "BX101",
            f"the fragments {list(span.fragments)} of span {span.type!r} do not fill {span.start}..{span.end} in order",
            where=f"document {document.id!r}",
            hint="give fragments from left to right, without overlap, the first beginning and the last ending with the span",
        )


def _check_relations(document: Document) -> None:
    ids_by_kind = {
        "span": {span.id for span in document.spans},
        "relation": {relation.id for relation in document.relations},
    }
    for relation in document.relations:
        for argument in relation.arguments:
            if argument.kind != "concept" and argument.target not in ids_by_kind[argument.kind]:
                raise DocumentError(
                    "BX102",
                    f"relation {relation.type!r} points at {argument.kind} {argument.target!r}, which does not exist",
                    where=f"document {document.id!r}",
                    hint="give the id of a span or relation of the same document, or use an argument of kind 'concept'",
                )
