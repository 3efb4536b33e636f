"""Masked relation sentences."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import IDS, LINE_TEXT

from biomux import formats
from biomux.document import Document, Label, Span
from biomux.errors import FormatError
from biomux.formats import Loss, of_bytes
from biomux.formats._conformance import check_format
from biomux.formats.relation_tsv import FORMAT, read, tags, write

SENTENCE = 'Variants of @GENE$ were "not" found in @DISEASE$.'
EXPECTED = (Span(12, 18, "GENE"), Span(39, 48, "DISEASE"))


def test_with_a_header_and_an_index() -> None:
    (document,) = read(of_bytes("test.tsv", f"index\tsentence\tlabel\n0\t{SENTENCE}\t1\n".encode()))
    assert document == Document("0", SENTENCE, spans=EXPECTED, labels=(Label("1"),))
    assert [document.mention(span) for span in document.spans] == ["@GENE$", "@DISEASE$"]


def test_fold_files_have_no_header_and_two_columns() -> None:
    (document,) = read(of_bytes("train.tsv", f"{SENTENCE}\t0\n".encode()))
    assert document == Document("train:1", SENTENCE, spans=EXPECTED, labels=(Label("0"),))


def test_three_columns_without_header_have_an_index() -> None:
    (document,) = read(of_bytes("a.tsv", f"23.T1.T2\t{SENTENCE}\tCPR:4\n".encode()))
    assert (document.id, document.labels) == ("23.T1.T2", (Label("CPR:4"),))


def test_an_unlabelled_row_has_no_label() -> None:
    (document,) = read(of_bytes("a.tsv", b"index\tsentence\tlabel\n1\t@DRUG$\t\n"))
    assert document.labels == ()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"index\tsentence\tlabel\n1\t@GENE$\n", "BX116: a.tsv:2: the row has 2 columns, but the first has 3"),
        (b"just one column @GENE$\n", "BX116: a.tsv:1: cannot find the column with the sentence"),
        (b"@GENE$ \xe9\t1\n", "BX111: a.tsv:1: byte 7 (0xe9) is not UTF-8"),
    ],
)
def test_malformed_rows_are_told_in_one_sentence(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as told:
        list(read(of_bytes("a.tsv", data)))
    assert str(told.value).startswith(message)


def test_writing_tells_spans_that_are_no_tags() -> None:
    losses: list[Loss] = []
    document = Document("1", "@GENE$ x", spans=(Span(0, 6, "GENE"), Span(7, 8, "Species")), labels=(Label("1"),))
    stream = io.BytesIO()
    write([document], stream, on_loss=losses.append)
    assert stream.getvalue() == b"index\tsentence\tlabel\n1\t@GENE$ x\t1\n"
    assert [(loss.feature, loss.count) for loss in losses] == [("spans", 1)]


def test_masked_sentences_are_recognised_with_and_without_header() -> None:
    for data in (f"index\tsentence\tlabel\n0\t{SENTENCE}\t1\n", f"{SENTENCE}\t0\n"):
        assert formats.guess(of_bytes("train.tsv", data.encode())).name == "relation-tsv"


masked = st.lists(LINE_TEXT | st.sampled_from(["@GENE$", "@DISEASE$", "@", "$"]), max_size=6).map("".join)
sentences = st.builds(
    lambda name, text, label: Document(name, text, spans=tags(text), labels=label),
    IDS,
    masked,
    st.lists(st.sampled_from([Label("0"), Label("DDI-effect")]), max_size=1).map(tuple),
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(sentences, max_size=3))
def test_any_masked_sentence_survives(documents: list[Document]) -> None:
    check_format(FORMAT, documents)
