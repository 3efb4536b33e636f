"""Sentences: hard cases, passages, properties, speed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text.hard_sentences import HELD_OUT, TUNED, parts

from biomux.document import Document, Passage, Range
from biomux.text import sentences

ANY = st.text(alphabet=st.characters(exclude_categories=()))
"""Any text, lone surrogates included."""
PIECES = """
Fig. e.g. The the We p53 α-syn 5 .05 (A) ) ( [1] ? ! ... . , - • METHODS: E. coli al. i.v. 1. A. No. 。 " U.S. etc.
"""
GAPS = ["\n", "\n\n", " ", "  ", "\r\n", "\t", "\f", "\u2028", "\u2029", "\x1c", "\xa0", " \n ", "\n \n"]
PROSE = st.lists(st.sampled_from([*PIECES.split(), *GAPS])).map(lambda pieces: " ".join(pieces).replace(" \n", "\n"))
"""Texts dense in what the rules look at."""
TEXTS = st.one_of(ANY, PROSE)


def mentions(text: str, ranges: list[Range] | tuple[Range, ...]) -> list[str]:
    return [text[start:end] for start, end in ranges]


def seconds(text: str) -> float:
    """Of this process, not of the clock: other work on the machine does not count."""
    start = time.process_time()
    sentences.split(text)
    return time.process_time() - start


@pytest.mark.parametrize("case", TUNED)
def test_a_hard_case_splits_where_its_bars_stand(case: str) -> None:
    text, expected = parts(case)
    assert mentions(text, sentences.split(text)) == expected


def test_nine_of_ten_unseen_hard_cases_split_where_their_bars_stand() -> None:
    right = 0
    for case in HELD_OUT:
        text, expected = parts(case)
        right += mentions(text, sentences.split(text)) == expected
    assert right / len(HELD_OUT) >= 0.9


def test_there_are_enough_hard_cases_and_none_twice() -> None:
    assert len(TUNED) + len(HELD_OUT) >= 220
    assert len({*TUNED, *HELD_OUT}) == len(TUNED) + len(HELD_OUT)


@pytest.mark.parametrize("blank", ["", " ", "\n", "\n \n\t", "\u2029", "\x1c\x1f"])
def test_blank_text_has_no_sentences(blank: str) -> None:
    assert sentences.split(blank) == []


def test_sentences_that_a_document_has_are_kept() -> None:
    assert sentences.of(Document("1", "One. Two.", sentences=((0, 9),))) == ((0, 9),)
    assert sentences.of(Document("1", "One. Two.", sentences=())) == ()


def test_a_sentence_never_crosses_the_edge_of_a_passage() -> None:
    text = "Asthma in children We asked 50 nurses. Ten answered. The end"
    document = Document(
        "1", text, passages=(Passage(0, 18, "title"), Passage(18, 18, "empty"), Passage(19, 52, "abstract"))
    )
    assert mentions(text, sentences.of(document)) == [
        "Asthma in children",
        "We asked 50 nurses.",
        "Ten answered.",
        "The end",
    ]


def test_a_passage_is_split_as_if_it_stood_alone() -> None:
    text = "Growth in E. coli is slow"
    document = Document("1", text, passages=(Passage(0, 12, "title"), Passage(12, len(text), "abstract")))
    assert mentions(text, sentences.of(document)) == ["Growth in E.", "coli is slow"]


@given(TEXTS)
def test_sentences_are_in_order_and_cover_all_but_white_space(text: str) -> None:
    position = 0
    for start, end in sentences.split(text):
        assert text[position:start].strip() == ""
        assert start < end
        assert text[start:end] == text[start:end].strip()
        position = end
    assert text[position:].strip() == ""


@given(TEXTS, TEXTS)
def test_a_new_paragraph_leaves_the_sentences_before_it_as_they_are(text: str, more: str) -> None:
    before = sentences.split(text)
    joined = text + "\n\n" + more
    assert sentences.split(joined)[: len(before)] == before
    assert all("\n\n" not in sentence for sentence in mentions(joined, sentences.split(joined)))


@given(TEXTS, TEXTS)
def test_sentences_of_a_document_lie_within_its_passages(left: str, right: str) -> None:
    text = left + right
    document = Document("1", text, passages=(Passage(0, len(left), "title"), Passage(len(left), len(text), "abstract")))
    shifted = [(start + len(left), end + len(left)) for start, end in sentences.split(right)]
    assert list(sentences.of(document)) == sentences.split(left) + shifted


@pytest.mark.parametrize("case", [*TUNED, *HELD_OUT])
def test_a_sentence_on_one_line_split_again_is_itself(case: str) -> None:
    """Wrapped lines are left out: their margin is seen only beside their neighbours."""
    text, _ = parts(case)
    for sentence in mentions(text, sentences.split(text)):
        if "\n" not in sentence:
            assert sentences.split(sentence) == [(0, len(sentence))]


@settings(deadline=None, max_examples=25)
@given(st.text(alphabet=".?! \n\r()[]\"'aA1,-•…。", min_size=1, max_size=6))
def test_time_is_linear_whatever_is_repeated(unit: str) -> None:
    assert seconds(unit * (30_000 // len(unit))) < 4.0


@pytest.mark.parametrize(
    "text", ["." * 10**6, "a." + " " * 10**6 + "b", "a\n" + " " * 10**6 + "b", "x" * 10**6, ".)" * 10**5]
)
def test_long_runs_take_no_long_time(text: str) -> None:
    assert seconds(text) < 2.0


@pytest.mark.parametrize(
    "text",
    [
        "Three arms were planned... only two were run.",
        "Three arms were planned\u2026 only two were run.",
        "One, two,... Three were run.",
        "One, two ... Three were run.",
    ],
)
def test_an_ellipsis_goes_on_before_a_small_letter_and_after_a_comma_or_space(text: str) -> None:
    assert len(sentences.split(text)) == 1


@pytest.mark.parametrize("text", ["Three were planned... Two were run.", "Three were planned\u2026 (Two were run.)"])
def test_an_ellipsis_ends_a_sentence_before_a_capital_or_a_bracket(text: str) -> None:
    assert len(sentences.split(text)) == 2


def test_what_follows_a_stop_is_looked_for_behind_any_white_space() -> None:
    text = f"aspirin was given.{' ' * 60}Zolmide was not."
    assert mentions(text, sentences.split(text)) == ["aspirin was given.", "Zolmide was not."]
