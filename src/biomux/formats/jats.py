"""JATS (NISO Z39.96) full text: articles of PubMed Central and of publishers, alone or in a set.

An article is a document: the parts below, joined by line feeds, each a passage.

| passage | is | extra |
|---|---|---|
| title | the article's title | |
| abstract | an abstract, or one section of it | title, if it has one |
| heading | a section's title | level |
| section | a section's paragraphs, lists and quotes, one per line; without those of its subsections | title, type |
| caption | the caption of a figure or table | of, label |

`type` is the section's `sec-type`, or is derived from its title ("Materials and methods" → methods). Markup is removed, and runs of
white space become one space, except in `<preformat>`. Of a formula the characters of its MathML are kept, or its text. Table cells,
references, footnotes, supplements, LaTeX, translated abstracts, sub-articles and responses are left out, and counted in the metadata as "left_out". The id is the PMC id, else the PMID, DOI or
file's stem; all ids are in the metadata.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Document, Passage
from biomux.errors import FormatError
from biomux.formats._fields import build
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._jats_write import article
from biomux.formats._joined_text import join
from biomux.formats._xml import characters, elements, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element as Element

    from biomux.formats._source import Source

HOLDS: frozenset[Feature] = frozenset({"passages", "metadata"})
ID_TYPES = {"pmc": "pmc", "pmcid": "pmc", "pmid": "pmid", "doi": "doi", "publisher-id": "publisher-id"}
"""`pub-id-type` → name in the metadata; the first id in this order is the document's."""

_TYPES = (
    (re.compile("introduction|background", re.IGNORECASE), "introduction"),
    (re.compile("method|materials|procedure|patients and", re.IGNORECASE), "methods"),
    (re.compile("result|finding", re.IGNORECASE), "results"),
    (re.compile("discussion", re.IGNORECASE), "discussion"),
    (re.compile("conclusion", re.IGNORECASE), "conclusions"),
    (re.compile("abbreviation", re.IGNORECASE), "abbreviations"),
    (re.compile("acknowledg", re.IGNORECASE), "acknowledgements"),
    (re.compile("supplement|supporting", re.IGNORECASE), "supplement"),
)
_LEFT_OUT = {
    "table": "tables",
    "ref": "references",
    "fn": "footnotes",
    "supplementary-material": "supplements",
    "tex-math": "latex",
    "sub-article": "sub-articles",
    "response": "responses",
    "trans-abstract": "translated abstracts",
}
_BLOCKS = frozenset(
    {
        "p",
        "list",
        "list-item",
        "disp-quote",
        "def-list",
        "def-item",
        "verse-group",
        "statement",
        "boxed-text",
        "speech",
        "disp-formula",
    }
)
_SECTIONS = frozenset({"sec", "ack", "app-group", "app", "notes", "glossary", "bio"})
_FLOATS = frozenset({"fig", "table-wrap"})
_NO_LINES = (
    _SECTIONS
    | _FLOATS
    | _LEFT_OUT.keys()
    | {"title", "label", "fig-group", "table-wrap-group", "ref-list", "fn-group", "sec-meta"}
)
"""Elements of a section that are not part of its lines."""
_SPACE = re.compile(r"[ \t\r\n]+")
_ROOT = re.compile(rb"<(?:\w+:)?article[\s>]")

Part = tuple[str, str, dict[str, Any]]
"""Text, kind and extra of a future passage."""


def sniff(name: str, head: bytes) -> bool:
    """By its root element, or a DOCTYPE or first elements that only JATS and NLM articles have."""
    if b"<pmc-articleset" in head or (b"JATS" in head[:1000] and b"<!DOCTYPE" in head):
        return True
    return _ROOT.search(head) is not None and (name.endswith(".nxml") or b"<front" in head or b"article-type=" in head)


def read(source: Source, *, on_error: Callable[[FormatError], None] = stop) -> Iterator[Document]:
    """One document per article."""
    for number, element in enumerate(elements(source, "{*}article", roots=("article", "pmc-articleset")), 1):
        where = line_of(source, element)
        try:
            document = _document(element, source.stem if number == 1 else f"{source.stem}:{number}", where)
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """A set of articles. If JATS cannot hold the passages, they are lost, and the text becomes one section."""
    stream.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<pmc-articleset>\n')
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        stream.write(_article(document, on_loss).encode())
    stream.write(b"</pmc-articleset>\n")


def _article(document: Document, on_loss: Callable[[Loss], None]) -> str:
    """The article as XML: with its passages if they can be read back, else as one section."""
    from lxml import etree

    xml = article(document, document.passages)
    reread = _document(etree.fromstring(xml), "", "")
    if (reread.text, reread.passages) != (document.text, document.passages):
        if document.passages:
            on_loss(Loss(document.id, "passages", len(document.passages), "the text becomes one section"))
        xml = article(document, (Passage(0, len(document.text), "section"),) if document.text else ())
        reread = _document(etree.fromstring(xml), "", "")
    if reread.id != document.id:
        raise FormatError(
            "BX120",
            "the id of an article must not be empty or begin or end with spaces",
            where=f"document {document.id!r}",
            hint="give the document another id",
        )
    if dict(reread.metadata) != dict(document.metadata):
        on_loss(
            Loss(document.id, "metadata", len(document.metadata), "all but pmc, pmid, doi, publisher-id and journal")
        )
    return xml


