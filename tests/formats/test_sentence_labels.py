"""Abstracts whose sentences have labels: hallmarks of cancer, and the roles of PubMed RCT and NICTA-PIBOSO."""

from __future__ import annotations

import pytest

from biomux import formats
from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats import hoc, of_bytes, rct
from biomux.formats._conformance import check_reader

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
        ("hoc", "labels\tsentence\tindex\n0_2\tA .\t1_s0\n", "BX113: a:2: a label must look like 4_1, got '0_2'"),
        (
            "hoc",
            f"labels\tsentence\tindex\n{NO}\tA .\t1\n",
            "BX113: a:2: the index must look like 20862378_s1, got '1'",
        ),
        ("hoc", f"labels\tsentence\tindex\n{NO}\t\t1_s0\n", "BX113: a:2: the sentence is empty"),
        ("rct", "outcome\tGood .\n", "BX113: a:1: there is a sentence outside an abstract"),
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


def test_markdown_is_not_taken_for_abstracts() -> None:
    assert not rct.FORMAT.sniff("notes.txt", b"### Heading\na\tb\n")


@pytest.mark.parametrize(("name", "data"), [("hoc", HOC), ("rct", RCT)])
def test_they_are_recognised_and_keep_the_promises_of_a_reader(name: str, data: str) -> None:
    assert formats.guess(of_bytes("train.tsv", data.encode())).name == name
    check_reader(formats.get(name), {"train.tsv": data.encode()})
