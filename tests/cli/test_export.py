"""`biomux export` and `biomux verify` as one types them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import tiny

from biomux.cli import run

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_becomes_a_bundle_that_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tiny.run(tmp_path / "run")
    types = tmp_path / "types.yaml"
    types.write_text("gene: {sources: [[genes, Gene]]}\n")
    arguments = ["export", str(made), str(tmp_path / "bundle"), "--precision", "int8", "--no-gate"]
    assert run([*arguments, "--types", str(types)]) == 0
    assert "int8" in capsys.readouterr().err
    assert run(["verify", str(tmp_path / "bundle")]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert {row[1] for row in rows[1:]} == {"fine"}
    assert rows[-1][0] == "examples"


def test_verify_says_what_is_wrong_and_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny.bundle(tmp_path / "bundle")
    (folder / "heads.json").write_text("{}")
    assert run(["verify", str(folder)]) == 2
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1].split("\t") == ["error", "WRONG", "BX503"]
    assert "heads.json differs from the manifest" in shown.err


def test_verify_of_a_folder_that_is_no_bundle_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "not a bundle" in shown.err


@pytest.mark.parametrize("content", ["- a", "gene: 1", "gene: {sources: [x]}", "{"])
def test_a_table_of_types_that_is_none_is_refused(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    types = tmp_path / "types.yaml"
    types.write_text(content)
    arguments = ["export", str(tiny.run(tmp_path / "run")), str(tmp_path / "bundle"), "--no-gate"]
    assert run([*arguments, "--types", str(types)]) == 2
    assert "BX001" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(tmp_path), str(tmp_path / "bundle")]) == 2
    assert "BX405" in capsys.readouterr().err
    assert run(["export", str(tmp_path), str(tmp_path)]) == 2
