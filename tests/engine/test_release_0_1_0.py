"""A bundle that 0.1.0 exported still loads and gives the answers that 0.1.0 gave."""

from __future__ import annotations

import pytest
from releases import FOLDER, TEXTS, check_entities

import biomux
from biomux.document import Document
from biomux.engine.bundle import verify


@pytest.mark.parametrize(("bundle", "tolerance"), [("bundle", 2e-4), ("bundle-int8", 0.02)])
def test_entities_by_type_are_the_same(bundle: str, tolerance: float) -> None:
    documents = [Document(str(number), text) for number, text in enumerate(TEXTS)]
    check_entities(biomux.load(FOLDER / bundle).annotate(documents), f"{bundle}: types", tolerance=tolerance)


def test_entities_by_head_are_the_same() -> None:
    tagger = biomux.load(FOLDER / "bundle")
    assert tagger.heads == ("drugs", "genes", "ills")
    check_entities((tagger(text, heads=tagger.heads) for text in TEXTS), "bundle: heads", tolerance=2e-4)


@pytest.mark.parametrize("bundle", ["bundle", "bundle-int8"])
def test_its_own_examples_are_answered_as_at_export(bundle: str) -> None:
    checks = list(verify.verify(FOLDER / bundle))
    assert [check.error for check in checks] == [None] * len(checks)
    assert len(checks) > 1
