"""Jobs: parts, workers, stopping and going on; always the same bytes."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tiny
from jobs import Stopped, contents, stop_after
from stub import DyingSettings, RuleSettings

from biomux import formats
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.part_work import PartWork, annotate_part
from biomux.annotate.parts import Failures, cut
from biomux.annotate.run import PartReady, run
from biomux.annotate.settings import AnnotateSettings
from biomux.annotate.workers import Reading
from biomux.document import Document
from biomux.engine.query import Query
from biomux.errors import AnnotateError, BiomuxError, FormatError, UsageError

TESTS = Path(__file__).parent.parent
RULES = RuleSettings()


def documents(number: int = 60, *, words: int = 20) -> list[Document]:
    return [Document(f"d{index}", tiny.text(4 + index % words, seed=index)) for index in range(number)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "documents.jsonl"
    path.parent.mkdir()
    formats.write(documents(), path)
    return path


def annotate(
    source: Path | str, target: Path | str, *, format: str | None = None, gzip: bool = False, **options: Any
) -> Any:
    settings = options.pop("settings", RULES)
    options.setdefault("part_size", 500)
    return run(Inputs([str(source)]), goal(str(target), format, gzip=gzip), settings, **options)


def test_one_file_holds_every_document_in_order(source: Path, tmp_path: Path) -> None:
    tally = annotate(source, tmp_path / "out.jsonl")
    done = list(formats.read(tmp_path / "out.jsonl"))
    assert [(document.id, document.text) for document in done] == [(d.id, d.text) for d in documents()]
    assert tally.documents == 60
    assert sum(tally.entities.values()) == sum(len(document.spans) for document in done) > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.jsonl.biomux", "in", "out.jsonl"]
    assert [path.name for path in (tmp_path / ".out.jsonl.biomux").iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("part_size", [1, 300, 10**9])
def test_the_size_of_parts_does_not_show_in_one_file(source: Path, tmp_path: Path, part_size: int) -> None:
    annotate(source, tmp_path / "usual.jsonl")
    annotate(source, tmp_path / "out.jsonl", part_size=part_size)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "usual.jsonl").read_bytes()


def test_a_folder_of_parts_has_a_manifest_of_them(source: Path, tmp_path: Path) -> None:
    annotate(source, f"{tmp_path / 'out'}/", gzip=True)
    annotate(source, tmp_path / "one.jsonl")
    manifest = json.loads((tmp_path / "out" / ".biomux" / "manifest.json").read_bytes())
    files = [part["file"] for part in manifest["parts"]]
    assert files == [f"part-{index:05d}.jsonl.gz" for index in range(len(files))]
    assert set(contents(tmp_path / "out")) == {*files, ".biomux/manifest.json"}
    joined = b"".join(gzip.decompress((tmp_path / "out" / file).read_bytes()) for file in files)
    assert joined == (tmp_path / "one.jsonl").read_bytes()
    assert sum(part["documents"] for part in manifest["parts"]) == 60


@pytest.mark.parametrize("name", ["out.jsonl.gz", "out.bioc.xml", "out.pubtator"])
def test_any_format_can_be_written(source: Path, tmp_path: Path, name: str) -> None:
    lost: list[str] = []
    annotate(source, tmp_path / name, on_loss=lambda loss: lost.append(loss.feature))
    assert [document.id for document in formats.read(tmp_path / name)] == [document.id for document in documents()]
    assert bool(lost) is (name != "out.jsonl.gz")


def test_a_format_of_several_files_and_parts_in_another_format(source: Path, tmp_path: Path) -> None:
    annotate(source, f"{tmp_path / 'brat'}/", format="brat")
    assert len(list((tmp_path / "brat").glob("*.ann"))) == 60
    annotate(source, f"{tmp_path / 'xml'}/", format="bioc-xml")
    assert [document.id for document in formats.read(tmp_path / "xml")] == [document.id for document in documents()]


def test_documents_of_the_same_id_do_not_end_a_job_whose_output_is_a_folder(tmp_path: Path) -> None:
    formats.write([Document("same", "aspirin"), Document("same", "fever")], tmp_path / "in.jsonl")
    lost: list[str] = []
    annotate(
        tmp_path / "in.jsonl", f"{tmp_path / 'out'}/", format="brat", on_loss=lambda loss: lost.append(loss.detail)
    )
    texts = {document.id: document.text for document in formats.read(tmp_path / "out")}
    assert texts == {"same": "aspirin", "same~2": "fever"}
    assert "its file is called same~2" in lost


def test_what_a_format_cannot_hold_at_the_end_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise FormatError("BX120", "too much for one file")

    formats.write([Document("1", "aspirin"), Document("2", "fever")], tmp_path / "in.jsonl")
    monkeypatch.setattr("biomux.annotate.run._join", refuse)
    with pytest.raises(FormatError, match=r"BX120.*kept: biomux convert '.*/\.out\.biomux/part-\*\.jsonl' TARGET"):
        annotate(tmp_path / "in.jsonl", f"{tmp_path / 'out'}/", format="brat")
    assert len(list(formats.read(f"{tmp_path}/.out.biomux/part-*.jsonl"))) == 2


def test_a_tsv_target_is_a_table_of_entities(source: Path, tmp_path: Path) -> None:
    tally = annotate(source, tmp_path / "out.tsv")
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines[0] == "document\tstart\tend\ttype\tmention\tscore\thead\tidentifiers"
    assert len(lines) == 1 + sum(tally.entities.values())


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_convert_makes_the_same_table_of_entities(source: Path, tmp_path: Path, format: str) -> None:
    annotate(source, tmp_path / f"out.{format}")
    annotate(source, tmp_path / "out.jsonl")
    formats.write(formats.read(tmp_path / "out.jsonl"), tmp_path / f"again.{format}")
    assert (tmp_path / f"again.{format}").read_bytes() == (tmp_path / f"out.{format}").read_bytes()


@pytest.mark.parametrize(
    ("target", "format", "message"),
    [
        ("out/", "text", "BX120: format 'text' cannot hold entities"),
        ("out.medline.xml", None, "BX120: format 'medline' cannot hold entities"),
    ],
)
def test_a_target_that_cannot_hold_entities_is_refused_before_the_work(
    tmp_path: Path, target: str, format: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        goal(f"{tmp_path}/{target}", format)


@pytest.mark.parametrize(
    ("target", "format", "message"),
    [
        ("there", "brat", "already exists and contains other files: mine.doc"),
        ("file.brat", None, "already exists and is a file"),
        ("out.jsonl", None, None),
        ("brat", "brat", None),
    ],
)
def test_an_output_that_exists_is_refused_before_the_work_unless_it_may_be_overwritten(
    source: Path, tmp_path: Path, target: str, format: str | None, message: str | None
) -> None:
    for name in ("there", "brat"):
        (tmp_path / name).mkdir()
    (tmp_path / "there" / "mine.doc").write_text("mine")
    (tmp_path / "brat" / "old.ann").write_text("")
    for name in ("file.brat", "out.jsonl"):
        (tmp_path / name).write_text("mine")
    before = contents(tmp_path)
    steps: list[PartReady] = []
    with pytest.raises(
        UsageError, match=r"BX004: .*already exists; replace it with --overwrite, or choose another name"
    ):
        annotate(source, tmp_path / target, format=format, listen=steps.append)
    if message:
        with pytest.raises(UsageError, match=f"BX004: .*{message}"):
            annotate(source, tmp_path / target, format=format, listen=steps.append, overwrite=True)
    assert contents(tmp_path) == before
    assert steps == []
    if not message:
        annotate(source, tmp_path / target, format=format, overwrite=True)
        assert len(list(formats.read(tmp_path / target))) == 60


@pytest.mark.parametrize(("target", "format"), [("out.jsonl", None), ("out.bioc.xml", None), ("out", "brat")])
def test_a_finished_job_given_again_has_nothing_to_do(
    source: Path, tmp_path: Path, target: str, format: str | None
) -> None:
    steps: list[PartReady] = []
    first = annotate(source, tmp_path / target, format=format)
    before = contents(tmp_path)
    assert annotate(source, tmp_path / target, format=format, listen=steps.append) == first
    assert steps == []
    assert contents(tmp_path) == before
    for options in ({"settings": RuleSettings(query=Query(types=("Disease",)))}, {"restart": True}):
        with pytest.raises(UsageError, match=r"BX004: .*already exists, and is finished"):
            annotate(source, tmp_path / target, format=format, **options)
    assert contents(tmp_path) == before
    annotate(source, tmp_path / target, format=format, overwrite=True, listen=steps.append)
    assert steps
    assert contents(tmp_path) == before


def test_an_output_that_was_changed_or_taken_away_is_not_finished(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    annotate(source, out)
    whole = out.read_bytes()
    out.write_bytes(whole + b"mine")
    with pytest.raises(UsageError, match=r"BX004: .*already exists; replace it"):
        annotate(source, out)
    out.unlink()
    annotate(source, out)
    assert out.read_bytes() == whole


def test_a_part_that_is_gone_from_a_finished_folder_is_told(source: Path, tmp_path: Path) -> None:
    annotate(source, f"{tmp_path / 'out'}/")
    (tmp_path / "out" / "part-00001.jsonl").unlink()
    with pytest.raises(
        AnnotateError, match=r"BX605: .*part-00001\.jsonl of the finished output is missing.*--overwrite"
    ):
        annotate(source, f"{tmp_path / 'out'}/")


@pytest.mark.parametrize("folder", [False, True])
def test_overwriting_that_was_stopped_is_resumed(source: Path, tmp_path: Path, folder: bool) -> None:
    out = f"{tmp_path / 'out'}/" if folder else tmp_path / "out.jsonl"
    annotate(source, out, settings=RuleSettings(query=Query(types=("Disease",))))
    with pytest.raises(Stopped):
        annotate(source, out, overwrite=True, listen=stop_after(3))
    steps: list[PartReady] = []
    annotate(source, out, overwrite=True, listen=steps.append)
    assert [step.fresh for step in steps[:4]] == [False, False, False, True]
    annotate(source, tmp_path / "usual.jsonl")
    assert [d.spans for d in formats.read(out)] == [d.spans for d in formats.read(tmp_path / "usual.jsonl")]


@pytest.mark.parametrize(("target", "format"), [("out.jsonl", None), ("out", "brat")])
def test_a_run_that_ended_when_its_output_was_in_place_is_resumed(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, format: str | None
) -> None:
    def killed(*arguments: Any, **options: Any) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr("biomux.annotate.resume.finish", killed)
        with pytest.raises(Stopped):
            annotate(source, tmp_path / target, format=format)
    assert (tmp_path / target).exists()
    annotate(source, tmp_path / target, format=format)
    assert len(list(formats.read(tmp_path / target))) == 60


def test_two_workers_make_the_same_bytes(tmp_path: Path, source: Path) -> None:
    bundle = str(tiny.bundle(tmp_path / "bundle"))
    settings = AnnotateSettings(bundle=bundle)
    one = annotate(source, f"{tmp_path / 'one'}/", settings=settings)
    two = annotate(source, f"{tmp_path / 'two'}/", settings=settings, workers=2, threads=1)
    assert one == two
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_worker_that_nobody_listens_to_blames_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biomux.annotate.workers.EVERY_SECONDS", 0)
    theirs, ours = multiprocessing.Pipe()
    theirs.close()
    part = next(cut(documents(), Failures()))
    work = PartWork(str(tmp_path), str(tmp_path), RULES)
    made = annotate_part(part, work, on_read=Reading(ours))
    ours.close()
    assert made.failures == ()
    assert made.tally.documents == 60


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_moves_within_one_long_document(tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.jsonl"
    formats.write([Document("long", tiny.text(20_000)), Document("short", "aspirin")], path)
    size = path.stat().st_size
    told: list[tuple[float, int]] = []
    steps: list[PartReady] = []

    def on_read(stored: float, characters: int) -> None:
        if not steps:
            told.append((stored, characters))

    settings = AnnotateSettings(bundle=str(tiny.bundle(tmp_path / "bundle")))
    annotate(
        path,
        tmp_path / "out.jsonl",
        settings=settings,
        workers=workers,
        threads=1,
        on_read=on_read,
        listen=steps.append,
    )
    assert [step.reached for step in steps][-1] == size
    if workers == 1 or told:  # a worker that is quick says nothing
        assert told == sorted(told)
        assert all(0 < stored <= size for stored, _ in told)
    if workers == 1:
        assert len({stored for stored, _ in told}) > 20


@pytest.mark.parametrize("folder", [False, True])
def test_a_stopped_run_goes_on_where_it_stopped(source: Path, tmp_path: Path, folder: bool) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    end = "out/" if folder else "out.jsonl"
    annotate(source, f"{place}/{end}")
    for parts in (3, 2):
        with pytest.raises(Stopped):
            annotate(source, f"{tmp_path}/{end}", listen=stop_after(parts))
        assert folder or not (tmp_path / "out.jsonl").exists()
    steps: list[PartReady] = []
    annotate(source, f"{tmp_path}/{end}", listen=steps.append)
    assert [step.fresh for step in steps].count(False) == 5
    if folder:
        assert contents(tmp_path / "out") == contents(place / "out")
    else:
        assert (tmp_path / "out.jsonl").read_bytes() == (place / "out.jsonl").read_bytes()
    hidden = [path.name for path in tmp_path.rglob(".*")]
    assert hidden == ([".biomux", ".biomux"] if folder else [".out.jsonl.biomux", ".out.jsonl.biomux"])


def test_a_part_whose_file_is_cut_short_is_made_again(source: Path, tmp_path: Path) -> None:
    annotate(source, tmp_path / "usual.jsonl")
    with pytest.raises(Stopped):
        annotate(source, tmp_path / "out.jsonl", listen=stop_after(3))
    part = tmp_path / ".out.jsonl.biomux" / "part-00001.jsonl"
    part.write_bytes(part.read_bytes()[:-5])
    annotate(source, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "usual.jsonl").read_bytes()


def test_other_settings_or_inputs_are_refused_until_restarted(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(Stopped):
        annotate(source, out, listen=stop_after(2))
    with pytest.raises(AnnotateError, match=r"BX605: .*different settings: --types; repeat the same command"):
        annotate(source, out, settings=RuleSettings(query=Query(types=("Disease",))))
    os.utime(source, ns=(1, 1))
    with pytest.raises(AnnotateError, match=r"different settings: inputs"):
        annotate(source, out)
    annotate(source, out, restart=True)
    assert len(list(formats.read(out))) == 60


def test_a_whole_folder_is_left_alone_and_another_job_is_refused(source: Path, tmp_path: Path) -> None:
    out = f"{tmp_path / 'out'}/"
    tally = annotate(source, out)
    before = contents(tmp_path / "out")
    steps: list[PartReady] = []
    assert annotate(source, out, listen=steps.append) == tally
    assert steps == []
    assert contents(tmp_path / "out") == before
    with pytest.raises(UsageError, match=r"BX004: .*--part-size"):
        annotate(source, out, part_size=700)
    annotate(source, out, part_size=10**6, overwrite=True)
    assert set(contents(tmp_path / "out")) == {"part-00000.jsonl", ".biomux/manifest.json"}


def test_a_folder_with_other_things_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(AnnotateError, match=r"BX605: .*contains files that biomux annotate did not write"):
        annotate(source, tmp_path / "out")
    assert contents(tmp_path / "out") == {"thesis.txt": b"mine"}


def test_what_is_written_is_not_read(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="also an input"):
        annotate(source, source)
    with pytest.raises(UsageError, match="lie inside an input"):
        annotate(source.parent, f"{source.parent}/out/")


def test_two_runs_do_not_write_to_one_target(source: Path, tmp_path: Path) -> None:
    told: list[BiomuxError] = []

    def again(_: PartReady) -> None:
        if not told:
            try:
                annotate(source, tmp_path / "out.jsonl")
            except AnnotateError as error:
                told.append(error)

    annotate(source, tmp_path / "out.jsonl", listen=again)
    assert "another process is writing there" in str(told[0])


def test_a_wrong_question_leaves_nothing_behind(source: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "out.jsonl", f"{tmp_path}/out/"):
        with pytest.raises(UsageError, match="unknown type 'gene'"):
            annotate(source, target, settings=RuleSettings(query=Query(types=("gene",))))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_failures_are_listed_and_the_rest_goes_on(source: Path, tmp_path: Path) -> None:
    with source.open("a") as stream:
        stream.write("nonsense\n")
        bad = {"biomux": 1, "id": "gap", "text": "Read. Not read.", "sentences": [[0, 5]]}
        stream.write(json.dumps(bad) + "\n")
    tally = annotate(source, tmp_path / "out.jsonl", settings=RuleSettings(strict=True))
    assert (tally.documents, tally.failed) == (60, 2)
    told = [json.loads(line) for line in (tmp_path / "out.jsonl.errors.jsonl").read_text().splitlines()]
    assert [(error["id"], error["code"]) for error in told] == [(None, "BX117"), ("gap", "BX602")]
    assert told[0]["where"].endswith("documents.jsonl:61")
    tally = annotate(source, tmp_path / "out.jsonl", overwrite=True)
    assert (tally.documents, tally.failed, tally.read < tally.characters) == (61, 1, True)
    formats.write(documents(), source)
    annotate(source, tmp_path / "out.jsonl", overwrite=True)
    assert not (tmp_path / "out.jsonl.errors.jsonl").exists()


def test_a_part_may_be_made_twice(tmp_path: Path) -> None:
    part = next(iter(cut(documents(5), Failures())))
    work = PartWork(str(tmp_path), str(tmp_path), RULES)
    first = annotate_part(part, work)
    before = contents(tmp_path)
    assert annotate_part(part, work) == first
    (tmp_path / "part-00000.json").unlink()
    assert annotate_part(part, work) == first
    assert contents(tmp_path) == before


def test_a_link_stays_a_link(source: Path, tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    annotate(source, tmp_path / "link.jsonl", overwrite=True)
    assert (tmp_path / "link.jsonl").is_symlink()
    assert len(list(formats.read(tmp_path / "real.jsonl"))) == 60


def test_nothing_in_gives_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert annotate(tmp_path / "empty.jsonl", tmp_path / "out.jsonl").documents == 0
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_a_worker_that_dies_is_told(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    with pytest.raises(AnnotateError, match="BX604: a worker process ended with code 7 while working on part-0000"):
        annotate(source, tmp_path / "out.jsonl", settings=DyingSettings(), workers=2)


def test_killed_at_any_moment_and_resumed_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    formats.write(documents(2000, words=4), source)
    bundle = tiny.bundle(tmp_path / "bundle")
    command = [sys.executable, "-m", "biomux", "annotate", str(source), "--bundle", str(bundle)]
    command += ["--part-size", "1500", "--threads", "1"]
    subprocess.run([*command, "-o", f"{tmp_path}/usual/"], check=True, capture_output=True, timeout=120)
    chance = random.Random(4)
    killed = 0
    for _ in range(4):
        begun = time.monotonic()
        process = subprocess.Popen(
            [*command, "-o", f"{tmp_path}/out/", "--workers", "2"], stderr=subprocess.DEVNULL, start_new_session=True
        )
        while process.poll() is None and len(list((tmp_path / "out").glob("part-*"))) <= 4 * killed:
            time.sleep(0.02)
            assert time.monotonic() - begun < 60
        time.sleep(chance.random() * 0.3)
        if process.poll() is None:
            kill = os.kill if chance.random() < 0.5 else os.killpg  # the main process alone, or its workers with it
            kill(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed
    subprocess.run([*command, "-o", f"{tmp_path}/out/", "--workers", "2"], check=True, capture_output=True, timeout=120)
    assert contents(tmp_path / "out") == contents(tmp_path / "usual")


def stopped(source: Path, target: str, settings: AnnotateSettings) -> None:
    """A job that ended after its first part."""

    def stop(_: PartReady) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annotate(source, target, settings=settings, listen=stop)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO as good as installed: what it would run, onnxruntime does."""
    from biomux.engine import onnx_session, openvino_session, runtimes

    monkeypatch.setattr(runtimes, "installed", lambda: True)
    monkeypatch.setattr(openvino_session, "OpenVinoSession", onnx_session.OnnxSession)


