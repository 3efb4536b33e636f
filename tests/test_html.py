"""A document as HTML: the text is all there, each entity is marked where it is, and nothing comes from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from io import BytesIO
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from strategies import documents

import biomux
from biomux import Answer, Argument, Document, Label, Question, Relation, Span, cli, formats
from biomux.document import html

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from biomux.formats import Loss

VOID = {"meta", "input", "br"}
TEXT = "Warfarin of breast cancer 1 gene"
OVERLAPPING = Document(
    "1",
    TEXT,
    spans=(Span(0, 8, "chemical", 0.5, "h"), Span(12, 25, "disease"), Span(12, 32, "gene"), Span(19, 27, "x")),
)


class Page(HTMLParser):
    """What stands in the first `div` of class `text`, and by whose marks each character is covered."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, str]] = []
        self.text = ""
        self.covered: list[frozenset[str]] = []
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "action", "data", "poster"}]
        if tag not in VOID:
            self.open.append((tag, given.get("class") or ""))
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self.open]
        if ("div", "text") in self.open and "small" not in tags and "h3" not in tags:
            self.text += data
            marks = frozenset(name.split()[0] for tag, name in self.open if tag == "mark")
            self.covered += [marks] * len(data)
        elif {"td", "th"} & set(tags):
            self.rows[-1][-1] += data


def shown(text: str) -> str:
    return html.UNSHOWN.sub("?", text)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(document=documents())
def test_the_text_is_whole_and_each_entity_is_marked_where_it_is(document: Document) -> None:
    for made in (document.to_html(), document._repr_html_()):
        page = Page(made)
        # A parser makes one line end of all kinds, and Python's leaves them as they are.
        text = page.text[: len(document.text)]
        assert len(page.text) == len(document.text) + len(document.pair or "")
        assert [a == b or html.UNSHOWN.match(b) is not None for a, b in zip(text, document.text, strict=True)].count(
            False
        ) == 0
        types = html.Types()
        for span in document.spans:
            types.css_class(span.type)
        expected = [
            frozenset(
                types.css_class(span.type) for span in document.spans if any(a <= place < b for a, b in span.ranges)
            )
            for place in range(len(document.text))
        ]
        assert page.covered[: len(document.text)] == expected
        assert page.links == []


def test_overlapping_entities_have_lines_of_their_own() -> None:
    page = OVERLAPPING.to_html()
    lanes = dict(re.findall(r'<mark class="(t\w+) (l\d)"', page))
    assert sorted(lanes.values()) == ["l0", "l0", "l1", "l2"]


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = Document(
        '<script>alert("1")</script>', '"><img src=x onerror=alert(1)>', spans=(Span(0, 5, "</style>x"),)
    ).to_html()
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1
    assert not re.findall(r"url\(|@import|https?://", page)
    assert "default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;" in page


def test_relations_labels_and_answers_are_listed() -> None:
    document = Document(
        "1",
        "Warfarin and aspirin",
        spans=(Span(0, 8, "chemical", id="T1"), Span(13, 20, "chemical", id="T2", identifiers=("mesh:D001241",))),
        relations=(Relation("interaction", (Argument("first", "T1"), Argument("second", "T2")), 0.93, "ddi"),),
        labels=(Label("risk", score=0.75), Label("similarity", value=3.5)),
        questions=(Question("q", "Which?", (Answer("Warfarin", 0, 8),)), Question("r", "Why?", impossible=True)),
        pair="Both thin the blood.",
    )
    page = Page(document.to_html())
    assert ["interaction", "first: Warfarin; second: aspirin", "0.93", "ddi"] in page.rows
    assert ["risk", "", "0.75"] in page.rows
    assert ["similarity", "3.5", ""] in page.rows
    assert ["Which?", "Warfarin"] in page.rows
    assert ["Why?", "none"] in page.rows
    assert ["chemical", "aspirin", "13–20", "", "", "mesh:D001241"] in page.rows
    assert "Both thin the blood." in page.text


def test_types_are_counted_above_all_documents_and_can_be_switched_off() -> None:
    page = html.page([OVERLAPPING, Document("2", "TP53", spans=(Span(0, 4, "gene"),))])
    number = re.search(r'<input type="checkbox" id="(t\w+)" checked> gene <span>2</span>', page)
    assert number is not None
    assert f"body:has(#{number[1]}:not(:checked)) :is(small.{number[1]}, tr.{number[1]})" in page
    assert "<p>2 documents, 5 entities</p>" in page


def test_signs_that_browsers_do_not_show_are_replaced_and_told() -> None:
    losses: list[Loss] = []
    stream = BytesIO()
    formats.get("html").write([Document("1", "a\x00b\u202ec\x0c\t\n")], stream, on_loss=losses.append)  # type: ignore[misc]
    assert "a\u2400b\ufffdc\u240c\t\n" in stream.getvalue().decode()
    assert [(loss.feature, loss.count) for loss in losses] == [("text", 3)]


def test_a_notebook_shows_a_document() -> None:
    shown = OVERLAPPING._repr_html_()
    assert shown.startswith('<div class="biomux">')
    assert "<html" not in shown


def test_cells_of_a_notebook_do_not_change_each_others_colours() -> None:
    first, second = (Document("1", "TP53", spans=(Span(0, 4, name),))._repr_html_() for name in ("gene", "disease"))
    rules = [set(re.findall(r"^\.(t\w+) \{ --c: (#\w+)", one, re.MULTILINE)) for one in (first, second)]
    assert len(rules[0]) == len(rules[1]) == 1
    assert not {name for name, _ in rules[0]} & {name for name, _ in rules[1]}


def test_the_command_writes_a_page(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.run(["annotate", "Aspirin inhibits COX-2.", "--format", "html"]) == 0
    printed = capsysbinary.readouterr().out.decode()
    assert Page(printed).text == "Aspirin inhibits COX-2."
    assert cli.run(["annotate", "Aspirin inhibits COX-2.", "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == printed
    assert cli.run(["convert", str(tmp_path / "page.html"), str(tmp_path / "x.jsonl"), "--from", "html"]) == 2
    assert b"HTML can only be written" in capsysbinary.readouterr().err


def test_a_written_page_is_that_of_the_documents(tmp_path: Path) -> None:
    biomux.write([OVERLAPPING], tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == html.page([OVERLAPPING])
