"""PubTator: what its lines mean, what is refused, what is told when written."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from bioc import pubtator as bioc_pubtator

from biomux.document import Argument, Document, Passage, Relation, Span
from biomux.errors import FormatError
from biomux.formats import Loss, guess, of_bytes, of_path
from biomux.formats.pubtator import FORMAT, read

SAMPLE = """1|t|Aspirin | ulcers
1|a|It causes ulcers and p.V600E.
1\t0\t7\tAspirin\tChemical\tD001241
1\t10\t16\tulcers\tDisease\tD014456|D010437\tstomach|gut
1\t27\t33\tulcers\tDisease\t-1
1\t38\t45\tp.V600E\tVariant\tp|SUB|V|600|E,rs113488022;673
1\tCID\tD001241\tD014456
1\tAssociation\tD001241\tp|SUB|V|600|E\tNovel

2|t|Only a title
2|a|
"""


def documents(text: str | bytes) -> list[Document]:
    return list(read(of_bytes("x.pubtator", text if isinstance(text, bytes) else text.encode())))


def written(*given: Document) -> tuple[str, list[Loss]]:
    stream, losses = io.BytesIO(), list[Loss]()
    assert FORMAT.write is not None
    FORMAT.write(given, stream, on_loss=losses.append)
    return stream.getvalue().decode(), losses


def test_title_and_abstract_are_passages_with_a_blank_between() -> None:
    first, second = documents(SAMPLE)
    assert first.text == "Aspirin | ulcers It causes ulcers and p.V600E."
    assert first.passages == (Passage(0, 16, "title"), Passage(17, 46, "abstract"))
    assert (second.text, second.passages) == ("Only a title", (Passage(0, 12, "title"),))


def test_identifiers_are_split_but_not_the_names_of_variants() -> None:
    spans = documents(SAMPLE)[0].spans
    assert [span.identifiers for span in spans] == [
        ("D001241",),
        ("D014456", "D010437"),
        (),
        ("p|SUB|V|600|E", "rs113488022", "673"),
    ]
    assert spans[1].extra == {"identifiers": "D014456|D010437", "parts": "stomach|gut"}
    assert spans[2].extra == {"identifiers": "-1"}


def test_relations_are_between_concepts() -> None:
    cid, association = documents(SAMPLE)[0].relations
    ends = (Argument("arg1", "D001241", "concept"), Argument("arg2", "D014456", "concept"))
    assert cid == Relation("CID", ends)
    assert association.extra == {"novelty": "Novel"}


def test_what_was_read_is_written_byte_for_byte() -> None:
    assert written(*documents(SAMPLE)) == (SAMPLE + "\n", [])


def test_documents_need_no_empty_line_between_them() -> None:
    assert [document.id for document in documents("1|t|a\n1|a|b\n2|t|c\n2|a|d\n")] == ["1", "2"]


@pytest.mark.parametrize(
    ("lines", "code", "line"),
    [
        ("1|a|no title", "BX116", 1),
        ("1|body|no title", "BX116", 1),
        ("1\t0\t1\ta\tX\t1", "BX116", 1),
        ("1|t|abc\n1|t|abc", "BX113", 2),
        ("1|t|abc\n2|a|abc", "BX113", 2),
    ],
)
def test_a_malformed_document_is_told_and_the_next_is_read(lines: str, code: str, line: int) -> None:
    errors: list[FormatError] = []
    source = of_bytes("x.txt", f"{lines}\n\n9|t|fine\n9|a|\n".encode())
    assert [document.id for document in read(source, on_error=errors.append)] == ["9"]
    assert [(error.code, error.where) for error in errors] == [(code, f"x.txt:{line}")]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("1\t0\t40\tabcd\tX\t1", "BX114"),
        ("1\t-1\t2\tab\tX\t1", "BX114"),
        ("1\t2\t2\t\tX\t1", "BX114"),
        ("1\t0\t2\tac\tX\t1", "BX115"),
        ("1\t0\t2\tab", "BX116"),
        ("1\t0\t2", "BX116"),
        ("1\tCID", "BX116"),
        ("1\tCID\t", "BX116"),
        ("1\t0\tx\tab\tX\t1", "BX116"),
        ("1\tx\t2\tab\tX\t1", "BX116"),
        ("1\t0\tx\tab\tX", "BX116"),
        ("1 and something else", "BX113"),
        ("2\t0\t1\ta\tX\t1", "BX113"),
    ],
)
def test_a_line_that_is_wrong_is_told_and_the_rest_of_its_document_is_read(line: str, code: str) -> None:
    lines = f"1|t|abc\n1|a|def\n1\t0\t3\tabc\tX\t7\n{line}\n1\t4\t7\tdef\tX\t8\n1\tCID\t7\t8\n"
    errors: list[FormatError] = []
    (document,) = read(of_bytes("x.txt", lines.encode()), on_error=errors.append)
    assert [(error.code, error.where) for error in errors] == [(code, "x.txt:4")]
    assert [document.mention(span) for span in document.spans] == ["abc", "def"]
    assert len(document.relations) == 1
    with pytest.raises(FormatError, match=code):
        documents(lines)


def test_a_full_text_is_its_parts_with_a_blank_between_any_two() -> None:
    lines = "PMC1|title|Aspirin\nPMC1|body|It helps.\nPMC1|body|Ulcers bleed.\nPMC1\t18\t24\tUlcers\tDisease\tD1\n"
    source = of_bytes("x.txt", lines.encode())
    assert guess(source) is FORMAT
    (document,) = read(source)
    assert document.text == "Aspirin It helps. Ulcers bleed."
    assert document.passages == (Passage(0, 7, "title"), Passage(8, 17, "body"), Passage(18, 31, "body"))
    assert document.mention(document.spans[0]) == "Ulcers"
    text, losses = written(document)
    assert text.startswith("PMC1|t|Aspirin\nPMC1|a|It helps. Ulcers bleed.\n")
    assert [loss.feature for loss in losses] == ["passages"]


def test_a_line_of_three_columns_is_about_the_whole_document() -> None:
    lines = "1|t|Aspirin\n1|a|\n1\tindexed\tD001241\n\n"
    (document,) = documents(lines)
    assert document.relations == (Relation("indexed", (Argument("arg1", "D001241", "concept"),)),)
    assert written(document) == (lines, [])


def test_a_mention_without_identifier_is_a_mention_for_other_readers() -> None:
    document = Document("1", "TP53 in mice", spans=(Span(0, 4, "gene"), Span(8, 12, "species", identifiers=("10090",))))
    text, losses = written(document)
    assert losses == []
    assert [span.extra for span in documents(text)[0].spans] == [{}, {}]
    (other,) = bioc_pubtator.loads(text)
    assert [(ann.start, ann.end, ann.text, ann.type, ann.id) for ann in other.annotations] == [
        (0, 4, "TP53", "gene", "-"),
        (8, 12, "mice", "species", "10090"),
    ]
    assert other.relations == []


@pytest.mark.parametrize("columns", ["X", "X\t", "X\t-"])
def test_no_identifier_is_none_however_it_is_written(columns: str) -> None:
    (document,) = documents(f"1|t|abc\n1\t0\t3\tabc\t{columns}\n")
    assert document.spans == (Span(0, 3, "X"),)
    assert written(document)[0].splitlines()[2] == "1\t0\t3\tabc\tX\t-"


def test_bytes_that_are_not_utf8_are_told() -> None:
    with pytest.raises(FormatError, match="BX111"):
        documents(b"1|t|\xe9\n")


def test_line_ends_become_blanks_and_offsets_stay() -> None:
    document = Document(
        "1",
        "A title\nFirst.\r\nSecond.",
        passages=(Passage(0, 7, "title"), Passage(8, 23, "abstract")),
        spans=(Span(8, 22, "X"),),
    )
    text, losses = written(document)
    assert text == "1|t|A title\n1|a|First.  Second.\n1\t8\t22\tFirst.  Second\tX\t-\n\n"
    assert [loss.feature for loss in losses] == ["text breaks"]
    assert documents(text)[0].spans == document.spans


def test_links_between_spans_and_other_passages_are_told() -> None:
    spans = (Span(0, 1, "X", id="T1"), Span(2, 3, "X", id="T2"))
    relation = Relation("binds", (Argument("a", "T1"), Argument("b", "T2")))
    _, losses = written(Document("1", "a b", passages=(Passage(0, 3, "caption"),), spans=spans, relations=(relation,)))
    assert {loss.feature for loss in losses} == {"span ids", "relations", "passages"}


@pytest.mark.parametrize(
    "document",
    [
        Document("a|b", "x"),
        Document("", "x"),
        Document("1", "x", spans=(Span(0, 1, ""),)),
        Document("1", "x", spans=(Span(0, 1, "a\tb"),)),
        Document("1", "x", spans=(Span(0, 1, "a", identifiers=("1\n2",)),)),
        Document("1", "x", relations=(Relation("7", (Argument("arg1", "D1", "concept"),) * 2),)),
    ],
)
def test_what_cannot_be_held_at_all_is_refused(document: Document) -> None:
    with pytest.raises(FormatError, match="BX120"):
        written(document)


def test_it_is_recognised_by_its_first_line() -> None:
    assert guess(of_bytes("corpus.txt", SAMPLE.encode())) is FORMAT
    assert not FORMAT.sniff("x.txt", b"a\t1|t|b")


@pytest.mark.skipif(not os.environ.get("BIOMUX_CORPORA"), reason="BIOMUX_CORPORA does not name the corpora's folder")
@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("relations/BC5CDR-CID/CDR_TestSet.PubTator.txt.gz", (500, 9809, 1066, 57)),
        ("relations/BioRED/Test.PubTator.gz", (100, 3535, 1163, 0)),
        ("cross/tmVar3/tmvar_v3.txt.gz", (500, 7837, 0, 0)),
    ],
)
def test_corpora_have_their_counts_and_are_written_byte_for_byte(file: str, counts: tuple[int, ...]) -> None:
    source = of_path(Path(os.environ["BIOMUX_CORPORA"]) / file)
    found = list(read(source))
    composite = sum("parts" in span.extra for document in found for span in document.spans)
    spans, relations = (sum(len(getattr(one, part)) for one in found) for part in ("spans", "relations"))
    assert (len(found), spans, relations, composite) == counts
    with source.open() as stream:
        given = stream.read().replace(b"\t\n", b"\t-\n")  # tmVar leaves the column of identifiers empty
    assert written(*found)[0].encode() == given