def runtime_of(target: Path) -> str:
    name: str = json.loads((target / ".biomux" / "manifest.json").read_bytes())["job"]["--runtime"]
    return name


@pytest.mark.usefixtures("both")
def test_a_stopped_run_goes_on_with_its_own_runtime(source: Path, tmp_path: Path) -> None:
    bundle = str(tiny.bundle(tmp_path / "bundle"))
    stopped(source, f"{tmp_path / 'out'}/", AnnotateSettings(bundle=bundle, runtime="openvino"))
    with pytest.raises(AnnotateError, match=r"BX605.*different settings: --runtime"):
        annotate(source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle, runtime="onnxruntime"))
    annotate(source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle))
    assert runtime_of(tmp_path / "out") == "openvino"
    steps: list[PartReady] = []
    annotate(source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle), listen=steps.append)
    assert not steps
    annotate(source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle), overwrite=True)
    assert runtime_of(tmp_path / "out") == "onnxruntime"


@pytest.mark.usefixtures("both")
def test_a_run_whose_runtime_is_gone_says_so(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from biomux.engine import runtimes

    bundle = str(tiny.bundle(tmp_path / "bundle"))
    stopped(source, f"{tmp_path / 'out'}/", AnnotateSettings(bundle=bundle, runtime="openvino"))
    monkeypatch.setattr(runtimes, "installed", lambda: False)
    with pytest.raises(UsageError, match=r"BX003.*started with openvino.*not installed.*pip install.*--restart"):
        annotate(source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle))


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("runtime", ["auto", "openvino"])
def test_a_whole_run_needs_its_runtime_no_more(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    from biomux.engine import runtimes

    bundle = str(tiny.bundle(tmp_path / "bundle"))
    annotate(source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle, runtime="openvino"))
    monkeypatch.setattr(runtimes, "installed", lambda: False)
    steps: list[PartReady] = []
    annotate(
        source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle, runtime=runtime), listen=steps.append
    )
    assert not steps


