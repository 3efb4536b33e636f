"""Pages can be reached and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(`{3,}).*?^\1", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="needs the source tree, not the installed package")


def pages() -> list[str]:
    return [*OUTSIDE, *sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))]


def settings() -> dict[str, Any]:
    """mkdocs.yml, its Python objects left out."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    loaded: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    return loaded


def linked(entry: Any) -> list[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in linked(part)]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_in_the_navigation_once() -> None:
    in_navigation = linked(settings()["nav"])
    assert sorted(in_navigation) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_the_site_asks_nothing_of_other_hosts() -> None:
    found = settings()
    assert found["theme"]["font"] is False
    assert not found.keys() & {"extra_javascript", "extra_css", "extra", "repo_url"}
    assert found["plugins"] == ["search"]


@pytest.mark.parametrize("page", pages())
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link
