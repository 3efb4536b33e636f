"""BioC JSON: a collection of documents, or what PubTator makes of it.

Read are: a collection (`{"documents": […]}`), PubTator's `{"PubTator3": […]}`, an array of documents or collections, one document, and one
document a line. Written is a collection, one document a line.

The text is laid out by the passages' offsets, with blanks where there is a gap, so every offset holds as it is; where passages have no text,
or empty text, their sentences give it. Annotations without any text (stand-off) are malformed. An annotation's text must be the text at its locations; several locations make it discontinuous.
Infons become: of a passage, its kind ("type") and extra; of an annotation, its type, identifiers ("identifier"), score, head and
extra; where there is no "identifier", the infons "MESH", "NCBI Gene", "NCBI Taxonomy" and the like are identifiers, and stay in the extra; of a relation likewise, and
one without nodes (BC5CDR, BioRED) is between the concepts that its infons name; of a document, metadata. What the collection says of itself is `metadata["collection"]`; infons
of sentences are `metadata["sentence infons"]`, by the sentence's start. Labels are the document's infon "biomux labels": a JSON text, with fields as in [jsonl](#jsonl). A relation's node that refers to neither annotation nor
relation is a concept: an identifier that an annotation has; or any, where the relation has the infon "biomux" with the value "concepts",
or PubTator's roles. A reference to nothing is malformed. Some producers count UTF-8 bytes where BioC counts characters: the option `offsets="bytes"` reads their files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.errors import FormatError
from biomux.formats._bioc_read import HEADER, Unit, check_unit, to_document
from biomux.formats._bioc_write import HOLDS, collection_of, from_document
from biomux.formats._fields import to_json
from biomux.formats._format import Format, Loss, report_losses, stop
from biomux.formats._json_array import MAX_ITEM, items, loads
from biomux.formats._source import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.document import Document
    from biomux.formats._source import Source

_CONTAINER = re.compile(rb'"(documents|PubTator3|passages)"\s*:')


def read(
    source: Source, *, on_error: Callable[[FormatError], None] = stop, offsets: Unit = "characters"
) -> Iterator[Document]:
    """A document each; `offsets="bytes"` for files whose producer counted UTF-8 bytes."""
    check_unit(offsets)
    header: dict[str, Any] = {}
    found = 0
    for line, tree in _trees(source, on_error, header):
        found += 1
        try:
            document = to_document(
                tree, f"{source.stem}:{found}", f"{source.name}:{line}", header=header, offsets=offsets
            )
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _trees(
    source: Source, on_error: Callable[[FormatError], None], header: dict[str, Any]
) -> Iterator[tuple[int, Any]]:
    """Each document's tree with its line; `header` is filled with what the collection says of itself."""
    head = source.head(1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip()
    container = _CONTAINER.search(head)
    if head.startswith(b"["):
        found = items(source, on_error=on_error)
    elif head.startswith(b"{") and container and container[1] != b"passages":
        found = items(
            source,
            key=container[1].decode(),
            on_error=on_error,
            beside=lambda fields: header.update({name: fields[name] for name in HEADER if fields.get(name)}),
        )
    else:
        found = _single(source, on_error)
    for line, tree in found:
        if isinstance(tree, dict) and isinstance(tree.get("documents"), list):
            header.clear()
            header.update({name: tree[name] for name in HEADER if tree.get(name)})
            yield from ((line, inner) for inner in tree["documents"])
        else:
            yield line, tree


def _single(source: Source, on_error: Callable[[FormatError], None]) -> Iterator[tuple[int, Any]]:
    """A document a line, if the first line is one; else the one document of the file."""
    several = False
    for line, text in lines(source):
        if not text.strip():
            continue
        try:
            tree = loads(text.encode(), f"{source.name}:{line}")
        except FormatError as error:
            if not several:
                break
            on_error(error)
            continue
        several = True
        yield line, tree
    if several:
        return
    with source.open() as stream:
        raw = stream.read(MAX_ITEM + 1)
    if len(raw) > MAX_ITEM:
        raise FormatError(
            "BX121", f"the document is longer than {MAX_ITEM:,} bytes", where=source.name, hint="split it"
        )
    yield 1, loads(raw.removeprefix(b"\xef\xbb\xbf"), source.name)


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """A collection, one document a line; it says of itself what the first document's `metadata["collection"]` does."""
    header: dict[str, Any] | None = None
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        own = collection_of(document)
        if header is None:
            header = own
            stream.write(_start(header, document.id))
        else:
            stream.write(b",\n")
        if own != header:
            on_loss(Loss(document.id, "metadata", detail="it comes from another collection than the first document"))
        stream.write(to_json(from_document(document, on_loss), document.id))
    stream.write((_start({}, "") if header is None else b"") + b"\n]}\n")


def _start(header: dict[str, Any], document: str) -> bytes:
    told = {"bioctype": "BioCCollection", "source": "", "date": "", "key": "", "version": "1.0", "infons": {}, **header}
    return to_json(told, document)[:-1] + b',"documents":[\n'


def _sniff(name: str, head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if name.endswith(".bioc.json"):
        return True
    if start not in (b"{", b"[") or not start:
        return False
    parts = b'"infons"' in head and (b'"passages"' in head or b'"documents"' in head)
    return parts or b'"bioctype"' in head or bool(re.match(rb'\s*\{\s*"PubTator3"\s*:', head))


FORMAT = Format(
    name="bioc-json",
    title="BioC JSON",
    suffixes=(".bioc.json",),
    holds=HOLDS,
    sniff=_sniff,
    read=read,
    write=write,
)
