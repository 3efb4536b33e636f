"""The page that compares Biomux with other tools: its figures of ours are those of the model card."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs" / "explanation"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="needs the source tree, not the installed package")


def card() -> dict[str, str]:
    """Strict F1 of each corpus by its own head, on the test part, with one digit."""
    text = (DOCS / "model-card.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| ([\w-]+) \| test \| \1 \| [\d,]+ \| ([\d.]+) ±", text, re.MULTILINE)
    return {name.replace("-", "").lower(): f"{float(figure):.1f}" for name, figure in found}


def test_our_column_is_that_of_the_model_card() -> None:
    text = (DOCS / "comparison.md").read_text(encoding="utf-8")
    table = text.partition("| corpus | Biomux")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \|", table, re.MULTILINE)
    assert len(rows) >= 5
    assert dict(rows) == {name: card()[name.lower()] for name, _ in rows}


def test_our_figures_beside_those_of_bern2_are_too() -> None:
    text = (DOCS / "comparison.md").read_text(encoding="utf-8")
    assert f"Biomux has {card()['ncbidisease']} and {card()['bc2gm']}" in text


def test_our_speed_is_that_of_the_performance_page() -> None:
    text = (DOCS / "comparison.md").read_text(encoding="utf-8")
    speed = re.search(r"\| Biomux, all heads \| ([\d,]+) \|", text)
    assert speed is not None
    assert f"| Biomux, the bundle, all 18 heads | {speed[1]} |" in (DOCS / "performance.md").read_text(encoding="utf-8")
