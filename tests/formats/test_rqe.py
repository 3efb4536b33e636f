"""RQE XML."""

from __future__ import annotations

import pytest

from biomux import formats
from biomux.document import Document, Label
from biomux.errors import FormatError
from biomux.formats import of_bytes
from biomux.formats._conformance import check_reader
from biomux.formats.rqe import FORMAT, read

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


def test_it_is_recognised() -> None:
    assert formats.guess(of_bytes("a.xml", XML.encode())).name == "rqe"


def test_it_keeps_the_promises_of_a_reader() -> None:
    check_reader(FORMAT, {"a.xml": XML.encode()})
