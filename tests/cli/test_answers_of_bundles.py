"""A bundle says what the run it was made of says: relations and classes, pairs, answers, through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from biomux import cli

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {
    "annotate": ("annotate", "aspirin treated fever. bexol and ulcer in mice."),
    "annotate, of the input": ("annotate", "IN", "--tasks", "relations", "--keep-entities"),
    "pairs": ("pairs", "aspirin given", "aspirin level"),
    "ask": ("ask", "dose", "of in dose high the."),
}


def rounded(value: Any) -> Any:
    """Numbers to two digits: torch and onnxruntime differ in the last ones."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return round(value, 2) if isinstance(value, float) else value


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bundle_says_what_its_run_says(
    name: str, answering_run: Path, answering_bundle: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("aspirin treated fever.")
    (tmp_path / "a.ann").write_text("T1\tChemical 0 7\taspirin\nT2\tDisease 16 21\tfever\n")
    arguments = [str(tmp_path / "a.ann") if one == "IN" else one for one in COMMANDS[name]]
    said = []
    for model in (answering_run, answering_bundle):
        assert cli.run([*arguments, "--model", str(model), "--threads", "1"]) == 0
        said.append([json.loads(line) for line in capsys.readouterr().out.splitlines()])
    assert said[0]
    assert rounded(said[0]) == rounded(said[1])
    if arguments[0] == "annotate":
        assert said[1][0]["relations"][0]["type"] == "treats"
