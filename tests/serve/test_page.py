"""The page in a real browser: what is found is marked, by mouse, by keyboard and for screen readers; nothing comes from elsewhere."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browsing
import pytest
from serving import Client, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(browsing.missing() is not None, reason=browsing.missing() or "")

TEXT = "Germline BRCA1 mutations predispose to breast cancer. 🧬 TP53 <b>in</b> mice."
MEDLINE = """<?xml version="1.0"?><PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>12</PMID><Article><ArticleTitle>Aspirin in mice.</ArticleTitle>
</Article></MedlineCitation></PubmedArticle><PubmedArticle><MedlineCitation><PMID>13</PMID><Article><ArticleTitle>TP53 in cancer.</ArticleTitle>
</Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"""
RELATED: dict[str, Any] = {
    "id": "text",
    "text": "Aspirin inhibits COX-2.",
    "spans": [
        {"start": 0, "end": 7, "type": "chemical", "score": 0.9, "head": "a", "id": "T1"},
        {"start": 17, "end": 22, "type": "gene", "score": 0.8, "head": "b", "id": "T2"},
    ],
    "relations": [
        {
            "type": "inhibits",
            "arguments": [{"role": "agent", "target": "T1"}, {"role": "target", "target": "T2"}],
            "score": 0.7,
            "head": "r",
        }
    ],
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(queue_tokens=4_000) as (client, _):
        yield client


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browsing.browser() as running:
        yield running


@pytest.fixture
def page(chromium: Any, client: Client) -> Iterator[Any]:
    """The page, opened; at its end no error was written and nothing was asked of another host."""
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    trouble: list[str] = []
    asked: list[str] = []
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("console", lambda line: trouble.append(line.text) if "Content Security" in line.text else None)
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(f"http://127.0.0.1:{client.port}/")
    until(opened, "document.getElementById('model').textContent.includes('model default')")
    yield opened
    context.close()
    assert not trouble
    assert all(url.startswith((f"http://127.0.0.1:{client.port}/", "data:", "blob:")) for url in asked)


def until(page: Any, expression: str) -> None:
    """Wait for something to be true in the page. (playwright's own waiting needs `eval`, which the page forbids.)"""
    end = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)


def annotate(page: Any, text: str = TEXT) -> None:
    page.evaluate("text => { document.getElementById('text').value = text; }", text)
    page.press("#text", "Control+Enter")
    until(page, "/entit/.test(document.getElementById('status').textContent)")


def answer_with(page: Any, *documents: dict[str, Any]) -> None:
    body = json.dumps({"documents": list(documents)})
    page.route("**/annotate", lambda route: route.fulfill(status=200, content_type="application/json", body=body))


def marked(page: Any) -> list[str]:
    return [text for text in page.locator("#marked .mark").all_inner_texts() if text]


def test_examples_are_annotated_with_a_click(page: Any) -> None:
    page.get_by_role("button", name="A drug and its target").click()
    page.wait_for_selector("#marked .mark")
    assert "Aspirin" in marked(page)
    assert page.text_content("#marked").strip() == page.input_value("#text")


def test_overlaps_have_an_underline_each_and_text_is_never_markup(page: Any) -> None:
    annotate(page)
    overlap = page.locator("#marked .mark", has_text="breast cancer").first
    assert overlap.evaluate("mark => getComputedStyle(mark).backgroundImage").count("repeating-linear-gradient") >= 2
    assert page.text_content("#marked") == TEXT
    assert page.locator("#marked b").count() == 0
    assert "TP53" in marked(page)  # after a character of two UTF-16 units


def test_pointing_at_a_mark_tells_type_score_and_head(page: Any) -> None:
    annotate(page)
    page.locator("#marked .mark", has_text="mice").hover()
    assert re.search(r"mice: species, score 0\.\d\d, head \w+", page.text_content("#details"))


def test_the_keyboard_goes_from_mark_to_mark(page: Any) -> None:
    annotate(page)
    page.focus("#marked")
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.textContent") == first != second
    assert first in page.text_content("#details")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(f"{first}: ")
    page.focus("#tab-marked")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-table"
    assert page.locator("#table").is_visible()


def test_types_are_switched_on_and_off_with_their_counts(page: Any) -> None:
    annotate(page)
    item = page.locator("#types li", has_text="species")
    assert re.match(r"species\s*1, precision 0\.\d\d", item.inner_text())
    item.locator("input").uncheck()
    assert "mice" not in marked(page)
    page.locator("#tab-table").click()
    assert "species" not in page.locator("#table").inner_text()


def test_the_slider_asks_again_and_shows_the_precision(page: Any) -> None:
    annotate(page)
    before = len(marked(page))
    with page.expect_request("**/annotate") as asked:
        page.locator("#score").fill("0.95")
    assert json.loads(asked.value.post_data)["threshold"] == 0.95
    until(page, f"document.querySelectorAll('#marked .mark').length < {before}")
    assert "precision on development data 0." in page.inner_text("#precision")
    assert not page.is_checked("#own")


