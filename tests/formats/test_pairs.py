"""Pairs of texts as tables."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import TEXT

from biomux import formats
from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats import Loss, of_bytes
from biomux.formats._conformance import check_format
from biomux.formats.pairs import FORMAT, read, write

BIOSSES = 'pair_id\tsent1\tsent2\tscore\n7\tKRAS is mutated.\tA gene mutates.\t2.5\n8\t"Quoted\tβ-actin\t0\n'
HEALTHVER = 'id,evidence,claim,label,topic_ip,question\n224,"It began in a city, in 2019.", A claim,Neutral,1,where\n'


def one(data: str | bytes, name: str = "a.csv", **options: Any) -> Document:
    raw = data.encode() if isinstance(data, str) else data
    (document,) = read(of_bytes(name, raw), **options)
    return document


def test_a_score_becomes_a_similarity_and_nothing_is_quoted_in_tsv() -> None:
    first, second = read(of_bytes("train.tsv", BIOSSES.encode()))
    assert (first.id, first.text, first.pair) == ("7", "KRAS is mutated.", "A gene mutates.")
    assert first.labels == (Label("similarity", value=2.5),)
    assert second.text == '"Quoted'
    assert second.labels == (Label("similarity", value=0.0),)


def test_medical_question_pairs_have_no_header_and_crlf() -> None:
    rows = b'1,"Can I drink, after aspirin?",Is wine ok?,1\r\n2,A?,"say ""B""\r\nor C?",0\r\n'
    first, second = read(of_bytes("mqp.csv", rows))
    assert first == Document(
        "mqp:1", "Can I drink, after aspirin?", pair="Is wine ok?", labels=(Label("1"),), metadata={"dr_id": "1"}
    )
    assert second.pair == 'say "B"\r\nor C?'
    assert second.labels == (Label("0"),)


def test_in_healthver_the_evidence_is_the_text_and_a_leading_blank_of_the_claim_stays() -> None:
    document = one(HEALTHVER)
    assert (document.id, document.text, document.pair) == ("224", "It began in a city, in 2019.", " A claim")
    assert document.labels == (Label("Neutral"),)
    assert document.metadata == {"topic_ip": "1", "question": "where"}


def test_columns_can_be_named_by_header_or_position() -> None:
    named = one("no\tleft\tright\tclass\n3\ta\tb\tx\n", text="left", pair="right", label="class", id="no")
    assert named == Document("3", "a", pair="b", labels=(Label("x"),))
    numbered = one("b|a|0.5\n", name="t.txt", text="1", pair=0, score=2, delimiter="|", header=False)
    assert numbered == Document("t:1", "a", pair="b", labels=(Label("similarity", value=0.5),))


def test_three_columns_without_header_are_text_pair_label_and_two_have_no_label() -> None:
    assert one("a\tb\tentailment\n", header=False).labels == (Label("entailment"),)
    assert one("a\tb\n", header=False).labels == ()


def test_a_label_with_a_score_keeps_both() -> None:
    assert one("text,pair,label,score\na,b,close,0.75\n").labels == (Label("close", value=0.75),)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("a,b\nc,d\n", {"text": "left"}, "BX116: a.csv:1: there is no column 'left' for 'text'"),
        (
            "text\tscore\na\t1\n",
            {"header": True},
            "BX116: a.csv:1: cannot find the column 'pair' among ['text', 'score']",
        ),
        ("text,pair,score\na,b,high\n", {}, "BX113: a.csv:2: the score must be a number such as 2.5, got 'high'"),
        ("text,pair,score\na,b,nan\n", {}, "BX113: a.csv:2: the score must be a number such as 2.5, got 'nan'"),
        ("text,pair\na\n", {}, "BX116: a.csv:2: the row has 1 columns, but the first has 2"),
        ('text,pair\n"a,b\n', {}, "BX113: a.csv:2: a quoted cell is not closed"),
        ('text,pair\n"a"b,c\n', {}, "BX113: a.csv:2: a cell continues after its closing quote"),
        (b"text,pair\na,\xff\n", {}, "BX111: a.csv:2: byte 2 (0xff) is not UTF-8"),
    ],
)
def test_malformed_tables_are_told_in_one_sentence(data: str | bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError) as told:
        one(data, **options)
    assert str(told.value).startswith(message)
    assert told.value.hint


def test_a_malformed_row_can_be_skipped() -> None:
    errors: list[FormatError] = []
    table = b"text,pair,score\na,b,bad\nc,d,1\n"
    assert [document.text for document in read(of_bytes("a.csv", table), on_error=errors.append)] == ["c"]
    assert [error.code for error in errors] == ["BX113"]


def test_an_empty_table_has_no_documents() -> None:
    assert list(read(of_bytes("a.csv", b""))) == []


def test_tsv_is_written_on_request_and_refuses_tabs() -> None:
    stream = io.BytesIO()
    write([Document("1", "a", pair="b", labels=(Label("x"),))], stream, on_loss=print, delimiter="\t")
    assert stream.getvalue() == b"id\ttext\tpair\tlabel\tscore\n1\ta\tb\tx\t\n"
    with pytest.raises(FormatError, match="BX120"):
        write([Document("1", "a\tb", pair="b")], stream, on_loss=print, delimiter="\t")


def test_metadata_of_later_documents_that_the_header_lacks_is_told_as_lost() -> None:
    losses: list[Loss] = []
    documents = [
        Document("1", "a", pair="b", metadata={"topic": "1"}),
        Document("2", "a", pair="b", metadata={"topic": "2", "year": 2020}),
    ]
    stream = io.BytesIO()
    write(documents, stream, on_loss=losses.append)
    assert stream.getvalue().splitlines()[0] == b"id,text,pair,label,score,topic"
    assert [(loss.document, loss.feature, loss.count) for loss in losses] == [("2", "metadata", 1)]


@pytest.mark.parametrize(("name", "data"), [("a.tsv", BIOSSES), ("a.csv", HEALTHVER), ("mqp.csv", "1,a,b,0\r\n")])
def test_pairs_are_recognised(name: str, data: str) -> None:
    assert formats.guess(of_bytes(name, data.encode())).name == "pairs"


labels = st.builds(Label, st.sampled_from(["similarity", "Neutral", "a,b", '"']), value=st.none() | st.floats(-9, 9))
pairs = st.builds(
    Document,
    st.text(alphabet='ab,"\n', min_size=1, max_size=4),
    TEXT,
    pair=TEXT,
    labels=st.lists(labels, max_size=1).map(tuple),
    metadata=st.dictionaries(st.sampled_from(["topic", "a b", "x\ny"]), TEXT, max_size=2),
)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(pairs, max_size=3))
def test_any_pair_survives_csv(documents: list[Document]) -> None:
    check_format(FORMAT, documents)
