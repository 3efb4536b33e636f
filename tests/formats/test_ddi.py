"""DDI corpus XML."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from biomux import formats
from biomux.document import Argument, Document
from biomux.errors import FormatError, UsageError
from biomux.formats import of_bytes
from biomux.formats._conformance import check_reader
from biomux.formats.ddi import FORMAT, read

if TYPE_CHECKING:
    from pathlib import Path

XML = """<?xml version="1.0" encoding="UTF-8"?>
<document id="d1">
  <sentence id="d1.s0" text="Aspirin &amp; α-blockers raise warfarin.&#xd;&#xa;">
    <entity id="d1.s0.e0" charOffset="0-6" type="drug" text="Aspirin"/>
    <entity id="d1.s0.e1" charOffset="27-34" type="drug" text="warfarin"/>
    <pair id="d1.s0.p0" e1="d1.s0.e0" e2="d1.s0.e1" ddi="true" type="effect"/>
  </sentence>
  <sentence id="d1.s1" text=""/>
  <sentence id="d1.s2" text="mu- or delta-opioids, and kaolin.">
    <entity id="d1.s2.e0" charOffset="0-2;13-19" type="group" text="mu-opioids"/>
    <entity id="d1.s2.e1" charOffset="26-31" type="drug" text="kaolin"/>
    <pair id="d1.s2.p0" e1="d1.s2.e0" e2="d1.s2.e1" ddi="true"/>
    <pair id="d1.s2.p1" e1="d1.s2.e1" e2="d1.s2.e0" ddi="false"/>
  </sentence>
</document>
"""


def one(xml: str, **options: Any) -> Document:
    (document,) = read(of_bytes("a.xml", xml.encode()), **options)
    return document


def test_sentences_keep_their_line_ends_and_offsets_are_exact() -> None:
    document = one(XML)
    first, second = "Aspirin & α-blockers raise warfarin.\r\n", "mu- or delta-opioids, and kaolin."
    assert document.text == f"{first}\n\n{second}"
    assert document.sentences == ((0, len(first)), (len(first) + 2, len(document.text)))
    assert document.metadata == {"empty sentences": [1]}
    assert [document.mention(span) for span in document.spans] == ["Aspirin", "warfarin", "mu- opioids", "kaolin"]


def test_a_discontinuous_mention_whose_text_differs_in_blanks_is_accepted() -> None:
    span = one(XML).spans[2]
    assert span.fragments == ((40, 43), (53, 60))
    assert span.extra == {"text": "mu-opioids"}


def test_pairs_are_relations_positive_unspecified_or_none() -> None:
    relations = one(XML).relations
    assert [(relation.id, relation.type) for relation in relations] == [
        ("d1.s0.p0", "effect"),
        ("d1.s2.p0", "unspecified"),
        ("d1.s2.p1", "none"),
    ]
    assert relations[0].arguments == (Argument("e1", "d1.s0.e0"), Argument("e2", "d1.s0.e1"))


def test_an_entity_that_is_off_by_one_is_malformed_unless_it_is_to_be_kept() -> None:
    wrong = XML.replace('charOffset="27-34"', 'charOffset="26-33"')
    with pytest.raises(FormatError, match=r"BX115: a.xml:5 \(entity 'd1.s0.e1'\): the entity's text is 'warfarin'"):
        one(wrong)
    kept = one(wrong, mismatch="keep").spans[1]
    assert (kept.start, kept.end, kept.extra) == (26, 34, {"text": "warfarin"})
    with pytest.raises(UsageError, match="BX001"):
        one(XML, mismatch="ignore")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('charOffset="0-6"', 'charOffset="0-60"', "BX114: a.xml:4 (entity 'd1.s0.e0'): charOffset '0-60'"),
        (
            'charOffset="0-6"',
            'charOffset="0"',
            "BX113: a.xml:4 (entity 'd1.s0.e0'): charOffset must look like 0-6 or 0-6;10-12, got '0'",
        ),
        ('charOffset="0-6" ', "", "BX116: a.xml:4 (entity 'd1.s0.e0'): <entity> has no 'charOffset'"),
        ('charOffset="0-2;13-19"', 'charOffset="0-13;13-19"', "BX114: a.xml:10"),
        (
            'e1="d1.s0.e0"',
            'e1="d1.s9.e0"',
            "BX113: a.xml:2 (document 'd1'): relation 'effect' points at span 'd1.s9.e0'",
        ),
        ('ddi="false"', 'ddi="no"', "BX113: a.xml:13 (pair 'd1.s2.p1'): ddi must be true or false, got 'no'"),
        ('<document id="d1">', "<document>", "BX116: a.xml:2: <document> has no 'id'"),
        ('<sentence id="d1.s1" text=""/>', '<sentence id="d1.s1"/>', "BX116: a.xml:8: <sentence> has no 'text'"),
        ("</document>", "", "BX117: a.xml"),
        ("document", "article", "BX113: a.xml: there is no <document> in the file"),
        ("<document id", '<!DOCTYPE d [<!ENTITY e "x">]><document id', "BX118: a.xml"),
    ],
)
def test_malformed_xml_is_told_in_one_sentence(old: str, new: str, message: str) -> None:
    with pytest.raises(FormatError) as told:
        one(XML.replace(old, new))
    assert str(told.value).startswith(message)
    assert "\n" not in str(told.value)


def test_members_of_an_archive_are_read_and_leftovers_are_not(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ddi.zip", "w") as archive:
        archive.writestr("Corpus/Test for DDI/a.xml", XML)
        archive.writestr("Corpus/.DS_Store", b"\0")
    (document,) = formats.read(tmp_path / "ddi.zip")
    assert document.id == "d1"


def test_it_keeps_the_promises_of_a_reader() -> None:
    check_reader(FORMAT, {"d1.xml": XML.encode()})
