"""RQE XML: pairs of a consumer's question and a frequent one, and whether the second entails the first.

    <RQE-med-train>
    <pair pid="1" type="originalQ-shortQ" value="true"><chq> … </chq><faq> … </faq></pair>
    </RQE-med-train>

A document a pair, called by its `pid`: the text is `chq`, the pair is `faq`, both without the blanks and line ends around them (one of
the train set is empty); the label is `value`; `type`, where given, goes to `metadata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats.format import Feature, Format, Loss, report_losses, stop
from biomux.formats.joined import report_label_parts
from biomux.formats.xml import attribute, elements, escape, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element as Element

    from biomux.formats.source import Source

HOLDS: frozenset[Feature] = frozenset({"labels", "pair"})
"""Of the metadata, `type` is held."""
BLANKS = " \t\r\n"


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """A document a pair."""
    for element in elements(source, "pair", roots=("RQE",)):
        try:
            document = _document(element, line_of(source, element))
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """A pair a document."""
    stream.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<RQE>\n')
    stream.writelines(_pair(document, on_loss).encode() for document in documents)
    stream.write(b"</RQE>\n")


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
    found = element.find(tag)
    if found is None:
        raise FormatError("BX116", f"the pair has no {tag!r}", where=where, hint="give both questions")
    return "".join(str(part) for part in found.itertext()).strip(BLANKS)


def _pair(document: Document, on_loss: Callable[[Loss], None]) -> str:
    where = f"document {document.id!r}"
    if document.pair is None:
        raise FormatError("BX120", "there is no second question", where=where, hint="write to jsonl")
    report_losses(document, HOLDS | {"metadata"}, on_loss)
    report_label_parts(document, on_loss)
    if document.text != document.text.strip(BLANKS):
        on_loss(Loss(document.id, "text", 1, "blanks around it are not kept"))
    if document.pair != document.pair.strip(BLANKS):
        on_loss(Loss(document.id, "pair", 1, "blanks around it are not kept"))
    label = next((label for label in document.labels if label.start is None), None)
    if len(document.labels) > (label is not None):
        on_loss(Loss(document.id, "labels", len(document.labels) - (label is not None), "a pair has one value"))
    kind = document.metadata.get("type")
    if len(document.metadata) > isinstance(kind, str):
        on_loss(Loss(document.id, "metadata", len(document.metadata) - isinstance(kind, str), "all but type"))
    attributes = f'pid="{attribute(document.id, where=where)}"'
    if isinstance(kind, str):
        attributes += f' type="{attribute(kind, where=where)}"'
    if label is not None:
        attributes += f' value="{attribute(label.name, where=where)}"'
    first, second = (escape(text, where=where) for text in (document.text, document.pair))
    return f"<pair {attributes}>\n<chq>{first}</chq>\n<faq>{second}</faq>\n</pair>\n"


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
    write=write,
)
