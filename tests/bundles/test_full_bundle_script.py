"""The command that makes a bundle with every kind of head: what it types, in which order, and that every word of it is understood."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from training import invented

from biomux import cli
from biomux.recipes.read import read
from biomux.training.task_documents import Library

SCRIPT = Path(__file__).parents[2] / "scripts" / "full_bundle.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("full_bundle", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPT.parent))  # it uses its neighbour
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

    mixed: list[list[str]] = []

    def mix(words: list[str]) -> int:
        mixed.append(words)
        Path(words[words.index("-o") + 1]).write_text("Aspirin.\n")
        return 0

    monkeypatch.setattr(script, "run", run)
    monkeypatch.setattr(script.mixed_text, "main", mix)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt.gz").touch()
    options = ["--corpora", str(tmp_path), "--work", str(tmp_path / "work")]
    assert script.main(options) == 0
    assert [words[1] for words in typed[:2]] == ["default/teacher", "default/heads"]
    assert [words[0] for words in typed] == ["train", "train", "export", "evaluate"]
    assert typed[2][1:3] == [str(tmp_path / f"work/{name}") for name in ("heads", "full")]
    assert mixed[0][0] == str(tmp_path / "text" / "a.txt.gz")
    assert script.main(options) == 0
    assert (len(typed), len(mixed)) == (4, 1)


def test_text_is_drawn_and_mixed_with_the_training_text_of_the_corpora(script: Any, tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=12)
    (tmp_path / "recipe.yaml").write_text(
        "{name: x, tasks: {drugs: {corpus: bc5cdr}}, model: {encoder: {kind: random}}, regime: {kind: mixed}}"
    )
    (tmp_path / "a.txt").write_text("".join(f"Plain text {number}.\n" for number in range(50)))
    (tmp_path / "held.txt").write_text("Held out.\n")
    files = [str(tmp_path / name) for name in ("a.txt", "held.txt")]
    chosen = ["--without", "held.txt", "--documents", "20", "--corpora", str(directory)]
    found = []
    for name, more in (("one", []), ("again", []), ("other", ["--skip", "20", "--labelled", "5"])):
        out = tmp_path / f"{name}.txt"
        options = [*files, *chosen, *more, "--recipe", str(tmp_path / "recipe.yaml"), "-o", str(out)]
        assert script.mixed_text.main(options) == 0
        found.append(out.read_text().splitlines())
    one, again, other = found
    assert one == again
    plain = {line for line in one if line.startswith("Plain")}
    assert len(plain) == 20
    assert not plain & set(other)  # other text than before
    assert len(other) == 25
    assert len(one) == len(set(one)) > 25  # the corpus's own text too, each once
    assert "Held out." not in one


def test_text_that_stands_in_a_held_out_part_is_left_out(script: Any, tmp_path: Path) -> None:
    directory = invented.corpora(tmp_path / "corpora", number=12)
    (tmp_path / "recipe.yaml").write_text(
        "{name: x, tasks: {drugs: {corpus: bc5cdr}}, model: {encoder: {kind: random}}, regime: {kind: mixed}}"
    )
    recipe = str(tmp_path / "recipe.yaml")
    library = Library(directory)
    (task,) = read(recipe).tasks.values()
    held = [document.text for document in library.part(task, "test") if len(document.text) > 60][:3]
    assert held
    (tmp_path / "a.txt").write_text("".join(f"{' '.join(text.split())}\n" for text in (*held, "Plain text.")))
    options = [str(tmp_path / "a.txt"), "--corpora", str(directory), "--held-out", recipe]
    assert script.mixed_text.main([*options, "-o", str(tmp_path / "out.txt")]) == 0
    assert (tmp_path / "out.txt").read_text() == "Plain text.\n"


def test_several_processes_train_the_teacher(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    class Refused:
        def __init__(self, command: list[str]) -> None:
            started.append(command)

        def __enter__(self) -> Refused:
            return self

        def __exit__(self, *error: object) -> None: ...

        def wait(self) -> int:
            return 3

    monkeypatch.setattr(script.subprocess, "Popen", Refused)
    with pytest.raises(SystemExit) as caught:
        script.main(["--corpora", str(tmp_path), "--work", str(tmp_path / "work"), "--processes", "2"])
    assert caught.value.code == 3
    assert started[0][1:9] == ["-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "--", "biomux", "train"]


def test_a_step_that_fails_ends_it(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "run", lambda _: 2)
    with pytest.raises(SystemExit) as caught:
        script.main(["--corpora", str(tmp_path), "--work", str(tmp_path / "work")])
    assert caught.value.code == 2
