"""Abstracts whose sentences have labels: hallmarks of cancer, and the roles of PubMed RCT and NICTA-PIBOSO."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import IDS, LINE_TEXT

from biomux import formats
from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats import Format, Loss, hoc, of_bytes, rct
from biomux.formats.check import check_format
from biomux.formats.joined import join

if TYPE_CHECKING:
    from collections.abc import Sequence

NO = "0_0,1_0,2_0,3_0,4_0,5_0,6_0,7_0,8_0,9_0"
TWO = "0_0,1_0,2_0,3_0,4_1,5_0,6_0,7_0,8_1,9_0"
HOC = f'labels\tsentence\tindex\n{NO}\t"Cells grow .\t11_s0\n{TWO}\tThey\u2009stop .\t11_s1\n{NO}\tNext .\t12_s0\n'
RCT = "###707\npopulation\tWe saw men .\nstudy design\tAt random .\n\n###708\nOUTCOME\tGood .\n"


def test_rows_of_one_abstract_are_one_document_with_hallmarks_at_their_sentence() -> None:
    first, second = hoc.read(of_bytes("train.tsv", HOC.encode()))
    assert (first.id, second.id) == ("11", "12")
    assert first.text == '"Cells grow . They\u2009stop .'
    assert first.sentences == ((0, 13), (14, 25))
    assert first.labels == (
        Label("Evading growth suppressors", start=14, end=25),
        Label("Sustaining proliferative signaling", start=14, end=25),
    )
    assert second.labels == ()


def test_an_abstract_has_a_role_for_each_sentence() -> None:
    first, second = rct.read(of_bytes("train_clean.txt", RCT.encode()))
    assert first == Document(
        "707",
        "We saw men . At random .",
        sentences=((0, 12), (13, 24)),
        labels=(Label("population", start=0, end=12), Label("study design", start=13, end=24)),
    )
    assert (second.id, second.text, second.labels[0].name) == ("708", "Good .", "OUTCOME")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("hoc", "labels\tsentence\n", "BX116: a:1: the header ['labels', 'sentence'] has no 'index'"),
        ("hoc", f"labels\tsentence\tindex\n{NO}\tA .\n", "BX116: a:2: the row has 2 columns"),
        ("hoc", "labels\tsentence\tindex\n0_2\tA .\t1_s0\n", "BX113: a:2: the label '0_2' is not like 4_1"),
        ("hoc", f"labels\tsentence\tindex\n{NO}\tA .\t1\n", "BX113: a:2: the index '1' is not like 20862378_s1"),
        ("hoc", f"labels\tsentence\tindex\n{NO}\t\t1_s0\n", "BX113: a:2: the sentence is empty"),
        ("rct", "outcome\tGood .\n", "BX113: a:1: a sentence stands outside an abstract"),
        ("rct", "###1\nGood .\n", "BX116: a:2: there is no tab between role and sentence"),
        ("rct", "###1\noutcome\t\n", "BX113: a:2: the sentence is empty"),
    ],
)
def test_malformed_lines_are_told_in_one_sentence(name: str, data: str, message: str) -> None:
    with pytest.raises(FormatError) as told:
        list(formats.get(name).read(of_bytes("a", data.encode())))
    assert str(told.value).startswith(message)


def test_bytes_that_are_not_utf8_are_told() -> None:
    with pytest.raises(FormatError, match="BX111: a:2"):
        list(rct.read(of_bytes("a", b"###1\nrole\t\xff\n")))


@pytest.mark.parametrize(("name", "data"), [("hoc", HOC), ("rct", RCT)])
def test_what_was_read_is_written_the_same(name: str, data: str) -> None:
    chosen = formats.get(name)
    assert formats.guess(of_bytes("train.tsv", data.encode())).name == name
    stream = io.BytesIO()
    assert chosen.write is not None
    chosen.write(chosen.read(of_bytes("a", data.encode())), stream, on_loss=_never)
    assert stream.getvalue().decode().rstrip("\n") == data.rstrip("\n")


def test_markdown_is_not_taken_for_abstracts() -> None:
    assert not rct.FORMAT.sniff("notes.txt", b"### Heading\na\tb\n")


def test_sentences_that_do_not_fill_the_text_are_told_as_lost_and_no_character_is() -> None:
    losses: list[Loss] = []
    stream = io.BytesIO()
    label = Label("role", start=0, end=2)
    rct.write([Document("1", "A.  B.", sentences=((0, 2), (4, 6)), labels=(label,))], stream, on_loss=losses.append)
    assert stream.getvalue() == b"###1\n\tA.  B.\n\n"
    assert {loss.feature for loss in losses} == {"sentences", "labels"}


def test_hallmarks_that_are_none_are_told_as_lost() -> None:
    losses: list[Loss] = []
    label = Label("Spreading", start=0, end=2)
    hoc.write([Document("1", "A.", sentences=((0, 2),), labels=(label,))], io.BytesIO(), on_loss=losses.append)
    assert [(loss.feature, loss.count) for loss in losses] == [("labels", 1)]


def _never(loss: Loss) -> None:
    raise AssertionError(loss)


def _abstracts(names: Sequence[str]) -> st.SearchStrategy[Document]:
    sentence = LINE_TEXT.filter(bool)
    rows = st.lists(st.tuples(sentence, st.sampled_from(["", *names])), min_size=1, max_size=4)
    return st.builds(_abstract, IDS, rows)


def _abstract(id: str, rows: list[tuple[str, str]]) -> Document:
    text, ranges = join((sentence for sentence, _ in rows), " ")
    anchored = zip(rows, ranges, strict=True)
    labels = tuple(Label(name, start=start, end=end) for (_, name), (start, end) in anchored if name)
    return Document(id, text, sentences=tuple(ranges), labels=labels)


@pytest.mark.parametrize(
    ("format", "names"), [(hoc.FORMAT, hoc.HALLMARKS[:3]), (rct.FORMAT, ("outcome", "study design"))]
)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_abstract_survives(format: Format, names: tuple[str, ...], data: st.DataObject) -> None:
    documents = st.lists(_abstracts(names), max_size=3, unique_by=lambda document: document.id)
    check_format(format, data.draw(documents))
