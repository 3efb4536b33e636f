"""PubMed/MEDLINE citation sets."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from streams import endless

from biomux import formats
from biomux.document import Document, Passage, Span
from biomux.errors import FormatError
from biomux.formats import medline

if TYPE_CHECKING:
    from biomux.formats import Loss

HEAD = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2024//EN"'
    b' "https://dtd.invalid/pubmed.dtd">\n<PubmedArticleSet>\n'
)
ARTICLE = b"""<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">101</PMID><Article>
<Journal><JournalIssue><PubDate><Year>1998</Year></PubDate></JournalIssue><Title>Invented Letters</Title></Journal>
<ArticleTitle>Role of <i>TP53</i> in H<sub>2</sub>O.</ArticleTitle>
<Abstract><AbstractText Label="AIM" NlmCategory="OBJECTIVE">We ask &amp; tell.</AbstractText>
<AbstractText Label="RESULTS">10<sup>-3</sup> M</AbstractText><AbstractText/><CopyrightInformation>x</CopyrightInformation></Abstract>
</Article></MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="pubmed">101</ArticleId>
<ArticleId IdType="doi">10.1/x</ArticleId><ArticleId IdType="pmc">PMC7</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
"""
TAIL = b"</PubmedArticleSet>"


def read(data: bytes, **options: object) -> list[Document]:
    return list(medline.read(formats.of_bytes("pubmed.xml", data), **options))  # type: ignore[arg-type]


def written(*documents: Document, losses: list[Loss] | None = None) -> bytes:
    stream = io.BytesIO()
    medline.write(documents, stream, on_loss=(lambda loss: pytest.fail(str(loss))) if losses is None else losses.append)
    return stream.getvalue()


REQUIRED = """
<!ELEMENT PubmedArticleSet (PubmedArticle)+> <!ELEMENT PubmedArticle (MedlineCitation, PubmedData?)>
<!ELEMENT MedlineCitation (PMID, Article, MedlineJournalInfo)>
<!ATTLIST MedlineCitation Status (In-Process|PubMed-not-MEDLINE|In-Data-Review|Publisher|MEDLINE) #REQUIRED Owner CDATA #IMPLIED>
<!ELEMENT PMID (#PCDATA)> <!ATTLIST PMID Version CDATA #REQUIRED>
<!ELEMENT Article (Journal, ArticleTitle, Pagination, Abstract?, Language+, PublicationTypeList)>
<!ATTLIST Article PubModel CDATA #REQUIRED>
<!ELEMENT Journal (JournalIssue, Title?)> <!ELEMENT JournalIssue (PubDate)> <!ATTLIST JournalIssue CitedMedium CDATA #REQUIRED>
<!ELEMENT PubDate (Year | MedlineDate)> <!ELEMENT Year (#PCDATA)> <!ELEMENT MedlineDate (#PCDATA)> <!ELEMENT Title (#PCDATA)>
<!ELEMENT ArticleTitle (#PCDATA)> <!ELEMENT Pagination (MedlinePgn)> <!ELEMENT MedlinePgn (#PCDATA)>
<!ELEMENT Abstract (AbstractText+)> <!ELEMENT AbstractText (#PCDATA)>
<!ATTLIST AbstractText Label CDATA #IMPLIED NlmCategory (BACKGROUND|OBJECTIVE|METHODS|RESULTS|CONCLUSIONS|UNASSIGNED) #IMPLIED>
<!ELEMENT Language (#PCDATA)> <!ELEMENT PublicationTypeList (PublicationType+)> <!ELEMENT PublicationType (#PCDATA)>
<!ATTLIST PublicationType UI CDATA #REQUIRED>
<!ELEMENT MedlineJournalInfo (MedlineTA)> <!ELEMENT MedlineTA (#PCDATA)>
<!ELEMENT PubmedData (PublicationStatus, ArticleIdList)> <!ELEMENT PublicationStatus (#PCDATA)>
<!ELEMENT ArticleIdList (ArticleId+)> <!ELEMENT ArticleId (#PCDATA)> <!ATTLIST ArticleId IdType CDATA #IMPLIED>
"""
"""The part of PubMed's content models that concerns the elements written here; not the official DTD."""

EXPECTED = Document(
    "101",
    "Role of TP53 in H2O.\nWe ask & tell.\n10-3 M",
    passages=(
        Passage(0, 20, "title"),
        Passage(21, 35, "abstract", {"label": "AIM", "category": "OBJECTIVE"}),
        Passage(36, 42, "abstract", {"label": "RESULTS"}),
    ),
    metadata={"journal": "Invented Letters", "year": "1998", "doi": "10.1/x", "pmc": "PMC7"},
)


def test_title_and_abstract_sections_are_passages_and_markup_is_flattened() -> None:
    assert read(HEAD + ARTICLE + TAIL) == [EXPECTED]


def test_what_was_read_is_written_without_loss() -> None:
    assert read(written(EXPECTED)) == [EXPECTED]


def test_what_is_written_has_every_element_that_must_be_there() -> None:
    from lxml import etree

    dtd = etree.DTD(io.StringIO(REQUIRED))
    plain = Document("7", "No title.", metadata={})
    for document in (EXPECTED, plain, Document("8", "")):
        assert dtd.validate(etree.fromstring(written(document))), dtd.error_log


def test_withdrawn_citations_are_passed_over_and_told() -> None:
    gone: list[str] = []
    deleted = b"<DeleteCitation><PMID>5</PMID><PMID> 6 </PMID></DeleteCitation>"
    assert len(read(HEAD + ARTICLE + deleted + TAIL, on_deleted=gone.append)) == 1
    assert gone == ["5", "6"]
    assert len(read(HEAD + deleted + TAIL)) == 0


def test_older_sets_and_books_are_read() -> None:
    citation = b"<MedlineCitation><PMID>1</PMID><Article><ArticleTitle>T</ArticleTitle></Article></MedlineCitation>"
    assert [d.text for d in read(b"<MedlineCitationSet>" + citation * 2 + b"</MedlineCitationSet>")] == ["T", "T"]
    book = (
        b"<PubmedBookArticle><BookDocument><PMID>2</PMID><ArticleTitle>B</ArticleTitle><Abstract>"
        b"<AbstractText>C</AbstractText></Abstract></BookDocument></PubmedBookArticle>"
    )
    assert [(d.id, d.text) for d in read(HEAD + book + TAIL)] == [("2", "B\nC")]


def test_a_citation_without_text_is_a_document_without_text() -> None:
    article = b"<PubmedArticle><MedlineCitation><PMID>1</PMID></MedlineCitation></PubmedArticle>"
    assert read(HEAD + article + TAIL) == [Document("1", "")]


def test_a_citation_without_pmid_is_told_with_its_line_and_passed_over() -> None:
    errors: list[FormatError] = []
    broken = b"<PubmedArticle><MedlineCitation><Article/></MedlineCitation></PubmedArticle>"
    assert len(read(HEAD + ARTICLE + broken + TAIL, on_error=errors.append)) == 1
    line = (HEAD + ARTICLE).count(b"\n") + 1
    assert [(error.code, error.where) for error in errors] == [("BX116", f"pubmed.xml:{line}")]


def test_entities_and_broken_ends_are_refused() -> None:
    with pytest.raises(FormatError) as caught:
        read(b'<!DOCTYPE PubmedArticleSet [<!ENTITY x "y">]><PubmedArticleSet>' + ARTICLE + TAIL)
    assert caught.value.code == "BX118"
    with pytest.raises(FormatError) as caught:
        read(HEAD + ARTICLE)
    assert caught.value.code == "BX117"


def test_other_passages_become_one_abstract_and_it_is_told() -> None:
    losses: list[Loss] = []
    document = Document("1", "a  b\r\nc", passages=(Passage(0, 1, "table"),), spans=(Span(0, 1, "gene"),))
    (back,) = read(written(document, losses=losses))
    assert back.text == document.text
    assert {loss.feature for loss in losses} == {"passages", "spans"}


def test_control_characters_are_refused_when_writing() -> None:
    with pytest.raises(FormatError, match=r"U\+0000"):
        written(Document("1", "a\0"))


def test_documents_come_before_the_file_has_been_read() -> None:
    assert next(medline.read(endless("a.xml", HEAD, ARTICLE))) == EXPECTED
