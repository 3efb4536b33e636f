"""DDI corpus XML: drug names, and the interaction of every pair of them in a sentence; one document per file.

    <document id="d1"><sentence id="d1.s0" text="…">
      <entity id="d1.s0.e0" charOffset="0-6" type="drug" text="aspirin"/>
      <pair id="d1.s0.p0" e1="d1.s0.e0" e2="d1.s0.e1" ddi="true" type="effect"/></sentence></document>

The text is the sentences, including their white space, with a line feed between them; an empty sentence cannot be a range, so its number is in
`metadata["empty sentences"]`. `charOffset` counts in the sentence and includes the last character; `a-b;c-d` is a discontinuous mention.

Every pair is a relation between `e1` and `e2`, with the pair's id. Its type is the pair's if `ddi` is true, `unspecified` if `ddi` is true without a type
(one pair), and `none` if `ddi` is false. So the relations that are not `none` are the positive ones.

An entity's `text` must be the text at its offsets. One that differs only in white space (three do, where fragments join) is accepted, and its text kept in the
span's `extra`. Any other makes the document malformed (BX115), unless `mismatch="keep"`: then its offsets are trusted, and its
text is kept in `extra`. The corpus has one such entity, DDI-DrugBank.d216.s16.e2, which is off by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from biomux.document import Argument, Document, Range, Relation, Span
from biomux.errors import FormatError, UsageError
from biomux.formats._fields import build
from biomux.formats._format import Feature, Format, stop
from biomux.formats._joined_text import join
from biomux.formats._xml import elements, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element as Element

    from biomux.formats._source import Source

Mismatch = Literal["error", "keep"]
HOLDS: frozenset[Feature] = frozenset(
    {"sentences", "spans", "overlaps", "fragments", "span ids", "span extra", "relations", "metadata"}
)
NONE = "none"
UNSPECIFIED = "unspecified"

_OFFSETS = re.compile(r"[0-9]+-[0-9]+(?:;[0-9]+-[0-9]+)*")
_ROOT = re.compile(rb'\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<document\s+id\s*=\s*["\']', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    at: int
    """Where it begins in the document."""


def read(
    source: Source, *, on_error: Callable[[FormatError], None] = stop, mismatch: Mismatch = "error"
) -> Iterator[Document]:
    """The document of the file."""
    if mismatch not in ("error", "keep"):
        raise UsageError("BX001", f"mismatch must be error or keep, got {mismatch!r}")
    any_document = False
    for element in elements(source, "document"):
        any_document = True
        try:
            document = _document(source, element, mismatch)
        except FormatError as error:
            on_error(error)
            continue
        yield document
    if not any_document:
        raise FormatError(
            "BX113", "there is no <document> in the file", where=source.name, hint="check the file's format"
        )


def _document(source: Source, element: Element, mismatch: Mismatch) -> Document:
    where = line_of(source, element)
    name = _attribute(element, "id", where)
    sentences = element.findall("sentence")
    text, ranges = join((_attribute(sentence, "text", line_of(source, sentence)) for sentence in sentences), "\n")
    spans: list[Span] = []
    relations: list[Relation] = []
    for sentence, (start, end) in zip(sentences, ranges, strict=True):
        placed = _Sentence(text[start:end], start)
        spans += [_span(item, placed, line_of(source, item), mismatch) for item in sentence.iterfind("entity")]
        relations += [_relation(item, line_of(source, item)) for item in sentence.iterfind("pair")]
    metadata: dict[str, Any] = {}
    if empty := [number for number, (start, end) in enumerate(ranges) if start == end]:
        metadata["empty sentences"] = empty
    return build(
        where,
        name,
        text,
        sentences=tuple((start, end) for start, end in ranges if start < end),
        spans=tuple(spans),
        relations=tuple(relations),
        metadata=metadata,
    )


def _span(element: Element, sentence: _Sentence, where: str, mismatch: Mismatch) -> Span:
    name = _attribute(element, "id", where)
    where = f"{where} (entity {name!r})"
    stated = _attribute(element, "text", where)
    places = _places(_attribute(element, "charOffset", where), len(sentence.text), where)
    mention = " ".join(sentence.text[start:end] for start, end in places)
    matches = "".join(mention.split()) == "".join(stated.split())
    if not matches and mismatch == "error":
        raise FormatError(
            "BX115",
            f"the entity's text is {stated!r}, but the text at its offsets is {mention!r}",
            where=where,
            hint="correct it, or trust the offsets with -O mismatch=keep",
        )
    fragments = tuple((sentence.at + start, sentence.at + end) for start, end in places)
    return Span(
        fragments[0][0],
        fragments[-1][1],
        _attribute(element, "type", where),
        id=name,
        fragments=fragments if len(fragments) > 1 else (),
        extra={} if mention == stated else {"text": stated},
    )


def _places(offsets: str, size: int, where: str) -> list[Range]:
    if not _OFFSETS.fullmatch(offsets):
        raise FormatError(
            "BX113", f"charOffset must look like 0-6 or 0-6;10-12, got {offsets!r}", where=where, hint="correct it"
        )
    pairs = [part.split("-") for part in offsets.split(";")]
    places = sorted((int(first), int(last) + 1) for first, last in pairs)
    ordered = all(place[1] <= following[0] for place, following in pairwise(places))
    if not ordered or any(not 0 <= start < end <= size for start, end in places):
        raise FormatError(
            "BX114",
            f"charOffset {offsets!r} overlaps itself or lies outside the {size} characters of its sentence",
            where=where,
            hint="offsets count characters of the sentence, the last one included",
        )
    return places


def _relation(element: Element, where: str) -> Relation:
    name = _attribute(element, "id", where)
    ddi = _attribute(element, "ddi", where)
    if ddi not in ("true", "false"):
        raise FormatError(
            "BX113", f"ddi must be true or false, got {ddi!r}", where=f"{where} (pair {name!r})", hint="correct it"
        )
    kind = element.get("type") or UNSPECIFIED
    arguments = tuple(Argument(role, _attribute(element, role, where)) for role in ("e1", "e2"))
    return Relation(kind if ddi == "true" else NONE, arguments, id=name)


def _attribute(element: Element, name: str, where: str) -> str:
    value = element.get(name)
    if value is None:
        raise FormatError("BX116", f"<{element.tag}> has no {name!r}", where=where, hint="add it")
    return value


def _sniff(_: str, head: bytes) -> bool:
    return _ROOT.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


FORMAT = Format(
    name="ddi",
    title="DDI corpus XML",
    suffixes=(".ddi",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
