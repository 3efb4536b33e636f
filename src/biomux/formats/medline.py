"""PubMed/MEDLINE XML: citation sets, as in the yearly baseline, its daily updates, and answers of E-utilities.

A citation is a document named by its PMID. Its title and each section of its abstract are passages ("title", "abstract"), joined
by a line feed; a section's `Label` and `NlmCategory` are in the passage's `extra` as "label" and "category", not in the text.
Tags within a text (`<i>`, `<sup>`, MathML) are removed, their characters are kept. Journal, year, DOI and PMC id are metadata.
Not read: other abstracts and titles in other languages, authors, MeSH headings, references.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO

from biomux.document import Document, Passage
from biomux.errors import FormatError
from biomux.formats._fields import build
from biomux.formats._format import Feature, Format, Loss, report_losses, stop
from biomux.formats._joined_text import join
from biomux.formats._xml import attribute, characters, elements, escape, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element as Element

    from biomux.formats._source import Source

CATEGORIES = ("BACKGROUND", "OBJECTIVE", "METHODS", "RESULTS", "CONCLUSIONS", "UNASSIGNED")
"""The values of `NlmCategory`."""
HOLDS: frozenset[Feature] = frozenset({"passages", "metadata"})

_ROOTS = (b"<PubmedArticleSet", b"<MedlineCitationSet", b"<PubmedArticle", b"<MedlineCitation", b"<PubmedBookArticle")
_DOCTYPE = (
    '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2024//EN" '
    '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_240101.dtd">'
)
_TAGS = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation", "DeleteDocument")
_OLD_TAGS = ("MedlineCitation", "DeleteCitation")
_DELETED = ("DeleteCitation", "DeleteDocument")
_IDS = {"doi": "doi", "pmc": "pmc"}


def sniff(name: str, head: bytes) -> bool:
    """By an element that only these files have."""
    del name
    return any(root in head for root in _ROOTS)


def read(
    source: Source,
    *,
    on_error: Callable[[FormatError], None] = stop,
    on_deleted: Callable[[str], None] | None = None,
) -> Iterator[Document]:
    """One document per citation. Daily updates end with withdrawn PMIDs: each is passed to `on_deleted`."""
    old = b"<MedlineCitationSet" in source.head()
    for element in elements(source, *(_OLD_TAGS if old else _TAGS), roots=("Pubmed", "Medline", "Delete")):
        if element.tag in _DELETED:
            if on_deleted is not None:
                for withdrawn in element.iter("PMID"):
                    on_deleted((withdrawn.text or "").strip() or "a PMID that is not given")
            continue
        try:
            document = _document(element, line_of(source, element))
        except FormatError as error:
            on_error(error)
            continue
        yield document


def write(documents: Iterable[Document], stream: BinaryIO, *, on_loss: Callable[[Loss], None]) -> None:
    """A set of citations with the elements that the DTD requires, empty or "und" if nothing is known.

    A document whose passages are not a title and abstract sections is written as one abstract.
    """
    stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{_DOCTYPE}\n<PubmedArticleSet>\n'.encode())
    for document in documents:
        report_losses(document, HOLDS, on_loss)
        stream.write(_citation(document, on_loss).encode())
    stream.write(b"</PubmedArticleSet>\n")


def _document(element: Element, where: str) -> Document:
    citation = element if element.tag == "MedlineCitation" else next(element.iterfind("*"), element)
    name = (citation.findtext("PMID") or "").strip()
    if not name:
        raise FormatError("BX116", "a citation has no PMID", where=where, hint="add it")
    article = citation if citation.tag == "BookDocument" else citation.find("Article")
    parts: list[tuple[str, str, dict[str, Any]]] = []
    if article is not None:
        parts += [(characters(title), "title", {}) for title in article.iterfind("ArticleTitle")]
        sections = article.iterfind("Abstract/AbstractText")
        parts += [(characters(section), "abstract", _section_extra(section)) for section in sections]
    parts = [part for part in parts if part[0]]
    text, ranges = join((part[0] for part in parts), "\n")
    passages = tuple(
        Passage(start, end, kind, extra) for (start, end), (_, kind, extra) in zip(ranges, parts, strict=True)
    )
    return build(where, name, text, passages=passages, metadata=_metadata(element, article))


def _section_extra(section: Element) -> dict[str, Any]:
    attributes = {"label": section.get("Label"), "category": section.get("NlmCategory")}
    return {key: value for key, value in attributes.items() if value is not None}


def _metadata(element: Element, article: Element | None) -> dict[str, Any]:
    if article is None:
        return {}
    metadata: dict[str, Any] = {}
    if journal := article.findtext("Journal/Title"):
        metadata["journal"] = journal
    if year := article.findtext("Journal/JournalIssue/PubDate/Year"):
        metadata["year"] = year
    ids = [*element.iterfind("PubmedData/ArticleIdList/ArticleId"), *article.iterfind("ArticleIdList/ArticleId")]
    for item in ids:
        if (key := _IDS.get(item.get("IdType", ""))) and item.text:
            metadata[key] = item.text
    for item in article.iterfind("ELocationID"):
        if item.get("EIdType") == "doi" and item.text:
            metadata.setdefault("doi", item.text)
    return metadata


def _citation(document: Document, on_loss: Callable[[Loss], None]) -> str:
    """The citation as XML: with its passages if they can be read back, else as one abstract."""
    if not document.id or document.id != document.id.strip():
        raise FormatError(
            "BX120",
            "a PMID must not be empty or begin or end with spaces",
            where=f"document {document.id!r}",
            hint="give the document another id",
        )
    parts = [(document.text[passage.start : passage.end], passage) for passage in document.passages]
    text, _ = join((part for part, _ in parts), "\n")
    in_order = [passage.kind for passage in document.passages] == sorted(
        (passage.kind for passage in document.passages), reverse=True
    )
    fits = text == document.text and all(part and _fits(passage) for part, passage in parts)
    fits = fits and in_order and sum(passage.kind == "title" for passage in document.passages) <= 1
    if not fits:
        if document.passages:
            on_loss(Loss(document.id, "passages", len(document.passages), "the text becomes one abstract"))
        parts = [(document.text, Passage(0, len(document.text), "abstract"))]
    return _xml(document, parts, on_loss)


def _fits(passage: Passage) -> bool:
    if passage.kind == "title":
        return not passage.extra
    strings = all(isinstance(value, str) for value in passage.extra.values())
    known_category = passage.extra.get("category", "UNASSIGNED") in CATEGORIES
    return passage.kind == "abstract" and passage.extra.keys() <= {"label", "category"} and strings and known_category


def _xml(document: Document, parts: list[tuple[str, Passage]], on_loss: Callable[[Loss], None]) -> str:
    where = f"document {document.id!r}"
    metadata = {
        key: value
        for key, value in document.metadata.items()
        if key in ("journal", "year", "doi", "pmc") and isinstance(value, str) and value
    }
    if len(metadata) < len(document.metadata):
        on_loss(
            Loss(document.id, "metadata", len(document.metadata) - len(metadata), "all but journal, year, doi, pmc")
        )
    out = io.StringIO()
    out.write(
        f'<PubmedArticle><MedlineCitation Status="Publisher" Owner="NLM"><PMID Version="1">{escape(document.id, where=where)}</PMID>'
    )
    year = f"<Year>{escape(metadata['year'], where=where)}</Year>" if "year" in metadata else "<MedlineDate/>"
    title = f"<Title>{escape(metadata['journal'], where=where)}</Title>" if "journal" in metadata else ""
    out.write('<Article PubModel="Print"><Journal>')
    out.write(f'<JournalIssue CitedMedium="Print"><PubDate>{year}</PubDate></JournalIssue>{title}</Journal>')
    titles = [escape(text, where=where) for text, passage in parts if passage.kind == "title"]
    out.write(f"<ArticleTitle>{''.join(titles)}</ArticleTitle><Pagination><MedlinePgn/></Pagination>")
    sections = [(text, passage) for text, passage in parts if passage.kind == "abstract" and text]
    if sections:
        out.write("<Abstract>")
        for text, passage in sections:
            names = (("label", "Label"), ("category", "NlmCategory"))
            attributes = "".join(
                f' {name}="{attribute(passage.extra[key], where=where)}"' for key, name in names if key in passage.extra
            )
            out.write(f"<AbstractText{attributes}>{escape(text, where=where)}</AbstractText>")
        out.write("</Abstract>")
    out.write('<Language>und</Language><PublicationTypeList><PublicationType UI=""/></PublicationTypeList></Article>')
    journal = escape(metadata.get("journal", ""), where=where)
    out.write(f"<MedlineJournalInfo><MedlineTA>{journal}</MedlineTA></MedlineJournalInfo></MedlineCitation>")
    out.write("<PubmedData><PublicationStatus/><ArticleIdList>")
    out.write(f'<ArticleId IdType="pubmed">{escape(document.id, where=where)}</ArticleId>')
    for key in ("doi", "pmc"):
        if key in metadata:
            out.write(f'<ArticleId IdType="{key}">{escape(metadata[key], where=where)}</ArticleId>')
    out.write("</ArticleIdList></PubmedData></PubmedArticle>\n")
    return out.getvalue()


FORMAT = Format(
    name="medline",
    title="PubMed/MEDLINE XML",
    suffixes=(".pubmed.xml", ".medline.xml"),
    holds=HOLDS,
    sniff=sniff,
    read=read,
    write=write,
)
