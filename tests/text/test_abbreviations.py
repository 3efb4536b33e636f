"""Abbreviations: definitions found, types carried."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Document, Passage, Span
from biomux.text import abbreviations

PAIRS: list[tuple[str, list[tuple[str, str]]]] = [
    ("Tumor necrosis factor (TNF) was high.", [("TNF", "Tumor necrosis factor")]),
    ("We gave tumour necrosis factor-α (TNF-α; Sigma).", [("TNF-α", "tumour necrosis factor-α")]),
    ("Tumor necrosis factor ( TNF ) was high.", [("TNF", "Tumor necrosis factor")]),
    ('Tumor necrosis factor ( "TNF" ) was high.', [("TNF", "Tumor necrosis factor")]),
    ("Patients with multiple sclerosis (MS) were seen.", [("MS", "multiple sclerosis")]),
    ("The heat shock transcription factor (HSF) binds.", [("HSF", "heat shock transcription factor")]),
    ("Levels of 5-hydroxytryptamine (5-HT) fell.", [("5-HT", "5-hydroxytryptamine")]),
    ("MS (multiple sclerosis) is common.", [("MS", "multiple sclerosis")]),
    ("The BBB (blood-brain barrier) was open.", [("BBB", "blood-brain barrier")]),
    ("Magnetic resonance imaging (MRI, 3 T) was done.", [("MRI", "Magnetic resonance imaging")]),
    (
        "Acute lung injury (ALI) and acute respiratory distress syndrome (ARDS) kill.",
        [("ALI", "Acute lung injury"), ("ARDS", "acute respiratory distress syndrome")],
    ),
    ("Polymerase chain reaction [PCR] was used.", []),
    ("The drug (aspirin) was given (twice).", []),
    ("Ten patients (50%) died (P < 0.05).", []),
    ("The mean (SD) age was 50.", []),
    ("It was so. (SO) is not defined by the sentence before.", []),
    ("The gene (X) was found.", []),
    ("Growth (see Fig. 2A) was slow.", []),
    ("HIV (HIV) is not its own long form.", []),
    ("The interleukin 2 (IL-2) receptor was cut.", [("IL-2", "interleukin 2")]),
    (
        "They had systemic (“lupus”) disease, systemic lupus erythematosus (“SLE”).",
        [("SLE", "systemic lupus erythematosus")],
    ),
    ("", []),
    ("(", []),
    ("()", []),
    ("(AB)", []),
]


@pytest.mark.parametrize(("text", "expected"), PAIRS)
def test_definitions_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    found = abbreviations.find(text)
    assert [(text[slice(*pair.short)], text[slice(*pair.long)]) for pair in found] == expected


def test_a_long_form_has_at_most_twice_as_many_words_as_its_short_form_has_letters() -> None:
    assert abbreviations.find("Many of the very old and quite sick (MS) died.") == []


@given(st.text(alphabet="abAB12 ()-,;.α", max_size=60))
def test_any_text_gives_pairs_within_it(text: str) -> None:
    for pair in abbreviations.find(text):
        assert 2 <= pair.short[1] - pair.short[0] <= 10
        assert pair.short[1] <= pair.long[0] or pair.long[1] <= pair.short[0]


def test_a_megabyte_of_parentheses_takes_no_long_time() -> None:
    start = time.process_time()
    for text in ("(" * 10**5, "(ab)" * 10**4, "ab (ab " * 10**4, ")" * 10**5):
        abbreviations.find(text)
    assert time.process_time() - start < 5


def gene(text: str, mention: str, type: str = "gene", **more: object) -> Span:
    start = text.index(mention)
    return Span(start, start + len(mention), type, **more)  # type: ignore[arg-type]


def tagged(document: Document) -> list[tuple[str, str, bool]]:
    return [(document.mention(span), span.type, span.extra.get("from") == "abbreviation") for span in document.spans]


def test_a_type_carries_to_every_later_short_form() -> None:
    text = "TNF is old. Tumor necrosis factor (TNF) was high. TNF-induced death needs TNF, not TNFR or TNF-alpha."
    source = gene(text, "Tumor necrosis factor", score=0.9, head="genes", identifiers=("7124",), id="T1")
    carried = abbreviations.carry(Document("1", text, spans=(source,)))
    new = [span for span in carried.spans if span.extra]
    assert [span.start for span in new] == [35, 50, 74]
    assert all(carried.mention(span) == "TNF" for span in new)
    assert {(span.score, span.head, span.identifiers, span.id) for span in new} == {(0.9, "genes", ("7124",), None)}
    assert carried.spans[0] == source


def test_a_definition_says_more_than_a_vote() -> None:
    text = "Androgen receptor (AR) binds. AR moves."
    voted = Span(30, 32, "gene", score=0.4, extra={"from": "consistency"})
    carried = abbreviations.carry(Document("1", text, spans=(gene(text, "Androgen receptor", score=0.9), voted)))
    assert [(span.start, span.score, span.extra) for span in carried.spans[1:]] == [
        (19, 0.9, {"from": "abbreviation"}),
        (30, 0.9, {"from": "abbreviation"}),
    ]
    both = Document(
        "1", text, spans=(gene(text, "Androgen receptor"), voted, Span(30, 32, "gene", score=0.6, head="b"))
    )
    assert [span.score for span in abbreviations.carry(both).spans[2:]] == [0.4, 0.6]


def test_a_span_of_the_type_stays_and_one_of_another_type_does_not_hinder() -> None:
    text = "Androgen receptor (AR) binds. AR moves. AR stays."
    spans = (gene(text, "Androgen receptor"), Span(30, 32, "gene", score=0.1), Span(40, 42, "disease"))
    assert tagged(abbreviations.carry(Document("1", text, spans=spans))) == [
        ("Androgen receptor", "gene", False),
        ("AR", "gene", True),
        ("AR", "gene", False),
        ("AR", "disease", False),
        ("AR", "gene", True),
    ]


def test_a_longer_span_that_ends_with_the_long_form_counts_and_a_shorter_does_not() -> None:
    text = "Human androgen receptor (AR) binds."
    assert len(abbreviations.carry(Document("1", text, spans=(gene(text, "Human androgen receptor"),))).spans) == 2
    assert len(abbreviations.carry(Document("1", text, spans=(gene(text, "receptor"),))).spans) == 1


def test_a_new_definition_holds_from_where_it_stands() -> None:
    text = "Multiple sclerosis (MS) hurts. MS is slow. Mass spectrometry (MS) is not. MS costs."
    carried = abbreviations.carry(Document("1", text, spans=(gene(text, "Multiple sclerosis", "disease"),)))
    assert [span.start for span in carried.spans] == [0, 20, 31]


def test_two_types_of_one_long_form_both_carry_but_each_once() -> None:
    text = "Androgen receptor (AR) binds."
    spans = tuple(Span(0, 17, name, head=head) for name, head in (("gene", "a"), ("protein", "a"), ("gene", "b")))
    carried = abbreviations.carry(Document("1", text, spans=spans))
    assert [(span.type, span.head) for span in carried.spans if span.extra] == [("gene", "a"), ("protein", "a")]


def test_a_document_without_definitions_comes_back_as_it_is() -> None:
    document = Document("1", "TNF is high.", spans=(Span(0, 3, "gene"),))
    assert abbreviations.carry(document) is document
    assert abbreviations.carry(Document("1", "Androgen receptor (AR) binds.")).spans == ()


def test_a_definition_does_not_reach_over_a_passage() -> None:
    text = "On androgen receptor (AR) binding"
    document = Document(
        "1",
        text,
        passages=(Passage(0, 20, "title"), Passage(20, len(text), "abstract")),
        spans=(gene(text, "androgen receptor"),),
    )
    assert abbreviations.carry(document) is document
