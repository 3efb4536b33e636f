"""`biomux.load`: what it takes, and what it says to what it does not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import tiny

import biomux
from biomux.engine.load import find, shipped
from biomux.errors import BundleError, UsageError


def test_a_bundle_annotates_from_its_folder(tmp_path: Path) -> None:
    tagger = biomux.load(str(tiny.bundle(tmp_path / "bundle")), threads=1)
    document = tagger(tiny.text(30))
    assert document.spans
    assert all(span.head in tagger.heads and 0 < (span.score or 0) <= 1 for span in document.spans)


def test_a_name_that_nothing_has_is_refused() -> None:
    with pytest.raises(BundleError, match="BX501: unknown bundle 'nosuch'"):
        biomux.load("nosuch")


def test_an_empty_folder_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="BX501"):
        biomux.load(tmp_path)


@pytest.mark.skipif("default" in shipped(), reason="a bundle comes with this Biomux")
def test_without_a_shipped_bundle_that_is_said() -> None:
    with pytest.raises(BundleError, match="has no bundle"):
        biomux.load()


def test_a_run_needs_the_train_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "biomux.training" in sys.modules:  # the package's attribute is put back too: later tests look modules up there
        monkeypatch.setattr(biomux, "training", sys.modules["biomux.training"], raising=False)
    for name in [name for name in sys.modules if name.startswith("biomux.training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"BX003.*biomux\[train\]"):
        biomux.load(tiny.run(tmp_path / "run"))


def test_the_size_of_batches_changes_no_answer_and_must_be_possible(tmp_path: Path) -> None:
    folder = str(tiny.bundle(tmp_path / "bundle"))
    text = "aspirin and acute fever. " * 40
    small, large = biomux.load(folder, budget=8), biomux.load(folder, budget=4096)
    assert (small.budget, large.budget) == (8, 4096)
    assert small(text) == large(text)
    with pytest.raises(UsageError, match="budget must be at least 1 token"):
        biomux.load(folder, budget=0)


@pytest.mark.parametrize("number", [200.0, "200", float("nan")])
def test_parts_of_tokens_and_threads_cannot_be(tmp_path: Path, number: Any) -> None:
    folder = tiny.bundle(tmp_path / "bundle")
    with pytest.raises(UsageError, match=r"BX001: budget must be at least 1 token, got"):
        biomux.load(folder, budget=number)
    with pytest.raises(UsageError, match=r"BX001: threads must be at least 1, got"):
        biomux.load(folder, threads=number)


@pytest.mark.skipif(not shipped(), reason="no bundle comes with this Biomux")
def test_default_is_the_shipped_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find("default") == find()
    (tmp_path / "default").mkdir()
    assert find("default") == find()  # a folder of that name without a model is none
    (tmp_path / "default" / "manifest.json").touch()
    assert find("default") == Path("default")  # one with a model comes first, as for other names
    with pytest.raises(BundleError, match=r"BX501.*unknown bundle 'defalt'.*did you mean 'default'"):
        find("defalt")
