"""Pictures of the service's page for docs/how-to/serve.md, and what the page costs: `python scripts/screenshots.py`. Needs Chromium and playwright."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import browsing  # noqa: E402
from serving import serving  # noqa: E402

FIGURES = ROOT / "docs" / "figures"
TEXT = "Germline BRCA1 and BRCA2 mutations predispose to breast cancer. Loss of TP53 in mammary epithelial cells of mice accelerated tumour growth."
RELATIONS = {
    "id": "text",
    "text": "Aspirin inhibits COX-2 and, in some patients, causes ulcers.",
    "spans": [
        {"start": 0, "end": 7, "type": "chemical", "score": 0.94, "head": "bc5cdr", "id": "T1"},
        {"start": 17, "end": 22, "type": "gene", "score": 0.98, "head": "bc2gm", "id": "T2"},
        {"start": 53, "end": 59, "type": "disease", "score": 0.91, "head": "bc5cdr", "id": "T3"},
    ],
    "relations": [
        {
            "type": "inhibits",
            "arguments": [{"role": "agent", "target": "T1"}, {"role": "target", "target": "T2"}],
            "score": 0.88,
        },
        {
            "type": "causes",
            "arguments": [{"role": "agent", "target": "T1"}, {"role": "target", "target": "T3"}],
            "score": 0.71,
        },
    ],
}
"""An invented answer: the bundle that comes with Biomux finds no relations."""


def main() -> int:
    """Take the pictures, print the figures."""
    if reason := browsing.missing():
        print(f"no pictures: {reason}", file=sys.stderr)
        return 1
    with serving(threads=None) as (client, _), browsing.browser() as chromium:
        address = f"http://127.0.0.1:{client.port}/"
        print(json.dumps(costs(chromium, address), indent=2))
        for name, settings in VIEWS.items():
            context = chromium.new_context(**{"viewport": {"width": 900, "height": 600}, **settings})
            page = context.new_page()
            page.goto(address)
            STEPS[name](page)
            page.screenshot(path=FIGURES / f"serve-{name}.png", full_page=True)
            context.close()
            print(FIGURES / f"serve-{name}.png")
    return 0


def costs(chromium: Any, address: str) -> dict[str, float]:
    """Bytes and requests of the empty page, and milliseconds until the first mark of a first visit; of a text of 50,000 words, until it is drawn."""
    page = chromium.new_page()
    sizes: list[int] = []
    page.on("response", lambda reply: sizes.append(len(reply.body())))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    found: dict[str, float] = {"requests": len(sizes), "bytes": sum(sizes)}
    page.evaluate("performance.mark('asked')")
    annotate(page, TEXT)
    took = "performance.measure('took', 'asked', 'highlighted').duration"
    found["ms to first mark, after Annotate"] = round(page.evaluate(took), 1)
    words = "Aspirin inhibits COX-2 in mice and men often\n" * 6_250
    spans = [
        {"start": line * 45, "end": line * 45 + 7, "type": "chemical", "score": 0.9, "head": "h"}
        for line in range(6_250)
    ]
    body = json.dumps({"documents": [{"id": "text", "text": words, "spans": spans}]})
    page.route("**/annotate", lambda route: route.fulfill(content_type="application/json", body=body))
    page.evaluate("performance.clearMarks(); performance.mark('asked')")
    annotate(page, words)
    found["ms to draw 50,000 words with 6,250 marks"] = round(page.evaluate(took), 1)
    page.close()
    return found


def annotate(page: Any, text: str) -> None:
    """Ask, and wait for the answer."""
    page.evaluate(
        "text => { document.getElementById('text').value = text; document.getElementById('form').requestSubmit(); }",
        text,
    )
    while "entit" not in page.inner_text("#status"):
        page.wait_for_timeout(20)


def marked(page: Any) -> None:
    """A text with a mark chosen."""
    annotate(page, TEXT)
    page.locator("#marked .mark", has_text="breast cancer").first.hover()


def relations(page: Any) -> None:
    """A text with relations, one end chosen."""
    body = json.dumps({"documents": [RELATIONS]})
    page.route("**/annotate", lambda route: route.fulfill(content_type="application/json", body=body))
    annotate(page, str(RELATIONS["text"]))
    page.locator("#marked .mark", has_text="Aspirin").hover()


def table(page: Any) -> None:
    """The table of entities."""
    annotate(page, TEXT)
    page.locator("#tab-table").click()


def error(page: Any) -> None:
    """A text that is too long."""
    page.evaluate("text => { document.getElementById('text').value = text; }", "aspirin " * 200_000)
    page.click("button.main")
    page.wait_for_selector("#error p")
    page.evaluate("document.getElementById('text').value = 'aspirin aspirin aspirin …'")


VIEWS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
    "table": {},
    "relations": {},
    "error": {},
    "empty": {},
}
STEPS: dict[str, Callable[[Any], None]] = {
    "light": marked,
    "dark": marked,
    "phone": marked,
    "table": table,
    "relations": relations,
    "error": error,
    "empty": lambda page: page.wait_for_timeout(200),
}

if __name__ == "__main__":
    sys.exit(main())
