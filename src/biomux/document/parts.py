"""The parts of a document: spans, relations, passages, labels, questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from biomux import values

if TYPE_CHECKING:
    from collections.abc import Mapping

Range = tuple[int, int]
"""Start and end, in characters, end exclusive."""

_TEXT, _NAME, _PLACE, _SCORE = map(values.maybe, (values.text, values.name, values.offset, values.number))
_NAMES = values.several(values.text, "strings")
_KINDS = ("span", "concept", "relation")
_NOTHING: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A mention of a type at a place; several fragments if it is discontinuous.

    `start` and `end` enclose all fragments; `fragments` is empty for a contiguous mention. `head` names the head that found it
    and `score` is its confidence; both are None for gold annotations. `id` is what relations point at, and may be missing
    otherwise. `extra` keeps anything else that a format has (brat attributes, BioC infons), as JSON values.
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
        # Written out instead of a loop over the fields for speed: there are hundreds of thousands of spans.
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
        """The fragments; for a contiguous span, its start and end."""
        return self.fragments or ((self.start, self.end),)

    def overlaps(self, other: Span) -> bool:
        """Whether `start`..`end` of both have a character in common."""
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
    """A part of the text with a role: title, abstract, a section, a caption."""

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
    """A class, or a number in `value`, for the whole document or for its `start`..`end` (both or neither given)."""

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
    """An answer to a question, with its place (both ends or neither) if it occurs in the text.

    `text` is the answer as given; readers of formats check whether it equals the text at its place.
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
class Entity:
    """A span together with its text, as `Document.entities` returns it.

    `document.text[start:end]` is `text`, unless the mention is discontinuous: then `text` joins its fragments by a space.
    `score` and `head` are None for gold annotations.
    """

    text: str
    type: str
    start: int
    end: int
    score: float | None = None
    head: str | None = None
    identifiers: tuple[str, ...] = ()
    fragments: tuple[Range, ...] = ()


def _kind(value: object) -> object:
    if value not in _KINDS:
        raise TypeError("span, concept or relation")
    return value
