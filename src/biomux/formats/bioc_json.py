"""BioC JSON: a collection of documents, or PubTator's variant of it.

Reading. A file may be a collection (`{"documents": […]}`), PubTator's `{"PubTator3": […]}`, an array of documents or collections, one document, or one
document per line.

The text is laid out by the passages' offsets, with spaces in the gaps, so every offset stays as it is; if passages have no text, or empty text, it is taken
from their sentences. Annotations without any text (stand-off) are malformed. An annotation's text must be the text at its locations; several locations make it discontinuous.
The infons of a passage become its kind ("type") and extra; those of an annotation its type, identifiers ("identifier"), score, head and
extra. Without "identifier", the infons "MESH", "NCBI Gene", "NCBI Taxonomy" and the like are identifiers, and also stay in the extra. Relations are read in the same way;
a relation without nodes (BC5CDR, BioRED) is between the concepts that its infons name. Infons of a document become metadata. The collection's header is `metadata["collection"]`; infons
of sentences are `metadata["sentence infons"]`, by the sentence's start. Labels are in the document's infon "biomux labels": JSON text, with fields as in [jsonl](#jsonl). A relation's node that refers to neither
an annotation nor a relation is a concept. It must be an identifier of an annotation, unless the relation has the infon "biomux" with the value "concepts",
or PubTator's roles; otherwise it is malformed. Some producers count UTF-8 bytes instead of characters: the option `offsets="bytes"` reads their files.

Writing. A collection, one document per line.
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
    """The documents; `offsets="bytes"` for files whose producer counted UTF-8 bytes."""
    check_unit(offsets)
    header: dict[str, Any] = {}
    number = 0
    for line, tree in _trees(source, on_error, header):
        number += 1
        try:
            document = to_document(
                tree, f"{source.stem}:{number}", f"{source.name}:{line}", header=header, offsets=offsets
            )
        except FormatError as error:
            on_error(error)
            continue
        yield document


def _trees(
    source: Source, on_error: Callable[[FormatError], None], header: dict[str, Any]
) -> Iterator[tuple[int, Any]]:
    """Each document's tree with its line; `header` is filled with the collection's header."""
    head = source.head(1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip()
    container = _CONTAINER.search(head)
    if head.startswith(b"["):
        trees = items(source, on_error=on_error)
    elif head.startswith(b"{") and container and container[1] != b"passages":
        trees = items(
            source,
            key=container[1].decode(),
            on_error=on_error,
            beside=lambda fields: header.update({name: fields[name] for name in HEADER if fields.get(name)}),
        )
    else:
        trees = _single(source, on_error)
    for line, tree in trees:
        if isinstance(tree, dict) and isinstance(tree.get("documents"), list):
            header.clear()
            header.update({name: tree[name] for name in HEADER if tree.get(name)})
            yield from ((line, inner) for inner in tree["documents"])
        else:
            yield line, tree


def _single(source: Source, on_error: Callable[[FormatError], None]) -> Iterator[tuple[int, Any]]:
    """One document per line, if the first line is one; else the single document of the file."""
    line_by_line = False
    for line, text in lines(source):
        if not text.strip():
            continue
        try:
            tree = loads(text.encode(), f"{source.name}:{line}")
        except FormatError as error:
            if not line_by_line:
                break
            on_error(error)
            continue
        line_by_line = True
        yield line, tree
    if line_by_line:
        return
    with source.open() as stream:
        raw = stream.read(MAX_ITEM + 1)
    if len(raw) > MAX_ITEM:
        raise FormatError(
            "BX121", f"the document is longer than {MAX_ITEM:,} bytes", where=source.name, hint="split it"
        )
    yield 1, loads(raw.removeprefix(b"\xef\xbb\xbf"), source.name)


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """A collection, one document per line; its header is the first document's `metadata["collection"]`."""
    header: dict[str, Any] | None = None
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        own_header = collection_of(document)
        if header is None:
            header = own_header
            stream.write(_start(header, document.id))
        else:
            stream.write(b",\n")
        if own_header != header:
            on_loss(
                Loss(document.id, "metadata", detail="it comes from a different collection than the first document")
            )
        stream.write(to_json(from_document(document, on_loss), document.id))
    stream.write((_start({}, "") if header is None else b"") + b"\n]}\n")


def _start(header: dict[str, Any], document: str) -> bytes:
    fields = {
        "bioctype": "BioCCollection",
        "source": "",
        "date": "",
        "key": "",
        "version": "1.0",
        "infons": {},
        **header,
    }
    return to_json(fields, document)[:-1] + b',"documents":[\n'


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
