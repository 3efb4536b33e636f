"""The command that makes the shipped bundle again: what it types, in which order, and that every word of it is understood."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from biomux import cli

SCRIPT = Path(__file__).parents[2] / "scripts" / "first_bundle.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("first_bundle", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_trains_fits_exports_and_scores_and_does_nothing_twice(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed: list[list[str]] = []

    def run(words: list[str]) -> int:
        cli.load(words[0]).make_context(words[0], words[1:])  # a word that is not understood is an error
        typed.append(words)
        made = {"train": words[3], "export": words[2], "evaluate": str(tmp_path / "work/scores")}[words[0]]
        Path(made).mkdir(parents=True)
        if words[0] == "train":
            (Path(made) / "journal.jsonl").write_text('{"event": "end"}\n')
        return 0

    monkeypatch.setattr(script, "run", run)
    options = ["--corpora", str(tmp_path), "--vocabulary", "vocab.txt", "--work", str(tmp_path / "work")]
    assert script.main(options) == 0
    assert [words[:2] for words in typed[:2]] == [["train", "default/first"], ["train", "default/first-final"]]
    assert [words[0] for words in typed] == ["train", "train", "export", "evaluate"]
    assert str(tmp_path / "work/first") in typed[2]
    assert str(SCRIPT.with_name("first_notes.md")) in typed[3]
    assert script.main(options) == 0
    assert len(typed) == 4


def test_a_step_that_fails_ends_it(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "run", lambda _: 2)
    with pytest.raises(SystemExit) as caught:
        script.main(["--corpora", str(tmp_path), "--work", str(tmp_path / "work")])
    assert caught.value.code == 2
