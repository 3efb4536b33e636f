"""The document: a text and everything known about it.

Offsets are characters (Unicode code points, as Python counts them), half-open, over `Document.text`. Nothing here moves or
loses a character: `document.text[span.start:span.end]` is always the mention (of a discontinuous span: what its fragments
enclose; `Document.mention` joins the fragments).

>>> document = Document("1", "Aspirin causes ulcers.", spans=(Span(0, 7, "chemical"), Span(15, 21, "disease")))
>>> [document.mention(span) for span in document.spans]
['Aspirin', 'ulcers']
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from biomux import values
from biomux.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Range = tuple[int, int]
"""Start and end, in characters, end exclusive."""

_TEXT, _NAME, _PLACE, _SCORE = map(values.maybe, (values.text, values.name, values.offset, values.number))
_NAMES = values.several(values.text, "strings")
_KINDS = ("span", "concept", "relation")
_NOTHING: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A mention of a type at a place; several fragments if it is discontinuous.

    `start` and `end` enclose all fragments; `fragments` is empty for an ordinary, contiguous mention. `head` names who said it
    and `score` how sure that was; both are None for gold annotations. `id` is what relations point at; it need not be there
    otherwise. `extra` keeps what a format says beyond that (brat attributes, BioC infons), as JSON values.
    """

    start: int
    end: int
    type: str
    score: float | None = None
    head: str | None = None
    identifiers: tuple[str, ...] = ()
    fragments: tuple[Range, ...] = ()
    id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        # Written out, and not a loop over the fields: hundreds of thousands of spans are made.
        if (
            type(self.start) is int
            and type(self.end) is int
            and type(self.type) is str
            and (self.score is None or type(self.score) is float)
            and (self.head is None or type(self.head) is str)
            and (self.id is None or type(self.id) is str)
            and self.fragments is _NOTHING
            and type(self.identifiers) is tuple
            and type(self.extra) is dict
        ):
            for identifier in self.identifiers:
                if type(identifier) is not str:
                    break
            else:
                return
        values.settle(
            self,
            start=values.offset,
            end=values.offset,
            type=values.text,
            score=_SCORE,
            head=_TEXT,
            identifiers=_NAMES,
            fragments=values.ranges,
            id=_NAME,
            extra=values.mapping,
        )

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The fragments, or the whole span as its only one."""
        return self.fragments or ((self.start, self.end),)

    def overlaps(self, other: Span) -> bool:
        """Whether both cover a common character of the text between their ends."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Argument:
    """One end of a relation: a span's id, a concept identifier, or another relation's id."""

    role: str
    target: str
    kind: Literal["span", "concept", "relation"] = "span"

    def __post_init__(self) -> None:
        if type(self.role) is not str or type(self.target) is not str or self.kind not in _KINDS:
            values.settle(self, role=values.text, target=values.name, kind=_kind)


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed link between spans (or, in PubTator, between concepts of the document)."""

    type: str
    arguments: tuple[Argument, ...]
    score: float | None = None
    head: str | None = None
    id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if (
            type(self.type) is str
            and values.are(self.arguments, Argument)
            and (self.score is None or type(self.score) is float)
            and (self.head is None or type(self.head) is str)
            and (self.id is None or type(self.id) is str)
            and type(self.extra) is dict
        ):
            return
        arguments = values.several(values.one_of(Argument), "arguments")
        values.settle(
            self,
            type=values.text,
            arguments=arguments,
            score=_SCORE,
            head=_TEXT,
            id=_NAME,
            extra=values.mapping,
        )


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of the text with a role: title, abstract, a section, a caption."""

    start: int
    end: int
    kind: str
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not (
            type(self.start) is int and type(self.end) is int and type(self.kind) is str and type(self.extra) is dict
        ):
            values.settle(self, start=values.offset, end=values.offset, kind=values.text, extra=values.mapping)


@dataclass(frozen=True, slots=True)
class Label:
    """A class, or a number in `value`, said of the whole document, or of `start`..`end` of it (both or neither given)."""

    name: str
    value: float | None = None
    start: int | None = None
    end: int | None = None
    score: float | None = None
    head: str | None = None

    def __post_init__(self) -> None:
        values.settle(self, name=values.text, value=_SCORE, start=_PLACE, end=_PLACE, score=_SCORE, head=_TEXT)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question; with its place (both ends or neither) where it stands in the text.

    `text` is the answer as it was given; whether it equals the text at its place is for the format that reads it to check.
    """

    text: str
    start: int | None = None
    end: int | None = None
    score: float | None = None
    head: str | None = None

    def __post_init__(self) -> None:
        values.settle(self, text=values.text, start=_PLACE, end=_PLACE, score=_SCORE, head=_TEXT)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the document. Each of `answers` is right on its own, unless `kind` is "list"."""

    id: str
    text: str
    answers: tuple[Answer, ...] = ()
    kind: str = "factoid"
    impossible: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        answers = values.several(values.one_of(Answer), "answers")
        values.settle(
            self,
            id=values.name,
            text=values.text,
            answers=answers,
            kind=values.text,
            impossible=values.truth,
            extra=values.mapping,
        )


