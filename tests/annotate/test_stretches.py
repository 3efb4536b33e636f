"""Inputs of many files: read in stretches, of which any can be read and annotated apart from the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
from jobs import Stopped, contents, stop_after
from stub import RuleSettings

from biomux import formats
from biomux.annotate import inputs as reading
from biomux.annotate.input_stretches import annotate_share, known, shares
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.part_work import PartWork
from biomux.annotate.run import PartReady, run
from biomux.document import Document
from biomux.errors import AnnotateError

RULES = RuleSettings()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six files, of which no two fit into one stretch; one of them has a record that cannot be read."""
    monkeypatch.setattr(reading, "STRETCH", 3000)
    place = tmp_path / "in"
    place.mkdir()
    for file in range(6):
        found = [Document(f"{file}-{index}", tiny.text(4 + index % 20, seed=index + 60 * file)) for index in range(40)]
        formats.write(found, place / f"{file}.jsonl")
    with (place / "3.jsonl").open("a") as stream:
        stream.write("nonsense\n")
    (place / "README.md").write_text("about these files")
    return place


def annotate(source: Path, target: str, **options: Any) -> Any:
    return run(Inputs([str(source)]), goal(target, None), RULES, part_size=500, **options)


def test_stretches_hold_every_file_once_and_in_order(folder: Path) -> None:
    inputs = Inputs([str(folder)])
    found = inputs.stretches()
    assert [place.path for stretch in found for place in stretch.places] == [f"{folder}/{n}.jsonl" for n in range(6)]
    assert sum(stretch.size for stretch in found) == sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    assert inputs.left_out == [f"{folder}/README.md"]


def test_small_files_share_a_stretch_and_little_is_no_stretch_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "STRETCH", 2 * (folder / "0.jsonl").stat().st_size + 500)
    assert [len(stretch.places) for stretch in Inputs([str(folder)]).stretches()] == [2, 2, 2]
    monkeypatch.setattr(reading, "STRETCH", 10**9)
    assert Inputs([str(folder)]).stretches() == []


@pytest.mark.parametrize("arguments", [["a text of its own"], ["-"], ["0.jsonl"], ["0.jsonl", "a text of its own"]])
def test_texts_pipes_and_single_files_are_read_as_one(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert Inputs(arguments).stretches() == []


def test_ids_of_files_are_those_that_one_reader_gives_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "STRETCH", 1)
    for name in ("a/1.txt", "b/1.txt", "b/2.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"aspirin in {name}")
    inputs = Inputs([str(tmp_path)])
    apart = [document.id for stretch in inputs.stretches() for document in inputs.stretch(stretch)]
    assert apart == [document.id for document in Inputs([str(tmp_path)]).documents()] == ["a/1", "b/1", "2"]


def test_one_file_of_all_does_not_show_the_stretches(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = annotate(folder, f"{tmp_path}/apart.jsonl")
    monkeypatch.setattr(reading, "STRETCH", 10**9)
    assert annotate(folder, f"{tmp_path}/one.jsonl") == told
    assert (told.documents, told.failed) == (240, 1)
    for suffix in ("jsonl", "jsonl.errors.jsonl"):
        assert (tmp_path / f"apart.{suffix}").read_bytes() == (tmp_path / f"one.{suffix}").read_bytes()


def test_parts_are_named_by_stretch_and_read_in_order(folder: Path, tmp_path: Path) -> None:
    annotate(folder, f"{tmp_path}/out/")
    manifest = json.loads((tmp_path / "out" / ".biomux" / "manifest.json").read_bytes())
    files = [part["file"] for part in manifest["parts"]]
    assert files == sorted(files)
    assert files[0] == "part-00000-00000.jsonl"
    assert files[-1].startswith("part-00005-")
    assert set(contents(tmp_path / "out")) == {*files, ".biomux/manifest.json"}
    assert [d.id for d in formats.read(tmp_path / "out")] == [f"{file}-{i}" for file in range(6) for i in range(40)]


def test_shares_make_the_parts_of_a_stretch_whoever_makes_which(folder: Path, tmp_path: Path) -> None:
    annotate(folder, f"{tmp_path}/usual/")
    inputs = Inputs([str(folder)])
    stretch = inputs.stretches()[3]
    (tmp_path / "made").mkdir()
    work = PartWork(str(tmp_path / "made"), str(tmp_path / "made"), RULES)
    tasks = shares(stretch, inputs.reads, part_size=500)
    assert len(tasks) > 1
    assert known(stretch, work) is None
    made = [annotate_share(task, work) for task in reversed(tasks)]
    assert sum(len(result.parts) for result in made) == made[0].number
    for path in (tmp_path / "made").glob("part-*.jsonl"):
        assert path.read_bytes() == (tmp_path / "usual" / path.name).read_bytes()
    again = annotate_share(tasks[0], work)
    assert [fresh for _, fresh in again.parts] == [False] * len(again.parts)
    assert sum(len(done.failures) for result in made for done, _ in result.parts) == 1
    (tmp_path / "made" / "part-00003-00002.jsonl").unlink()
    assert known(stretch, work) is None


def test_a_stopped_run_does_not_read_again_what_it_has_done(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotate(folder, f"{tmp_path}/usual/")
    first = len(list((tmp_path / "usual").glob("part-00000-*")))
    with pytest.raises(Stopped):
        annotate(folder, f"{tmp_path}/out/", listen=stop_after(first + 2))
    read: list[str] = []
    real = reading.InputReader._of_place

    def watched(self: reading.InputReader, place: reading.InputFile) -> Any:
        read.append(Path(place.path).name)
        return real(self, place)

    monkeypatch.setattr(reading.InputReader, "_of_place", watched)
    steps: list[PartReady] = []
    annotate(folder, f"{tmp_path}/out/", listen=steps.append)
    assert read == [f"{number}.jsonl" for number in range(1, 6)]
    assert [step.fresh for step in steps].count(False) == first + 2
    assert steps[-1].reached == sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    assert contents(tmp_path / "out") == contents(tmp_path / "usual")


def test_a_run_with_other_stretches_is_not_resumed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Stopped):
        annotate(folder, f"{tmp_path}/out/", listen=stop_after(3))
    monkeypatch.setattr(reading, "STRETCH", 10**9)
    with pytest.raises(AnnotateError, match=r"BX605: .*how the input files are grouped"):
        annotate(folder, f"{tmp_path}/out/")


def test_what_cannot_be_listed_is_a_failure_of_the_stretch_that_follows(folder: Path, tmp_path: Path) -> None:
    (folder / "2a").symlink_to(folder / "nowhere")
    found = Inputs([str(folder)]).stretches()
    assert [len(stretch.failures) for stretch in found] == [0, 0, 0, 1, 0, 0]
    told = annotate(folder, f"{tmp_path}/out/")
    assert told.failed == 2
    assert told.documents == 240
