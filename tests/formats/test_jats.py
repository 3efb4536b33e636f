"""JATS full text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from streams import endless

from biomux import formats
from biomux.document import Document, Passage
from biomux.errors import FormatError
from biomux.formats import jats

if TYPE_CHECKING:
    from biomux.formats import Loss

ARTICLE = b"""<article xmlns:mml="http://www.w3.org/1998/Math/MathML" article-type="research-article">
<front><journal-meta><journal-title-group><journal-title>Invented Letters</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="pmid">55</article-id><article-id pub-id-type="pmc">PMC9</article-id>
<title-group><article-title>Role of
   <italic>TP53</italic></article-title></title-group>
<abstract><sec><title>Aim</title><p>We ask.</p></sec><sec><title>Findings</title><p>We
  tell.</p></sec></abstract></article-meta></front>
<body><p>Before sections.</p>
<sec><title>Materials and Methods</title><p>Cells<xref ref-type="bibr">1</xref> grew in CO<sub>2</sub>.</p>
  <sec><title>Lines</title><p>HeLa cells: <list><list-item><p>one</p></list-item><list-item><p>two</p></list-item></list> and on.</p>
  <fig><label>Fig 1</label><caption><title>Growth.</title><p>Over days.</p></caption><graphic/></fig></sec>
</sec>
<sec sec-type="findings"><title>What we saw</title>
<p>It is <inline-formula><tex-math>x^2</tex-math><mml:math><mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:math></inline-formula>.</p>
<table-wrap><label>Table 1</label><caption><p>Counts.</p></caption><table><tr><td>1</td></tr></table></table-wrap></sec>
</body><back><ack><p>Thanks.</p></ack><ref-list><title>References</title><ref><mixed-citation>A.</mixed-citation></ref><ref/></ref-list></back>
</article>"""


def read(data: bytes, **options: object) -> list[Document]:
    return list(jats.read(formats.of_bytes("a.nxml", data), **options))  # type: ignore[arg-type]


def written(*documents: Document, losses: list[Loss] | None = None) -> bytes:
    stream = io.BytesIO()
    jats.write(documents, stream, on_loss=(lambda loss: pytest.fail(str(loss))) if losses is None else losses.append)
    return stream.getvalue()


def parts(document: Document) -> list[tuple[str, str, dict[str, object]]]:
    return [(p.kind, document.text[p.start : p.end], dict(p.extra)) for p in document.passages]


def test_sections_are_passages_with_titles_and_types() -> None:
    (document,) = read(ARTICLE)
    assert parts(document) == [
        ("title", "Role of TP53", {}),
        ("abstract", "We ask.", {"title": "Aim"}),
        ("abstract", "We tell.", {"title": "Findings"}),
        ("section", "Before sections.", {}),
        ("heading", "Materials and Methods", {"level": 1}),
        ("section", "Cells1 grew in CO2.", {"title": "Materials and Methods", "type": "methods"}),
        ("heading", "Lines", {"level": 2}),
        ("section", "HeLa cells:\none\ntwo\nand on.", {"title": "Lines", "type": "methods"}),
        ("caption", "Growth.\nOver days.", {"of": "figure", "label": "Fig 1"}),
        ("heading", "What we saw", {"level": 1}),
        ("section", "It is x2.", {"title": "What we saw", "type": "findings"}),
        ("caption", "Counts.", {"of": "table", "label": "Table 1"}),
        ("section", "Thanks.", {"type": "acknowledgements"}),
    ]
    assert document.text == "\n".join(text for _, text, _ in parts(document))


def test_ids_and_what_was_left_out_are_metadata() -> None:
    (document,) = read(ARTICLE)
    assert document.id == "PMC9"
    assert document.metadata == {
        "pmid": "55",
        "pmc": "PMC9",
        "journal": "Invented Letters",
        "left_out": {"latex": 1, "tables": 1, "references": 2},
    }


def test_sets_and_articles_without_an_id_are_read() -> None:
    article = b"<article><front><article-meta/></front><body><p>x</p></body></article>"
    assert [d.id for d in read(b"<pmc-articleset>" + article * 2 + b"</pmc-articleset>")] == ["a", "a:2"]


def test_an_article_of_the_same_shape_is_written_without_loss() -> None:
    document = Document(
        "PMC1",
        "On TP53\nWe ask.\nMethods\nCells grew.\nThey died.\nLines\nHeLa.\nA curve.\nResults\nNone.",
        passages=(
            Passage(0, 7, "title"),
            Passage(8, 15, "abstract", {"title": "Aim"}),
            Passage(16, 23, "heading", {"level": 1}),
            Passage(24, 46, "section", {"title": "Methods", "type": "methods"}),
            Passage(47, 52, "heading", {"level": 2}),
            Passage(53, 58, "section", {"title": "Lines", "type": "methods"}),
            Passage(59, 67, "caption", {"of": "figure", "label": "Fig 1"}),
            Passage(68, 75, "heading", {"level": 1}),
            Passage(76, 81, "section", {"title": "Results", "type": "results"}),
        ),
        metadata={"pmc": "PMC1", "journal": "Invented Letters"},
    )
    assert read(written(document)) == [document]


@pytest.mark.parametrize("text", ["", "a  b", "\tx\r\n", "\n", "a\n\nb", " a", "a\u00a0\u00a0b", "1 < 2 & 3"])
def test_any_blanks_survive_even_though_paragraphs_fold_them(text: str) -> None:
    (back,) = read(written(Document("x", text)))
    assert (back.id, back.text) == ("x", text)


def test_passages_without_a_place_in_an_article_are_told() -> None:
    losses: list[Loss] = []
    document = Document(
        "x", "a  b", passages=(Passage(0, 1, "title"), Passage(3, 4, "chorus")), metadata={"mood": "calm"}
    )
    (back,) = read(written(document, losses=losses))
    assert back.text == document.text
    assert {loss.feature for loss in losses} == {"passages", "metadata"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'<!DOCTYPE article [<!ENTITY x "y">]><article/>', "BX118"),
        (b'<!DOCTYPE article SYSTEM "JATS.dtd"><article><body><p>&alpha;</p></body></article>', "BX118"),
        (ARTICLE[:900], "BX117"),
        (b"", "BX117"),
    ],
)
def test_unsafe_or_broken_articles_are_refused(data: bytes, code: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(data)
    assert caught.value.code == code


def test_articles_are_recognised() -> None:
    assert formats.guess(formats.of_bytes("x.xml", ARTICLE)).name == "jats"
    assert formats.guess(formats.of_bytes("x.nxml", b"<article><body/></article>")).name == "jats"


def test_documents_come_before_the_file_has_been_read() -> None:
    assert next(jats.read(endless("a.xml", b"<pmc-articleset>", ARTICLE))).id == "PMC9"
