"""XML is read in a stream, expands nothing, and says where it breaks."""

from __future__ import annotations

import gzip
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import XML_TEXT
from streams import endless

from biomux import formats
from biomux.errors import FormatError
from biomux.formats import of_bytes
from biomux.formats._xml import MAX_TEXT, attribute, characters, elements, escape


def texts(data: bytes, *tags: str) -> list[str]:
    return [characters(element) for element in elements(of_bytes("a.xml", data), *tags)]


def bomb() -> bytes:
    entities = b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 30))
    return b'<!DOCTYPE r [<!ENTITY a0 "ha">' + entities + b']><r><a b="&a29;">&a29;</a></r>'


def test_elements_come_as_they_are_read_and_those_that_came_are_freed() -> None:
    source = endless("a.xml", b"<r>", b"<box><a>" + b"x" * 1000 + b"</a><b/></box>\n")
    for element in islice(elements(source, "a"), 5_000):
        last = element
    left = sum(1 for _ in last.getroottree().getroot().iter())
    assert left < 500


def test_tags_may_be_of_any_namespace() -> None:
    data = b'<r xmlns="u:1"><a>1</a><b xmlns="u:2"><a>2</a></b></r>'
    assert texts(data, "{*}a") == ["1", "2"]
    assert texts(data, "{u:1}a") == ["1"]
    assert texts(data, "a") == []


def test_a_doctype_alone_is_accepted_and_not_fetched() -> None:
    data = b'<!DOCTYPE r PUBLIC "-//NLM//DTD X//EN" "https://dtd.invalid/x.dtd"><r><a>1</a></r>'
    assert texts(data, "a") == ["1"]


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (bomb(), "BX118", "declares entities"),
        (b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r><a>&x;</a></r>', "BX118", "declares entities"),
        (b'<!DOCTYPE r [<!ENTITY % x SYSTEM "http://x.invalid/">%x;]><r><a/></r>', "BX118", "declares entities"),
        (b'<!DOCTYPE r SYSTEM "x.dtd"><r><a>&nbsp;</a></r>', "BX118", "&nbsp;"),
        (b"<r>\n<a>&nbsp;</a></r>", "BX117", "nbsp"),
        (b"", "BX117", "not well-formed"),
        (b"<r><a>1</a>\n<a>2", "BX117", "Premature end"),
        (b"<r><a></b></r>", "BX117", "mismatch"),
        (b"<r>\xff</r>", "BX111", "encoding"),
        (b'<?xml version="1.0" encoding="klingon"?><r/>', "BX111", "klingon"),
        (b"<a>" * 5000, "BX117", "depth"),
        (b"<r>" + b"x" * (MAX_TEXT + 10) + b"</r>", "BX117", "too long"),
        (gzip.compress(b"<r><a>1</a></r>" * 20, mtime=0)[:-10], "BX112", "damaged"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_sentence(data: bytes, code: str, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        texts(data, "a", "r")
    assert caught.value.code == code
    assert says in caught.value.message
    assert (caught.value.where or "").startswith("a.xml")


def test_the_line_of_an_error_is_named() -> None:
    with pytest.raises(FormatError) as caught:
        texts(b"<r>\n<a>1</a>\n<a>&nope;</a>\n</r>", "a")
    assert caught.value.where == "a.xml:3"


@given(XML_TEXT)
def test_escaped_text_comes_back_to_the_character(text: str) -> None:
    data = f'<r><a b="{attribute(text, where="")}">{escape(text, where="")}</a></r>'.encode()
    for element in elements(of_bytes("a.xml", data), "a"):
        assert (element.text or "", element.get("b")) == (text, text)


@given(st.sampled_from(["\0", "\x0b", "\x1f", "\ud800", "\ufffe", "\uffff"]))
def test_what_xml_cannot_hold_is_refused(character: str) -> None:
    for write in (escape, attribute):
        with pytest.raises(FormatError) as caught:
            write(f"ab{character}", where="document '1'")
        assert caught.value.code == "BX120"
        assert f"U+{ord(character):04X} at 2" in caught.value.message


def test_a_text_too_long_for_parsers_is_not_written() -> None:
    with pytest.raises(FormatError, match="longer than"):
        escape("ä" * (MAX_TEXT // 2 + 1), where="document '1'")


@pytest.mark.parametrize("name", ["bioc-xml", "medline", "jats", "rqe", "ddi"])
def test_xml_of_another_format_is_not_an_empty_file(name: str) -> None:
    source = of_bytes("a.xml", b"<html>\n<body>hello</body></html>")
    with pytest.raises(FormatError) as caught:
        list(formats.read_source(source, format=name))
    assert caught.value.code == "BX113"
    assert (caught.value.where or "").startswith("a.xml")


def test_a_document_of_another_format_is_not_an_empty_document_of_bioc() -> None:
    source = of_bytes("a.xml", b'<document id="d1"><sentence id="d1.s0" text="Aspirin."/></document>')
    with pytest.raises(FormatError, match=r"BX116: .*neither an id nor a passage"):
        list(formats.read_source(source, format="bioc-xml"))
