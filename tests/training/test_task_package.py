"""A task that another package brings goes the whole way: trained, scored, compared, shown, run. The package is the example of CONTRIBUTING.md."""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING

import pytest
from corpora.samples import put
from test_contributing import example
from training import invented

import biomux
from biomux import formats, plugins
from biomux.cli import run as command
from biomux.document import Document
from biomux.training.run import start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TASKS = {
    "drugs": {"corpus": "bc5cdr"},
    "tone": {"kind": "polarity", "corpus": "gad", "settings": {"labels": ["0", "1"]}, "head": {"kind": "pooled"}},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora in which a text is of class 1 if it speaks of aspirin."""
    made = invented.corpora(tmp_path_factory.mktemp("corpora"))
    chance = random.Random(3)
    for split in ("train", "devel", "test"):
        lines = ["index\tsentence\tlabel"]
        for at in range(40):
            words = [chance.choice(("given", "treated", "mice", "liver")) for _ in range(5)]
            words[chance.randrange(5)] = chance.choice(("aspirin", "fever"))
            lines.append(f"{at}\t{' '.join(words)} @GENE$ {at} .\t{int('aspirin' in words)}")
        part, ending = ("dev", "") if split == "devel" else (split, ".gz")
        put(made, f"relations/GAD/blurb/{part}.tsv{ending}", "\n".join(lines) + "\n")
    return made


@pytest.fixture(autouse=True, scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The example as an installed package of one module."""
    place = tmp_path_factory.mktemp("site")
    (place / "polarity.py").write_text(example("Add a task", "python"))
    described = place / "polarity-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: polarity\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[biomux.tasks]\npolarity = polarity:Polarity\n")
    plugins._entries.cache_clear()
    sys.path.insert(0, str(place))
    yield
    sys.path.remove(str(place))
    sys.modules.pop("polarity", None)
    plugins._entries.cache_clear()


@pytest.fixture(scope="module")
def runs(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        recipe = invented.recipe(
            name=f"run{seed}", tasks=TASKS, loop={"epochs": 8 * seed, "seed": seed, "learning_rate": 4e-3}
        )
        start(recipe, place / f"run{seed}", directory=root)
    return [place / "run1", place / "run2"]


def test_it_is_trained_scored_and_compared(
    root: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(example("Add a task", "python").splitlines()) < 60
    for folder in runs:
        own = json.loads((folder / "scores.json").read_text())["tasks"]["tone"]
        line = ["evaluate", str(folder), "all", "--split", "devel", "--no-cross", "--corpora", str(root)]
        assert command([*line, "-o", str(tmp_path / folder.name)]) == 0
        shown = capsys.readouterr()
        assert "polarity" in shown.out
        assert "not scored" not in shown.err
        columns = {
            one["name"]: one for one in json.loads((tmp_path / folder.name / "scores.json").read_text())["columns"]
        }
        assert columns["gad"]["main"]["value"] == pytest.approx(own["accuracy"])
        assert columns["gad"]["documents"] == 40
        assert "|kind:polarity|" in columns["gad"]["signature"]
    assert own["accuracy"] > 0.8
    both = [str(tmp_path / folder.name) for folder in runs]
    assert command(["compare", *both, "--json", "--samples", "50"]) == 0
    tests = {one["column"]: one for one in json.loads(capsys.readouterr().out)["tests"]}
    assert tests["gad"]["second_value"] == pytest.approx(own["accuracy"])
    assert command(["report", *both, "-o", str(tmp_path / "page")]) == 0
    assert "polarity" in next((tmp_path / "page").rglob("*.md")).read_text()


def test_it_answers_beside_entities(runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Mice treated with aspirin.")
    target = tmp_path / "out.jsonl"
    assert command(["annotate", str(tmp_path / "in.txt"), "--model", str(runs[1]), "-o", str(target)]) == 0
    (document,) = formats.read(target)
    assert [(label.name, label.head) for label in document.labels] == [("1", "tone")]
    assert command(["annotate", str(tmp_path / "in.txt"), "--model", str(runs[1]), "--tasks", "tone"]) == 0


def test_it_is_exported_and_a_bundle_says_the_same(root: Path, runs: list[Path], tmp_path: Path) -> None:
    line = ["export", str(runs[1]), str(tmp_path / "bundle"), "--precision", "fp32", "--corpora", str(root)]
    assert command(line) == 0
    texts = [Document(str(at), f"mice treated {word} liver") for at, word in enumerate(("aspirin", "fever", "given"))]
    wanted, found = (list(biomux.load(place).pipe(texts)) for place in (runs[1], tmp_path / "bundle"))
    assert [one.labels for one in found] == [one.labels for one in wanted]
    assert all(one.labels for one in found)
