"""The one reader of a run folder: what it gives, and what it says when a file is missing or damaged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from biomux.errors import TrainingError
from biomux.recipes.run_folder import BEGUN, COUNTS, JOURNAL, MACHINE, MODEL, RECIPE, SCORES, WEIGHTS, RunFolder

if TYPE_CHECKING:
    from pathlib import Path

LENIENT = {"begun": BEGUN, "counts": COUNTS, "scores": SCORES, "machine": MACHINE}


def test_an_empty_folder_is_no_run_and_has_no_model(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert not run.exists
    assert not run.trained
    assert list(run.events()) == []
    for name in ("recipe", "recipe_mapping", "description", "weights"):
        with pytest.raises(TrainingError) as caught:
            getattr(run, name)
        assert caught.value.code == "BX405"


@pytest.mark.parametrize("name", LENIENT)
@pytest.mark.parametrize("content", ["", "{", "[1]", "[" * 100_000])
def test_files_that_may_be_half_written_are_empty(tmp_path: Path, name: str, content: str) -> None:
    assert getattr(RunFolder(tmp_path), name) == {}
    (tmp_path / LENIENT[name]).write_text(content)
    assert getattr(RunFolder(tmp_path), name) == {}
    (tmp_path / LENIENT[name]).write_text('{"a": 1}')
    assert getattr(RunFolder(tmp_path), name) == {"a": 1}


def test_a_damaged_description_is_refused(tmp_path: Path) -> None:
    (tmp_path / MODEL).write_text("{")
    with pytest.raises(TrainingError, match="damaged") as caught:
        _ = RunFolder(tmp_path).description
    assert caught.value.code == "BX406"


def test_weights_without_a_description_are_no_trained_model(tmp_path: Path) -> None:
    (tmp_path / WEIGHTS).touch()
    assert not RunFolder(tmp_path).trained
    with pytest.raises(TrainingError):
        _ = RunFolder(tmp_path).weights
    (tmp_path / MODEL).write_text("{}")
    assert RunFolder(tmp_path).weights == tmp_path / WEIGHTS
    assert RunFolder(tmp_path).description == {}


def test_a_description_can_be_read_before_there_are_weights(tmp_path: Path) -> None:
    (tmp_path / MODEL).write_text('{"limit": 9}')
    assert RunFolder(tmp_path).description == {"limit": 9}
    assert not RunFolder(tmp_path).trained


@pytest.mark.parametrize("content", [b"\xff", b"a: [", b"- 1", b""])
def test_a_recipe_that_is_no_mapping_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RECIPE).write_bytes(content)
    assert RunFolder(tmp_path).exists
    with pytest.raises(TrainingError, match="cannot read the recipe"):
        _ = RunFolder(tmp_path).recipe_mapping


def test_damaged_lines_of_the_journal_are_none(tmp_path: Path) -> None:
    lines = [json.dumps({"event": "start"}), "[3]", '{"event": "st']
    (tmp_path / JOURNAL).write_text("\n".join(lines))
    assert list(RunFolder(tmp_path).events()) == [{"event": "start"}, None, None]


def test_a_journal_of_the_first_release_counts_tokens(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text('{"event": "end", "pieces": 7}\n')
    assert list(RunFolder(tmp_path).events()) == [{"event": "end", "tokens": 7}]


def test_a_run_folder_is_read_once(tmp_path: Path) -> None:
    (tmp_path / COUNTS).write_text('{"a": 1}')
    run = RunFolder(tmp_path)
    assert run.counts == {"a": 1}
    (tmp_path / COUNTS).write_text('{"a": 2}')
    assert run.counts == {"a": 1}
    assert RunFolder(tmp_path).counts == {"a": 2}
