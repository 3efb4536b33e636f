"""docs/reference/bundles.md states the limits that the code has."""

from __future__ import annotations

from pathlib import Path

import pytest

import biomux
from biomux.engine.bundle import checksums, verify

PAGE = Path(biomux.__file__).parents[2] / "docs" / "reference" / "bundles.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="needs the source tree, not the installed package")


@pytest.mark.parametrize("name", checksums.LARGEST)
def test_the_page_states_each_file_and_its_limit(name: str) -> None:
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}`"))
    assert row.endswith(f"| {checksums.LARGEST[name] // (1024 * 1024)} MiB |")


def test_the_page_states_what_verify_allows() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"scores within {verify.SCORES_WITHIN}, logits within {verify.LOGITS_WITHIN}" in text
    assert f"{checksums.LARGEST_MANIFEST // 1024} KiB, {checksums.MOST_FILES} files" in text
