"""RQE XML: pairs of a consumer's question and a frequently asked one, and whether the second entails the first.

    <RQE-med-train>
    <pair pid="1" type="originalQ-shortQ" value="true"><chq> … </chq><faq> … </faq></pair>
    </RQE-med-train>

One document per pair, named by its `pid`: the text is `chq`, the pair is `faq`, both without surrounding white space (one in
the training set is empty); the label is `value`; `type`, if given, goes to `metadata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats._format import Feature, Format, stop
from biomux.formats._xml import elements, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element as Element

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"labels", "pair", "metadata"})
BLANKS = " \t\r\n"


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per pair."""
    for element in elements(source, "pair", roots=("RQE",)):
        try:
            document = _document(element, line_of(source, element))
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _document(element: Element, where: str) -> Document:
    name = element.get("pid")
    if name is None:
        raise FormatError("BX116", "the pair has no 'pid'", where=where, hint="number it")
    value = element.get("value")
    kind = element.get("type")
    return Document(
        name,
        _question(element, "chq", where),
        pair=_question(element, "faq", where),
        labels=(Label(value),) if value is not None else (),
        metadata={"type": kind} if kind is not None else {},
    )


def _question(element: Element, tag: str, where: str) -> str:
    question = element.find(tag)
    if question is None:
        raise FormatError("BX116", f"the pair has no {tag!r}", where=where, hint="give both questions")
    return "".join(str(part) for part in question.itertext()).strip(BLANKS)


def _sniff(_: str, head: bytes) -> bool:
    xml = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"
    return xml and ((b"<pair " in head and b"<chq" in head) or b"<RQE" in head)


FORMAT = Format(
    name="rqe",
    title="RQE XML",
    suffixes=(".rqe.xml",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
)