def test_what_is_taken_away_is_what_the_service_writes(page: Any, client: Client, tmp_path: Path) -> None:
    annotate(page)
    for name in ("json", "tsv", "pubtator", "bioc-json", "bioc-xml"):
        page.select_option("#format", name)
        with page.expect_download() as saved:
            page.click("#download")
        assert Path(saved.value.path()).read_bytes() == client.annotate(text=TEXT, format=name).content
    page.select_option("#format", "json")
    page.click("#copy")
    until(page, "document.getElementById('status').textContent === 'Copied.'")
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == client.annotate(text=TEXT).json


def test_the_saved_page_shows_the_marks_without_a_script(page: Any, chromium: Any, tmp_path: Path) -> None:
    annotate(page)
    page.select_option("#format", "html")
    with page.expect_download() as saved:
        page.click("#download")
    content = Path(saved.value.path()).read_text(encoding="utf-8")
    assert "<script" not in content
    alone = chromium.new_page()
    alone.set_content(content)
    assert alone.text_content("main") == TEXT
    assert alone.locator(".mark").count() == len(page.locator("#marked .mark").all())
    alone.close()


def test_a_link_holds_the_settings_and_not_the_text(page: Any) -> None:
    annotate(page)
    page.locator("#types li", has_text="species").locator("input").uncheck()
    page.locator("#score").fill("0.3")
    page.check("#resolve")
    page.locator("#tab-table").click()
    page.click("#link")
    until(page, "location.hash.length > 1")
    assert page.evaluate("location.hash") == "#threshold=0.30&resolve=1&hide=species&view=table"
    page.reload()
    assert (page.input_value("#text"), page.input_value("#score")) == ("", "0.3")
    assert page.is_checked("#resolve")


def test_articles_of_pubmed_can_be_pasted_as_they_come(page: Any) -> None:
    annotate(page, MEDLINE)
    assert page.locator("#marked h3").all_inner_texts() == ["12", "13"]
    assert {"Aspirin", "TP53"} <= set(marked(page))


def test_relations_have_a_table_and_light_up_their_ends(page: Any) -> None:
    answer_with(page, RELATED)
    annotate(page, RELATED["text"])
    page.locator("#marked .mark", has_text="Aspirin").hover()
    assert "inhibits: Aspirin – COX-2" in page.text_content("#details")
    assert page.locator("#marked .related").inner_text() == "COX-2"
    page.locator("#tab-relations").click()
    assert page.locator("#relations tbody tr").inner_text().split("\t")[1:3] == [
        "inhibits",
        "agent: Aspirin, target: COX-2",
    ]


def test_an_error_is_told_with_its_code_and_way_out(page: Any) -> None:
    page.fill("#text", "aspirin " * 5_000)
    page.click("button.main")
    page.wait_for_selector("#error p")
    said = page.inner_text("#error")
    assert said.startswith("BX803 ")
    assert "send several smaller requests" in said


def test_nothing_found_is_told(page: Any) -> None:
    annotate(page, "The weather was fine.")
    assert "Nothing was found" in page.inner_text("#status")
    page.fill("#text", " ")
    page.click("button.main")
    assert page.inner_text("#status") == "Paste a text first, or choose an example."


def test_a_text_of_fifty_thousand_words_is_shown(page: Any) -> None:
    text = "Aspirin inhibits COX-2 in mice and men often\n" * 6_250
    spans = [
        {"start": line * 45 + start, "end": line * 45 + end, "type": kind, "score": 0.9, "head": "h"}
        for line in range(6_250)
        for start, end, kind in ((0, 7, "chemical"), (17, 22, "gene"))
    ]
    answer_with(page, {"id": "text", "text": text, "spans": spans})
    annotate(page, text)
    assert page.locator("#marked .mark").count() == 12_500
    assert page.text_content("#marked") == text
    page.locator("#types li", has_text="gene").locator("input").uncheck()
    assert page.locator("#marked .mark").count() == 6_250


@pytest.mark.parametrize("width", [320, 360, 768])
def test_nothing_is_wider_than_the_screen(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    annotate(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#tab-table").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["empty", "marked", "table", "relations", "error", "docs"])
def test_axe_finds_no_violation(chromium: Any, client: Client, scheme: str, view: str) -> None:
    source = browsing.axe()
    if source is None:
        pytest.skip("needs axe-core (npm install axe-core; BIOMUX_AXE=node_modules/axe-core/axe.min.js)")
    context = chromium.new_context(color_scheme=scheme, bypass_csp=True, viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{client.port}/{'docs' if view == 'docs' else ''}")
    if view in ("marked", "table"):
        annotate(page)
        page.locator(f"#tab-{view}").click()
    elif view == "relations":
        answer_with(page, RELATED)
        annotate(page, RELATED["text"])
        page.locator("#tab-relations").click()
    elif view == "error":
        page.fill("#text", "aspirin " * 5_000)
        page.click("button.main")
        page.wait_for_selector("#error p")
    page.evaluate(source)
    found = page.evaluate("axe.run()")
    context.close()
    assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]] == []
