"""RQE XML."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import IDS, XML_TEXT

from biomux import formats
from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats import Loss, of_bytes
from biomux.formats.check import check_format
from biomux.formats.rqe import FORMAT, read, write

XML = """<?xml version="1.0" encoding="UTF-8"?>
<RQE-med-train>
<pair pid="1" type="originalQ-shortQ" value="true">
<chq>
   Is asprin &lt; 1 g  ok?
</chq>
<faq>
   Is aspirin ok?
</faq>
</pair>
<pair pid="2" value="false"><chq></chq><faq>What is flu?</faq></pair>
</RQE-med-train>
"""


def test_questions_are_trimmed_and_inner_blanks_stay() -> None:
    first, second = read(of_bytes("a.xml", XML.encode()))
    assert first == Document(
        "1",
        "Is asprin < 1 g  ok?",
        pair="Is aspirin ok?",
        labels=(Label("true"),),
        metadata={"type": "originalQ-shortQ"},
    )
    assert second == Document("2", "", pair="What is flu?", labels=(Label("false"),))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<faq>What is flu?</faq>", "", "BX116: a.xml:11: the pair has no 'faq'"),
        ('pid="2" ', "", "BX116: a.xml:11: the pair has no 'pid'"),
        ("</RQE-med-train>", "", "BX117: a.xml"),
        ("asprin &lt;", "asprin &nbsp;", "BX11"),
    ],
)
def test_malformed_xml_is_told_in_one_sentence(old: str, new: str, message: str) -> None:
    with pytest.raises(FormatError) as told:
        list(read(of_bytes("a.xml", XML.replace(old, new).encode())))
    assert str(told.value).startswith(message)


def test_bytes_in_another_encoding_are_told() -> None:
    with pytest.raises(FormatError, match="BX111"):
        list(read(of_bytes("a.xml", XML.encode().replace(b"asprin", b"\xe4sprin"))))


def test_a_pair_without_one_of_its_parts_can_be_skipped() -> None:
    errors: list[FormatError] = []
    broken = XML.replace("<faq>What is flu?</faq>", "")
    assert [d.id for d in read(of_bytes("a.xml", broken.encode()), on_error=errors.append)] == ["1"]
    assert len(errors) == 1


def test_blanks_around_a_text_are_told_as_lost() -> None:
    losses: list[Loss] = []
    write([Document("1", " a", pair="b\n")], io.BytesIO(), on_loss=losses.append)
    assert [loss.feature for loss in losses] == ["text", "pair"]


def test_it_is_recognised() -> None:
    assert formats.guess(of_bytes("a.xml", XML.encode())).name == "rqe"


pairs = st.builds(
    Document,
    IDS,
    XML_TEXT.map(str.strip),
    pair=XML_TEXT.map(str.strip),
    labels=st.lists(st.sampled_from([Label("true"), Label("false")]), max_size=1).map(tuple),
    metadata=st.sampled_from([{}, {"type": 'a"b'}]),
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(pairs, max_size=3))
def test_any_pair_survives(documents: list[Document]) -> None:
    check_format(FORMAT, documents)
