"""What an annotator looks like in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import tiny

import biomux

if TYPE_CHECKING:
    from pathlib import Path


def test_an_annotator_is_shown_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'train' is not installed")
    bundle = biomux.load(tiny.bundle(tmp_path / "small"), threads=1)
    heads, types = len(bundle.heads), len(bundle.types)
    assert repr(bundle) == f"<Tagger 'small': {heads} heads, {types} entity types, onnxruntime, 1 thread>"
    run = biomux.load(tiny.run(tmp_path / "trained"))
    assert repr(run) == f"<Tagger 'trained': {heads} heads, {types} entity types, torch>"


def test_the_included_one_is_called_by_its_name() -> None:
    assert repr(biomux.load(threads=1)).startswith("<Tagger 'default': 18 heads, ")