@dataclass(frozen=True, slots=True)
class Document:
    """A text and everything known about it.

    Passages, sentences, tokens and coverage stand in order and do not overlap; there may be gaps. Spans, relations and labels may
    stand in any order, and spans may overlap and nest. Making a document checks all this: DocumentError says what is wrong.

    `sentences` and `tokens` are None where the source does not give them (`biomux.text.sentences` splits on demand). `pair` is
    the second text of a pair task: hypothesis, claim, second question. `coverage` lists the characters that an annotator read,
    None where none has. `metadata` holds anything else that is JSON.
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

    def mention(self, span: Span) -> str:
        """The text of a contiguous span; of a discontinuous one, its fragments joined by a blank."""
        return " ".join(self.text[start:end] for start, end in span.ranges)

    def to_hf(self) -> list[dict[str, Any]]:
        """The spans as Hugging Face's token-classification pipeline gives them.

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


def _kind(value: object) -> object:
    if value not in _KINDS:
        raise TypeError("span, concept or relation")
    return value


_CHECKS: dict[str, values.Check] = {
    "id": values.name,
    "text": values.text,
    "passages": values.several(values.one_of(Passage), "passages"),
    "sentences": values.maybe(values.ranges),
    "tokens": values.maybe(values.ranges),
    "spans": values.several(values.one_of(Span), "spans"),
    "relations": values.several(values.one_of(Relation), "relations"),
    "labels": values.several(values.one_of(Label), "labels"),
    "pair": _TEXT,
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
    _are_in_order(document, [(one.start, one.end) for one in document.passages], size, "passage", empty=True)
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


def _check_range(document: Document, start: int, end: int, size: int, what: str) -> None:
    if not 0 <= start < end <= size:
        raise DocumentError(
            "BX101",
            f"{what} is at {start}..{end}, but the text has {size} characters",
            where=f"document {document.id!r}",
            hint="give offsets in characters, end exclusive, at least one character long",
        )


def _check_place(document: Document, part: Label | Answer, size: int, what: str) -> None:
    """A place that may be missing, but not by half."""
    if part.start is not None and part.end is not None:
        _check_range(document, part.start, part.end, size, what)
    elif part.start is not None or part.end is not None:
        raise DocumentError(
            "BX101",
            f"{what} is at {part.start}..{part.end}: one end is missing",
            where=f"document {document.id!r}",
            hint="give both ends, or neither",
        )


def _are_in_order(document: Document, ranges: Iterable[Range], size: int, what: str, *, empty: bool = False) -> bool:
    """Refuse ranges of one kind that lie outside the text, out of order or over each other. False if some are no pairs of whole numbers."""
    before = 0
    for place in ranges:
        try:
            start, end = place
            fits = before <= start < end <= size or (empty and before <= start == end <= size)
        except (TypeError, ValueError):
            return False
        if type(start) is not int or type(end) is not int or type(place) is not tuple:
            return False
        if not fits:
            raise DocumentError(
                "BX101",
                f"{what} {start}..{end} is empty, out of order, overlaps the one before, or lies outside the {size} characters of the text",
                where=f"document {document.id!r}",
                hint="give them in order, without overlap, end exclusive",
            )
        before = end
    return True


def _check_fragments(document: Document, span: Span) -> None:
    first, last = span.fragments[0][0], span.fragments[-1][1]
    ordered = all(start < end for start, end in span.fragments)
    ordered &= all(left[1] <= right[0] for left, right in zip(span.fragments, span.fragments[1:], strict=False))
    if not ordered or (first, last) != (span.start, span.end):
        raise DocumentError(
            "BX101",
            f"the fragments {list(span.fragments)} of span {span.type!r} do not fill {span.start}..{span.end} in order",
            where=f"document {document.id!r}",
            hint="give fragments from left to right, without overlap, the first beginning and the last ending with the span",
        )


def _check_relations(document: Document) -> None:
    known = {
        "span": {span.id for span in document.spans},
        "relation": {relation.id for relation in document.relations},
    }
    for relation in document.relations:
        for argument in relation.arguments:
            if argument.kind != "concept" and argument.target not in known[argument.kind]:
                raise DocumentError(
                    "BX102",
                    f"relation {relation.type!r} points at {argument.kind} {argument.target!r}, which is not there",
                    where=f"document {document.id!r}",
                    hint="give the id of a span or relation of the same document, or use an argument of kind 'concept'",
                )
