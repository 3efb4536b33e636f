"""Annotated text for people: labels under their mentions in any window, brackets in plain text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from biomux.cli.ui import render
from biomux.document import Document, Span, colours

TEXT = "mutations of breast cancer 1 gene in mice"
SPANS = (Span(13, 26, "disease"), Span(13, 33, "gene"), Span(37, 41, "species"))


def drawn(document: Document, width: int) -> list[str]:
    return [line.rstrip() for line in render.coloured(document, width=width).plain.rstrip("\n").split("\n")]


def test_labels_stand_under_their_mentions_and_overlaps_below_each_other() -> None:
    assert drawn(Document("1", TEXT, spans=SPANS), 80) == [
        "mutations of breast cancer 1 gene in mice",
        "             disease──────           species",
        "             gene────────────────",
    ]


def test_in_a_narrow_window_a_mention_goes_on_in_the_next_line() -> None:
    assert drawn(Document("1", TEXT, spans=SPANS), 22) == [
        "mutations of breast",
        "             disease",
        "             gene──",
        "cancer 1 gene in mice",
        "──────         species",
        "─────────────",
    ]


def test_a_label_at_the_right_edge_is_moved_to_fit() -> None:
    document = Document("1", "the old mice", spans=(Span(8, 12, "species"),))
    assert drawn(document, 12) == ["the old mice", "     species"]


def test_a_label_longer_than_the_window_is_cut() -> None:
    document = Document("1", "mitochondria", spans=(Span(0, 12, "cellular component"),))
    assert drawn(document, 12) == ["mitochondria", "cellular co…"]


def test_labels_do_not_touch() -> None:
    document = Document("1", "IL2 B p53", spans=(Span(0, 3, "gene"), Span(4, 5, "cell"), Span(6, 9, "gene")))
    assert drawn(document, 40) == ["IL2 B p53", "gene  gene", "    cell"]


def test_wide_characters_take_two_columns() -> None:
    document = Document("1", "\u75c5\u6c17 fever", spans=(Span(3, 8, "disease"),))
    assert drawn(document, 40)[1] == "     disease"


def test_the_same_said_by_two_heads_is_one_label() -> None:
    document = Document("1", "fever", spans=(Span(0, 5, "Disease", head="a"), Span(0, 5, "Disease", head="b")))
    assert drawn(document, 40) == ["fever", "Disease ×2"]


def test_lines_and_paragraphs_stay() -> None:
    assert drawn(Document("1", "one\n\ntwo three"), 5) == ["one", "", "two", "three"]


def test_control_characters_are_shown_and_not_obeyed() -> None:
    document = Document("1", "a\x1b[31mb\x00\t\x7f\u202e", spans=(Span(0, 1, "x\x1by"),))
    shown = render.coloured(document, width=40).plain
    assert "\x1b" not in shown + render.plain(document)
    assert "␛[31mb␀ ␡\ufffd" in shown


def test_text_from_right_to_left_gets_brackets() -> None:
    document = Document("1", "\u05e9\u05dc\u05d5\u05dd fever", spans=(Span(5, 10, "disease"),))
    assert drawn(document, 40) == ["\u05e9\u05dc\u05d5\u05dd [fever|disease]"]


def test_brackets_nest_and_cross() -> None:
    assert render.plain(Document("1", TEXT, spans=SPANS)) == (
        "mutations of [[breast cancer|disease] 1 gene|gene] in [mice|species]"
    )
    crossing = Document("1", "abc", spans=(Span(0, 2, "x"), Span(1, 3, "y")))
    assert render.plain(crossing) == "[a[b|x]c|y]"


alphabet = st.sampled_from("ab \n\t-\u75c5\u0301\U0001f9ec\x00")


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(alphabet, min_size=1, max_size=60))
    ends = st.integers(0, len(text) - 1)
    pairs = draw(st.lists(st.tuples(ends, ends, st.sampled_from(["gene", "cell type", "x"])), max_size=6))
    return Document("1", text, spans=tuple(Span(min(a, b), max(a, b) + 1, type_) for a, b, type_ in pairs))


@settings(max_examples=80, deadline=None)
@given(documents(), st.integers(4, 30))
def test_nothing_is_wider_than_the_window_and_no_word_is_lost(document: Document, width: int) -> None:
    lines = drawn(document, width)
    assert all(cell_len(line) <= width for line in lines)
    ranges = list(render.wrapped(document.text, width))
    kept = "".join(document.text[start:end] for start, end in ranges)
    assert re.sub(r"\s", "", kept) == re.sub(r"\s", "", document.text)


@settings(max_examples=80, deadline=None)
@given(documents())
def test_without_its_brackets_plain_text_is_the_text(document: Document) -> None:
    shown = render.plain(document)
    assert re.sub(r"\[|\|(gene|cell type|x)\]", "", shown) == render.visible(document.text)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colour", sorted({*colours.COLOURS.values(), *colours.OTHERS}))
def test_a_colour_can_be_read_on_black_and_on_white(colour: str) -> None:
    light = luminance(colour)
    assert 1.05 / (light + 0.05) >= 3
    assert (light + 0.05) / 0.05 >= 3


def test_a_type_always_has_the_same_colour() -> None:
    assert colours.colour("cell_line") == colours.colour("Cell line") == colours.COLOURS["cell line"]
    assert colours.colour("Regulon-operon") == colours.colour("Regulon-operon")
