"""Relations and classes as a list below the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from strategies import collections

from biomux.cli.ui import render_answers
from biomux.document import Argument, Document, Label, Relation, Span

TEXT = "Aspirin treats\nsevere fever. It is old."
SPANS = (Span(0, 7, "chemical", id="T1"), Span(15, 27, "disease", id="T2"))


def linked(*targets: str, type_: str = "treats", **options: object) -> Relation:
    return Relation(type_, tuple(Argument(f"Arg{n}", name) for n, name in enumerate(targets, 1)), **options)  # type: ignore[arg-type]


DOCUMENT = Document(
    "1",
    TEXT,
    spans=SPANS,
    relations=(linked("T1", "T2", score=0.976), linked("T2")),
    labels=(Label("yes", score=0.5, head="topic"), Label("Background", start=29, end=39), Label("age", value=3.25)),
)


def test_lines_without_colours() -> None:
    assert render_answers.plain(DOCUMENT) == [
        "treats: Aspirin -> severe fever (0.98)",
        "treats: severe fever",
        "topic: yes (0.50)",
        "class of 29..39: Background",
        "class: age (3.25)",
    ]


def test_lines_on_a_terminal() -> None:
    assert render_answers.coloured(DOCUMENT, width=60).plain.splitlines() == [
        "  Aspirin ─treats→ severe fever 0.98",
        "  treats: severe fever",
        "  topic: yes 0.50",
        "  Background It is old.",
        "  age 3.25",
    ]


def test_a_narrow_window_goes_on_farther_in() -> None:
    assert render_answers.coloured(DOCUMENT, width=24).plain.splitlines()[:3] == [
        "  Aspirin ─treats→",
        "    severe fever 0.98",
        "  treats: severe fever",
    ]


def test_line_ends_within_a_mention_do_not_break_the_list() -> None:
    document = Document(
        "1", "a\nb c", spans=(Span(0, 3, "x", id="1"), Span(4, 5, "x", id="2")), relations=(linked("1", "2"),)
    )
    assert render_answers.plain(document) == ["treats: a b -> c"]


@given(found=collections(), width=st.integers(10, 80))
def test_no_line_is_wider_than_the_window(found: list[Document], width: int) -> None:
    for document in found:
        shown = render_answers.coloured(document, width=width).plain
        assert all(cell_len(line) <= width for line in shown.split("\n"))
        lines = render_answers.plain(document)
        assert len(lines) == len(document.relations) + len(document.labels)
        assert not any("\n" in line for line in lines)


@pytest.mark.parametrize("document", [Document("1", ""), Document("1", TEXT, spans=SPANS)])
def test_nothing_is_shown_where_there_is_nothing(document: Document) -> None:
    assert render_answers.plain(document) == []
    assert not render_answers.coloured(document, width=60)
