"""`biomux bench` on a tiny bundle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import tiny

from biomux.cli import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bundle(tmp_path_factory.mktemp("bench") / "bundle")


def test_all_figures_as_json(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "some.txt"
    texts.write_text(tiny.text(60) + "\n", encoding="utf-8")
    options = ["--text", str(texts), "--seconds", "0.1", "--starts", "1", "--threads", "1", "--json"]
    assert run(["bench", str(bundle), *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["text"] == "some.txt"
    assert told["bundle"]["name"] == "bundle"
    assert told["latency"]["median"] > 0
    assert told["cold_start"]["best"] > 0
    assert told["throughput"]["words_per_second"] > 0
    assert told["memory"]["one_text"] is None or told["memory"]["one_text"] > 10e6


def test_a_file_without_text_is_told(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n", encoding="utf-8")
    assert run(["bench", str(bundle), "--text", str(empty)]) == 2
    assert "the file has no text" in capsys.readouterr().err
