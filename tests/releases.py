"""Bundles and runs that earlier releases made, and what these releases answered with them: see tests/fixtures/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.document import Document

FOLDER = Path(__file__).parent / "fixtures" / "release-0.1.0"
ANSWERS: dict[str, Any] = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
TEXTS: list[str] = ANSWERS["texts"]


def check_entities(documents: Iterable[Document], name: str, *, tolerance: float) -> None:
    """Every document has the entities recorded under that name, with about the same scores."""
    for document, recorded in zip(documents, ANSWERS["entities"][name], strict=True):
        assert [[span.start, span.end, span.type, span.head] for span in document.spans] == [
            row[:4] for row in recorded
        ]
        assert [span.score for span in document.spans] == pytest.approx([row[4] for row in recorded], abs=tolerance)
