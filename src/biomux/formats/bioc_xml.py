"""BioC XML, streaming: a document is read when its element ends and freed when the next is requested.

The meaning of its parts, and the option `offsets`, are those of `bioc-json`. Entities are refused and no DTD is loaded. An infon is text in
XML: any other value is written as JSON, and reported; characters that XML cannot hold are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.errors import FormatError
from biomux.formats._bioc_read import HEADER, Tree, Unit, check_unit, to_document
from biomux.formats._bioc_write import HOLDS, collection_of, from_document
from biomux.formats._fields import to_json
from biomux.formats._format import Format, Loss, report_losses, stop
from biomux.formats._xml import attribute, elements, escape, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element as Element

    from biomux.document import Document
    from biomux.formats._source import Source

_ROOT = re.compile(rb"<(?![?!])\s*([A-Za-z:]+)")


def read(
    source: Source, *, on_error: Callable[[FormatError], None] = stop, offsets: Unit = "characters"
) -> Iterator[Document]:
    """The documents; `offsets="bytes"` for files whose producer counted UTF-8 bytes."""
    check_unit(offsets)
    header: Tree = {}
    for count, element in enumerate(elements(source, "document", roots=("collection",)), 1):
        if count == 1:
            header = _header(element)
        try:
            document = to_document(
                _document(element, line_of(source, element)),
                f"{source.stem}:{count}",
                line_of(source, element),
                header=header,
                offsets=offsets,
            )
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """A collection; its header is the first document's `metadata["collection"]`."""
    header: Tree | None = None
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        own_header = collection_of(document)
        block = _Writing(document.id, on_loss).document(from_document(document, on_loss))
        if header is None:
            header = own_header
            stream.write(_start(_Writing(document.id, on_loss), header))
        elif own_header != header:
            on_loss(
                Loss(document.id, "metadata", detail="it comes from a different collection than the first document")
            )
        stream.write(block.encode())
    if header is None:
        stream.write(_start(_Writing("", on_loss), {}))
    stream.write(b"</collection>\n")


def _start(writing: _Writing, header: Tree) -> bytes:
    infons = writing.infons(header.get("infons", {}), "metadata")
    fields = "".join(f"<{name}>{writing.text(header.get(name, ''))}</{name}>" for name in HEADER if name != "infons")
    return f"<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n<collection>{fields}{infons}\n".encode()


def _header(document: Element) -> Tree:
    """The collection's header, before its first document."""
    parent = document.getparent()
    if parent is None:
        return {}
    header: Tree = {"infons": _infons(parent)}
    for name in HEADER:
        child = parent.find(name)
        if child is not None and child.text:
            header[name] = child.text
    return {name: value for name, value in header.items() if value}


def _document(element: Element, where: str) -> Tree:
    if element.find("id") is None and element.find("passage") is None:
        message = "the document has neither an id nor a passage, so it is not BioC"
        raise FormatError("BX116", message, where=where, hint="check the file's format")
    return {
        "id": element.findtext("id"),
        "infons": _infons(element),
        "passages": [
            {**_node(passage), "sentences": [_node(sentence) for sentence in passage.findall("sentence")]}
            for passage in element.findall("passage")
        ],
        **_annotations_of(element),
    }


def _node(element: Element) -> Tree:
    tree: Tree = {"infons": _infons(element), **_annotations_of(element)}
    for name in ("offset", "text"):
        if (child := element.find(name)) is not None:
            tree[name] = child.text or ""
    return tree


def _annotations_of(element: Element) -> Tree:
    return {
        "annotations": [
            {
                "id": annotation.get("id"),
                "infons": _infons(annotation),
                "text": annotation.findtext("text"),
                "locations": [dict(location.attrib) for location in annotation.findall("location")],
            }
            for annotation in element.findall("annotation")
        ],
        "relations": [
            {
                "id": relation.get("id"),
                "infons": _infons(relation),
                "nodes": [dict(node.attrib) for node in relation.findall("node")],
            }
            for relation in element.findall("relation")
        ],
    }


def _infons(element: Element) -> dict[str, str]:
    return {infon.get("key", ""): infon.text or "" for infon in element.findall("infon")}


class _Writing:
    """XML of one document's tree; characters that XML cannot hold are refused."""

    def __init__(self, document: str, on_loss: Callable[[Loss], None]) -> None:
        self._document = document
        self._where = f"document {document!r}"
        self._on_loss = on_loss

    def text(self, value: str) -> str:
        return escape(value, where=self._where)

    def document(self, tree: Tree) -> str:
        passages = "".join(self._passage(passage) for passage in tree["passages"])
        infons = self.infons(tree["infons"], "metadata")
        return (
            f"<document><id>{self.text(tree['id'])}</id>{infons}\n{passages}{self._annotations_of(tree)}</document>\n"
        )

    def infons(self, infons: dict[str, Any], feature: str) -> str:
        rows = []
        for name, value in infons.items():
            if not isinstance(value, str):
                if not (name == "score" and isinstance(value, float)):
                    self._on_loss(Loss(self._document, feature, detail=f"{name} becomes text"))
                value = repr(value) if isinstance(value, float) else to_json(value, self._document).decode()
            rows.append(f'<infon key="{attribute(name, where=self._where)}">{self.text(value)}</infon>')
        return "".join(rows)

    def _passage(self, tree: Tree) -> str:
        sentences = "".join(f"<sentence>{self._node(sentence)}</sentence>\n" for sentence in tree["sentences"])
        return f"<passage>{self._node(tree, sentences)}</passage>\n"

    def _node(self, tree: Tree, sentences: str = "") -> str:
        text = f"<text>{self.text(tree['text'])}</text>" if "text" in tree else ""
        infons = self.infons(tree["infons"], "passage extra" if "sentences" in tree else "metadata")
        return f"{infons}<offset>{tree['offset']}</offset>{text}\n{sentences}{self._annotations_of(tree)}"

    def _annotations_of(self, tree: Tree) -> str:
        annotations = [self._annotation(annotation) for annotation in tree["annotations"]]
        return "".join(annotations + [self._relation(relation) for relation in tree["relations"]])

    def _annotation(self, tree: Tree) -> str:
        places = "".join(f'<location offset="{at["offset"]}" length="{at["length"]}"/>' for at in tree["locations"])
        return (
            f'<annotation id="{attribute(tree["id"], where=self._where)}">{self.infons(tree["infons"], "span extra")}'
            f"{places}<text>{self.text(tree['text'])}</text></annotation>\n"
        )

    def _relation(self, tree: Tree) -> str:
        nodes = "".join(
            f'<node refid="{attribute(node["refid"], where=self._where)}" role="{attribute(node["role"], where=self._where)}"/>'
            for node in tree["nodes"]
        )
        infons = self.infons(tree["infons"], "relation extra")
        return f'<relation id="{attribute(tree["id"], where=self._where)}">{infons}{nodes}</relation>\n'


def _sniff(name: str, head: bytes) -> bool:
    del name
    root = _ROOT.search(head)
    return root is not None and root[1] == b"collection"


FORMAT = Format(
    name="bioc-xml",
    title="BioC XML",
    suffixes=(".bioc.xml", ".BioC.XML", ".bioc"),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