def _document(element: Element, default: str, where: str) -> Document:
    ids = _ids(element)
    parts = [(text, kind, extra) for text, kind, extra in _parts(element) if text]
    text, ranges = join((text for text, _, _ in parts), "\n")
    passages = tuple(
        Passage(start, end, kind, extra) for (start, end), (_, kind, extra) in zip(ranges, parts, strict=True)
    )
    name = next((ids[key] for key in ("biomux", *ID_TYPES.values()) if key in ids), default)
    metadata: dict[str, Any] = {key: value for key, value in ids.items() if key != "biomux"}
    if (journal := element.find("{*}front/{*}journal-meta//{*}journal-title")) is not None:
        metadata["journal"] = characters(journal)
    if left_out := _left_out(element):
        metadata["left_out"] = left_out
    return build(where, name, text, passages=passages, metadata=metadata)


def _ids(element: Element) -> dict[str, str]:
    ids: dict[str, str] = {}
    for item in element.iterfind("{*}front/{*}article-meta/{*}article-id"):
        key = item.get("pub-id-type", "")
        value = (item.text or "").strip()
        if value and (key in ID_TYPES or key == "biomux"):
            ids.setdefault(ID_TYPES.get(key, key), value)
    return ids


def _left_out(element: Element) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in element.iter():
        if (name := _LEFT_OUT.get(_tag(item))) is not None:
            counts[name] = counts.get(name, 0) + 1
    return counts


def _parts(element: Element) -> Iterator[Part]:
    meta = element.find("{*}front/{*}article-meta")
    if meta is not None:
        title = meta.find("{*}title-group/{*}article-title")
        if title is not None:
            yield _flat(title), "title", {}
        for abstract in meta.iterfind("{*}abstract"):
            yield from _abstract(abstract)
    body = element.find("{*}body")
    if body is not None:
        yield from _section(body, 0)
    for group in ("{*}back", "{*}floats-group"):
        for container in element.iterfind(group):
            yield from _section(container, 0)


def _abstract(abstract: Element) -> Iterator[Part]:
    abstract_title = abstract.find("{*}title")
    sections = list(abstract.iterfind("{*}sec"))
    title = _flat(abstract_title) if abstract_title is not None else ""
    yield "\n".join(_lines(abstract)), "abstract", {"title": title} if title else {}
    for section in sections:
        heading = section.find("{*}title")
        title = _flat(heading) if heading is not None else ""
        yield "\n".join(_lines(section, deep=True)), "abstract", {"title": title} if title else {}


def _section(section: Element, level: int, type_: str = "") -> Iterator[Part]:
    """The heading, the section's own text, its captions, then its subsections."""
    heading = section.find("{*}title")
    title = _flat(heading) if heading is not None else ""
    if title:
        yield title, "heading", {"level": level}
    type_ = section.get("sec-type") or _type_of(section, title) or type_
    extra = {key: value for key, value in (("title", title), ("type", type_)) if value}
    yield "\n".join(_lines(section)), "section", extra
    for float_ in _floats(section):
        caption = float_.find("{*}caption")
        label = float_.find("{*}label")
        if caption is not None:
            of = "figure" if _tag(float_) == "fig" else "table"
            caption_extra = {"of": of} if label is None else {"of": of, "label": _flat(label)}
            yield "\n".join(_lines(caption, titled=True)), "caption", caption_extra
    for inner in section:
        if _tag(inner) in _SECTIONS:
            yield from _section(inner, level + 1, type_)


def _type_of(section: Element, title: str) -> str:
    if _tag(section) == "ack":
        return "acknowledgements"
    return next((type_ for pattern, type_ in _TYPES if pattern.search(title)), "")


def _floats(section: Element) -> Iterator[Element]:
    """Figures and tables of a section, without those of its subsections."""
    for child in section:
        if _tag(child) in _FLOATS:
            yield child
        elif _tag(child) not in _SECTIONS:
            yield from _floats(child)


def _lines(container: Element, *, deep: bool = False, titled: bool = False) -> list[str]:
    """The text of a container's paragraphs and similar blocks, one per line; `<preformat>` is unchanged."""
    lines: list[str] = []
    for child in container:
        tag = _tag(child)
        if tag == "preformat":
            lines.append(characters(child))
        elif deep and tag == "sec":
            lines += _lines(child, deep=True)
        elif tag == "title" and titled:
            lines.append(_flat(child))
        elif tag and tag not in _NO_LINES:
            lines += _block(child)
    return [line for line in lines if line]


def _block(block: Element) -> list[str]:
    """A paragraph and the blocks inside it, each on its own line, in the order of the text."""
    lines: list[str] = []
    run: list[str] = []

    def end_run() -> None:
        if line := _SPACE.sub(" ", "".join(run)).strip(" "):
            lines.append(line)
        run.clear()

    def walk(element: Element) -> None:
        run.append(element.text or "")
        for child in element:
            tag = _tag(child)
            if tag == "preformat":
                end_run()
                lines.append(characters(child))
            elif tag in _BLOCKS:
                end_run()
                walk(child)
                end_run()
            elif tag not in _LEFT_OUT and tag not in _FLOATS:
                walk(child)
            run.append(child.tail or "")

    walk(block)
    end_run()
    return lines


def _flat(element: Element) -> str:
    return " ".join(_block(element))


def _tag(element: Element) -> str:
    """The local name; empty for comments and instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


FORMAT = Format(
    name="jats",
    title="JATS full text",
    suffixes=(".jats.xml", ".nxml"),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write,
)