def test_a_run_from_before_runtimes_had_names_goes_on(source: Path, tmp_path: Path) -> None:
    bundle = str(tiny.bundle(tmp_path / "bundle"))
    stopped(source, f"{tmp_path / 'out'}/", AnnotateSettings(bundle=bundle))
    kept = tmp_path / "out" / ".biomux" / "job.json"
    described = json.loads(kept.read_bytes())
    del described["--runtime"]
    kept.write_text(json.dumps(described))
    annotate(source, f"{tmp_path / 'out'}/", settings=AnnotateSettings(bundle=bundle))
    assert runtime_of(tmp_path / "out") == "onnxruntime"


def test_workers_use_the_runtime_that_was_chosen(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each asks for the name that it was given, and none chooses for itself."""
    from biomux.annotate import run as running

    seen: list[str] = []

    def parts(parts: Any, work: PartWork, *, workers: int, on_read: object) -> Any:
        seen.append(work.settings.runtime)
        return ((part, annotate_part(part, work)) for part in parts)

    monkeypatch.setattr(running, "annotate_parts", parts)
    annotate(
        source,
        tmp_path / "out.jsonl",
        settings=AnnotateSettings(bundle=str(tiny.bundle(tmp_path / "bundle"))),
        workers=2,
    )
    assert seen == ["onnxruntime"]


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"{}", b'{"job": {}}', b'{"job": 1, "tally": 2, "parts": 3}', b"\xff"]
)
def test_a_damaged_note_is_told_and_overwriting_begins_anew(source: Path, tmp_path: Path, content: bytes) -> None:
    annotate(source, f"{tmp_path / 'out'}/")
    before = contents(tmp_path / "out")
    (tmp_path / "out" / ".biomux" / "manifest.json").write_bytes(content)
    with pytest.raises(AnnotateError, match=r"BX605.*damaged; start over with --overwrite"):
        annotate(source, f"{tmp_path / 'out'}/")
    annotate(source, f"{tmp_path / 'out'}/", overwrite=True)
    assert contents(tmp_path / "out") == before


def test_a_damaged_job_is_told(source: Path, tmp_path: Path) -> None:
    work = tmp_path / "out" / ".biomux"
    work.mkdir(parents=True)
    (work / "job.json").write_bytes(b"[]")
    with pytest.raises(AnnotateError, match=r"BX605.*damaged"):
        annotate(source, f"{tmp_path / 'out'}/")
