"""MEDLINE text, as PubMed saves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from streams import endless

from biomux import formats
from biomux.document import Document, Passage
from biomux.formats import nbib
from biomux.formats._conformance import check_reader

if TYPE_CHECKING:
    from biomux.errors import FormatError

FIRST = b"""
PMID- 101
OWN - NLM
DP  - 1998 May
LID - S0-1 [pii]
LID - 10.1000/x.1 [doi]
TI  - Invented proteins bind - and
      go on binding.
AB  - BACKGROUND: Nothing is known.
      RESULTS: It binds TP53 - twice.
AU  - Nobody A
AU  - Nobody B
JT  - Journal of invented results
TA  - J Inv
PMC - PMC77
"""
SECOND = b"""
PMID- 102
TI  - A title alone.
"""
WANTED = Document(
    "101",
    "Invented proteins bind - and go on binding.\nBACKGROUND: Nothing is known. RESULTS: It binds TP53 - twice.",
    passages=(Passage(0, 43, "title"), Passage(44, 105, "abstract")),
    metadata={"journal": "Journal of invented results", "year": "1998", "doi": "10.1000/x.1", "pmc": "PMC77"},
)


def read(data: bytes, name: str = "pubmed.nbib", **options: Any) -> list[Document]:
    return list(formats.read_source(formats.of_bytes(name, data), **options))


@pytest.mark.parametrize("name", ["pubmed.nbib", "pubmed-aspirin-set.txt", "<stdin>"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_citations_are_documents(name: str, ends: bytes) -> None:
    data = (FIRST + SECOND).replace(b"\n", ends)
    assert formats.guess(formats.of_bytes(name, data)).name == "nbib"
    first, second = read(data, name)
    assert first == WANTED
    assert second == Document("102", "A title alone.", passages=(Passage(0, 14, "title"),))


def test_a_pmid_begins_a_citation_without_an_empty_line() -> None:
    assert [document.id for document in read(FIRST + SECOND.lstrip())] == ["101", "102"]


def test_reading_goes_on_after_a_citation_that_is_none() -> None:
    errors: list[FormatError] = []
    found = read(b"PMID- 1\nwhat is this\n\nTI  - No id.\n" + SECOND, on_error=errors.append, format="nbib")
    assert [document.id for document in found] == ["102"]
    assert [(error.code, error.where) for error in errors] == [("BX113", "pubmed.nbib:1"), ("BX116", "pubmed.nbib:4")]


def test_a_text_about_pmids_is_a_text() -> None:
    assert formats.guess(formats.of_bytes("a.txt", b"PMID- 7 is a citation.\n")).name == "text"


def test_citations_come_before_the_file_has_been_read() -> None:
    citations = nbib.read(endless("a.nbib", b"", SECOND))
    assert [next(citations).id for _ in range(3)] == ["102"] * 3


def test_broken_citations_give_documents_or_errors() -> None:
    check_reader(nbib.FORMAT, {"a.nbib": FIRST + SECOND})
