"""scripts/vectors.py: words as the encoder reads them, the same vectors for the same seed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from biomux.training.encoders import word_vector_files

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).parent.parent / "scripts" / "vectors.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="needs the source tree, not the installed package")
TEXTS = ["Zolmide binds the kinase IL-2. Mice had ulcers.", "The kinase binds velarin in mice (IL-2)."]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    described = importlib.util.spec_from_file_location("script_vectors", SCRIPT)
    assert described
    assert described.loader
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def test_words_are_written_a_sentence_a_line(script: ModuleType, tmp_path: Path) -> None:
    assert script.write_words(TEXTS, tmp_path / "words.txt", lower=True) == 24
    lines = (tmp_path / "words.txt").read_text().splitlines()
    assert lines[:2] == ["zolmide binds the kinase il - 2 .", "mice had ulcers ."]


def test_a_seed_gives_the_same_vectors(script: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    (tmp_path / "text.txt").write_text("\n".join(TEXTS * 20) + "\n")
    (tmp_path / "heldout.txt").write_text("Secret words.\n" * 20)
    files = [str(tmp_path / name) for name in ("text.txt", "heldout.txt")]
    options = ["--without", "heldout.txt", "--width", "8", "--epochs", "2", "--lower"]
    for seed, name in (("1", "a"), ("1", "b"), ("2", "c")):
        assert script.main([*files, *options, "--seed", seed, "-o", str(tmp_path / f"{name}.npz")]) == 0
    one, same, other = (word_vector_files.read(tmp_path / f"{name}.npz") for name in "abc")
    assert {"zolmide", "kinase", "-"} <= set(one.words)
    assert "secret" not in one.words
    assert np.array_equal(one.table, same.table)
    assert not np.array_equal(one.table, other.table)
