"""`biomux convert`: what goes where, what is told, and what is never left behind."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from typing import TYPE_CHECKING

import pytest

from biomux import cli, formats
from biomux.document import Document, Span

if TYPE_CHECKING:
    from pathlib import Path

BIOMUX = [sys.executable, "-m", "biomux"]
CONLL = "TP53\tB-gene\nin\tO\nmice\tB-species\n\n"
GOOD = '{"biomux":1,"id":"%s","text":"TP53"}\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def convert(*arguments: str) -> int:
    return cli.run(["convert", *arguments])


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def ids(path: Path | str) -> list[str]:
    return [document.id for document in formats.read(path)]


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_file_becomes_a_file_and_formats_are_stated(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.tsv").write_text(CONLL)
    assert convert("a.tsv", "a.jsonl") == 0
    (document,) = formats.read("a.jsonl")
    assert [document.mention(span) for span in document.spans] == ["TP53", "mice"]
    said = told(capsys)
    assert "reading a.tsv as conll" in said
    assert "read 1 file as conll; wrote 1 document with 2 spans as jsonl" in said


def test_types_get_other_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans = (Span(0, 7, "chemical"), Span(17, 22, "gene"))
    formats.write([Document("1", "Aspirin inhibits COX-2.", spans=spans)], here / "found.jsonl")
    assert convert("found.jsonl", "found.pubtator", "--rename", "gene=Gene,drug=Drug") == 0
    (document,) = formats.read(here / "found.pubtator")
    assert [span.type for span in document.spans] == ["chemical", "Gene"]
    assert "--rename: no type or class is called 'drug'" in told(capsys)
    assert convert("found.jsonl", "again.pubtator", "--rename", "gene") == 2
    assert "--rename needs an old and a new name, got 'gene'; write OLD=NEW" in told(capsys)
    assert convert("found.jsonl", "again.pubtator", "--rename", "gene=Gene", "--rename", "gene=Protein") == 2
    assert "--rename gives 'gene' two names, 'Gene' and 'Protein'" in told(capsys)
    assert not (here / "again.pubtator").exists()


def test_gzip_both_ways(here: Path) -> None:
    (here / "a.tsv.gz").write_bytes(gzip.compress(CONLL.encode()))
    assert convert("a.tsv.gz", "a.jsonl.gz") == 0
    assert gzip.decompress((here / "a.jsonl.gz").read_bytes()).startswith(b'{"biomux":1')


def test_several_files_folders_and_globs_go_into_one_file(here: Path) -> None:
    for name in ("x/a.tsv", "x/deep/b.tsv", "c.tsv"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(CONLL)
    assert convert("x", "*.tsv", "all.jsonl") == 0
    assert ids("all.jsonl") == ["a:1", "b:1", "c:1"]


@pytest.mark.parametrize("source", ["x", "x/", "x/**/*.tsv*", "./x"])
def test_into_a_folder_each_file_keeps_its_path(here: Path, source: str) -> None:
    for name in ("x/a.tsv", "x/deep/b.tsv"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(CONLL)
    (here / "x/deep/c.tsv.gz").write_bytes(gzip.compress(CONLL.encode()))
    assert convert(source, "out/", "--to", "jsonl") == 0
    assert names(here / "out") == ["a.jsonl", "deep/b.jsonl", "deep/c.jsonl.gz"]


def test_a_file_into_a_folder_that_exists(here: Path) -> None:
    (here / "a.tsv").write_text(CONLL)
    (here / "out").mkdir()
    assert convert("a.tsv", "out", "--to", "jsonl") == 0
    assert names(here / "out") == ["a.jsonl"]


def test_an_archives_members_go_where_they_belong(here: Path) -> None:
    with zipfile.ZipFile(here / "x.zip", "w") as archive:
        archive.writestr("deep/a.tsv", CONLL)
    with tarfile.open(here / "y.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("b.tsv")
        member.size = len(CONLL)
        tar.addfile(member, io.BytesIO(CONLL.encode()))
    assert convert("x.zip", "y.tar.gz", "out/", "--to", "jsonl") == 0
    assert names(here / "out") == ["x/deep/a.jsonl", "y/b.jsonl"]
    assert convert("x.zip", "y.tar.gz", "all.jsonl") == 0
    assert ids("all.jsonl") == ["a:1", "b:1"]


@pytest.mark.parametrize("member", ["../evil.tsv", "/evil.tsv", "a/../../evil.tsv"])
def test_an_archive_cannot_write_outside_the_folder(
    here: Path, member: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "in").mkdir()
    with zipfile.ZipFile(here / "in/x.zip", "w") as archive:
        archive.writestr(member, CONLL)
    assert convert("in/x.zip", "in/out/", "--to", "jsonl") == 2
    assert "BX113" in told(capsys)
    assert not list(here.rglob("evil*"))


def test_a_file_without_documents_gets_no_target(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "x").mkdir()
    (here / "x/a.tsv").write_text(CONLL)
    (here / "x/b.jsonl").write_text("")
    assert convert("x", "out/", "--to", "jsonl") == 0
    assert names(here / "out") == ["a.jsonl"]
    assert "1 file without documents: nothing was written for them" in told(capsys)


def test_a_format_of_several_files_makes_a_new_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.tsv").write_text(CONLL)
    assert convert("a.tsv", "out/", "--to", "brat") == 0
    assert {path.suffix for path in (here / "out").iterdir()} == {".txt", ".ann"}
    assert convert("a.tsv", "out/", "--to", "brat") == 2
    assert "error: BX004: out: already exists; replace it with --overwrite, or choose another name" in told(capsys)
    assert convert("a.tsv", "out/", "--to", "brat", "--overwrite") == 0
    (here / "out/thesis.doc").write_text("mine")
    assert convert("a.tsv", "out/", "--to", "brat", "--overwrite") == 2
    assert "error: BX004: out: already exists and contains other files: thesis.doc" in told(capsys)
    (here / "out/thesis.doc").unlink()
    assert convert("out", "back.jsonl") == 0
    assert [span.type for span in next(formats.read("back.jsonl")).spans] == ["gene", "species"]
    assert convert("a.tsv", "-", "--to", "brat") == 2
    assert "it consists of several files" in told(capsys)


def test_two_files_that_would_become_one_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "x").mkdir()
    (here / "x/a.tsv").write_text(CONLL)
    (here / "x/a.conll").write_text(CONLL)
    assert convert("x", "out/", "--to", "jsonl") == 2
    assert "would both become" in told(capsys)


def test_a_target_among_its_sources_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "all.jsonl").write_text(GOOD % 1)
    assert convert(".", "all.jsonl", "--overwrite") == 2
    assert "cannot write to a file that is also a source" in told(capsys)
    assert ids("all.jsonl") == ["1"]


def test_standard_input_and_output() -> None:
    done = subprocess.run(
        [*BIOMUX, "convert", "-", "-", "--to", "jsonl"], input=CONLL.encode(), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["text"] == "TP53 in mice"
    assert b"reading <stdin> as conll" in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_once(here: Path) -> None:
    os.mkfifo(here / "pipe")
    feeder = threading.Thread(target=(here / "pipe").write_bytes, args=(gzip.compress(CONLL.encode()),))
    feeder.start()
    assert convert("pipe", "a.jsonl", "--from", "conll") == 0
    feeder.join()
    assert ids("a.jsonl") == ["pipe:1"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_device_is_written_and_not_replaced(here: Path) -> None:
    (here / "a.tsv").write_text(CONLL)
    os.mkfifo(here / "pipe")
    taken: list[bytes] = []
    reader = threading.Thread(target=lambda: taken.append((here / "pipe").read_bytes()))
    reader.start()
    assert convert("a.tsv", "pipe", "--to", "jsonl") == 0
    reader.join()
    assert json.loads(taken[0])["text"] == "TP53 in mice"
    assert (here / "pipe").is_fifo()


def test_a_link_stays_a_link(here: Path) -> None:
    (here / "a.tsv").write_text(CONLL)
    (here / "far").mkdir()
    (here / "far/real.jsonl").write_text("")
    (here / "link.jsonl").symlink_to(here / "far/real.jsonl")
    assert convert("a.tsv", "link.jsonl", "--overwrite") == 0
    assert (here / "link.jsonl").is_symlink()
    assert ids(here / "far/real.jsonl") == ["a:1"]


def test_options_reach_the_format(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.tsv").write_text("TP53\tB\nis\tO\n\n")
    assert convert("a.tsv", "a.jsonl", "--option", "type=gene") == 0
    assert [span.type for span in next(formats.read("a.jsonl")).spans] == ["gene"]
    assert convert("a.tsv", "b.jsonl", "-O", "tpye=gene") == 2
    assert "format 'conll' has no option 'tpye'; did you mean 'type'? choose from: type" in told(capsys)
    assert convert("a.tsv", "a.jsonl", "-O", "type") == 2
    assert convert("a.jsonl", "b.jsonl", "-O", "type=gene") == 2


@pytest.mark.parametrize("option", ["goal", "--skipped", "--lost"])
def test_what_exists_is_not_replaced_unless_that_is_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    (here / "a.tsv").write_text(CONLL)
    (here / "mine").write_text("mine")
    goal = "mine" if option == "goal" else "new"
    asked = ["a.tsv", goal, "--to", "jsonl", "--on-error", "skip", *([] if option == "goal" else [option, "mine"])]
    assert convert(*asked) == 2
    assert "error: BX004: mine: already exists; replace it with --overwrite, or choose another name" in told(capsys)
    assert (here / "mine").read_text() == "mine"
    assert convert(*asked, "--overwrite") == 0
    assert (here / "mine").read_text() != "mine"


def test_a_malformed_record_stops_and_leaves_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.jsonl").write_text(GOOD % 1 + "{oops\n" + GOOD % 3)
    assert convert("a.jsonl", "b.jsonl") == 2
    last = told(capsys).splitlines()[-1]
    assert last.startswith("error: BX117: a.jsonl:2: ")
    assert last.count("or skip such records with --on-error skip") == 1
    assert names(here) == ["a.jsonl"]


def test_malformed_records_can_be_skipped_and_are_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.jsonl").write_text("".join(GOOD % n + "{oops\n" for n in range(25)))
    assert convert("a.jsonl", "b.jsonl", "--on-error", "skip", "--skipped", "bad.txt") == 0
    assert len(ids("b.jsonl")) == 25
    said = told(capsys)
    assert "skipped 25:\n  BX117: a.jsonl:2: " in said
    assert "and 5 more: see bad.txt" in said
    assert said.count("BX117") == 20
    assert len((here / "bad.txt").read_text().splitlines()) == 25


def test_a_file_that_cannot_be_read_at_all_can_be_skipped_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "x").mkdir()
    (here / "x/a.jsonl.gz").write_bytes(gzip.compress((GOOD % 1).encode())[:-9])
    (here / "x/b.unknown").write_bytes(b"\x00\x01")
    (here / "x/c.zip").write_bytes(b"PK nothing")
    (here / "x/d.jsonl").write_text(GOOD % 2)
    assert convert("x", "all.jsonl") == 2
    assert not (here / "all.jsonl").exists()
    assert convert("x", "all.jsonl", "--on-error", "skip") == 0
    assert "2" in ids("all.jsonl")
    said = told(capsys)
    assert "skipped 3:" in said
    assert all(code in said for code in ("BX110", "BX112"))


def overlapping(path: str) -> None:
    formats.write(
        [Document("7", "TP53 gene", spans=(Span(0, 4, "gene"), Span(0, 9, "gene", identifiers=("7157",))))], path
    )


def test_what_the_target_cannot_hold_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlapping("a.jsonl")
    assert convert("a.jsonl", "a.conll") == 0
    said = told(capsys)
    assert "lost: overlaps (1), for instance in document '7'" in said
    assert "lost: identifiers (1), for instance in document '7'" in said


@pytest.mark.parametrize("goal", ["a.tsv", "out/", "-"])
def test_strict_loss_writes_nothing(here: Path, goal: str, capsys: pytest.CaptureFixture[str]) -> None:
    overlapping("a.jsonl")
    code = subprocess.run([*BIOMUX, "convert", "a.jsonl", goal, "--to", "conll", "--strict-loss"], capture_output=True)
    assert code.returncode == 2
    assert b"error: BX130: " in code.stderr
    assert b"lost: " in code.stderr
    assert names(here) == ["a.jsonl"]


def test_strict_loss_lets_a_whole_conversion_pass(here: Path) -> None:
    overlapping("a.jsonl")
    assert convert("a.jsonl", "b.jsonl", "--strict-loss") == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["missing.tsv", "a.jsonl"], "BX002"),
        (["missing*.tsv", "a.jsonl"], "BX002"),
        (["empty", "a.jsonl"], "BX002"),
        (["a.tsv", "nowhere/a.jsonl"], "BX002"),
        (["a.tsv", "a.unknown"], "BX110"),
        (["a.tsv", "a.jsonl", "--from", "nope"], "BX110"),
        (["a.tsv", "a.jsonl", "--to", "nope"], "BX110"),
        (["a.tsv", "-"], "BX001"),
        (["a.tsv", "out/"], "BX001"),
        (["-", "-", "a.jsonl"], "BX001"),
        (["a.tsv", "a.jsonl", "--skipped", "bad.txt"], "BX001"),
        (["a.tsv", "a.jsonl", "--on-error", "maybe"], "BX001"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_is_one_sentence(
    here: Path, arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "a.tsv").write_text(CONLL)
    (here / "empty").mkdir()
    assert convert(*arguments) == 2
    assert told(capsys).splitlines()[-1].startswith(f"error: {code}: ")
    assert names(here) == ["a.tsv"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_conversion_leaves_nothing(here: Path, number: signal.Signals, code: int) -> None:
    process = subprocess.Popen(
        [*BIOMUX, "convert", "-", "out.jsonl", "--from", "jsonl"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin
    process.stdin.write((GOOD % 1).encode() * 1000)
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not names(here) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert names(here), "the conversion has not begun"
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == code
    assert said.decode().splitlines()[-1] == "stopped"
    assert b"Traceback" not in said
    assert names(here) == []


def test_a_reader_that_goes_away_is_no_error(here: Path) -> None:
    (here / "a.jsonl").write_text(GOOD % 1 * 20_000)
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m biomux convert a.jsonl - --to jsonl | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[1:] == ["141"]
    assert "Error" not in done.stderr
    assert "error" not in done.stderr


def test_progress_counts_stored_bytes(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biomux.cli.ui.display.Progress.every", 0.0)
    (here / "a.jsonl.gz").write_bytes(gzip.compress((GOOD % 1 * 1000).encode()))
    size = (here / "a.jsonl.gz").stat().st_size
    assert convert("a.jsonl.gz", "b.jsonl") == 0
    assert f"converting: {size} bytes of {size} bytes (100%), 0 s left" in told(capsys)


def test_a_document_that_the_target_cannot_hold_can_be_skipped(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.jsonl").write_text(GOOD % "1" + GOOD % "a|b" + GOOD % "2")
    assert convert("a.jsonl", "a.pubtator") == 2
    assert "or skip such records with --on-error skip" in told(capsys)
    assert convert("a.jsonl", "a.pubtator", "--on-error", "skip") == 0
    assert ids("a.pubtator") == ["1", "2"]
    said = told(capsys)
    assert "wrote 2 documents" in said
    assert "skipped 1:\n  BX120: document 'a|b'" in said


def test_a_document_that_a_folder_cannot_hold_can_be_skipped(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untyped, typed = ((Span(0, 4, entity_type),) for entity_type in ("", "gene"))
    formats.write([Document("1", "TP53", spans=untyped), Document("2", "TP53 gene", spans=typed)], "a.jsonl")
    assert convert("a.jsonl", "out", "--to", "brat", "--on-error", "skip") == 0
    assert ids("out") == ["2"]
    assert "skipped 1:\n  BX120: document '1'" in told(capsys)


def test_a_format_that_is_only_read_is_refused_as_a_target(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats.write([Document("1", "plain")], "a.jsonl")
    for target in (["out", "--to", "chemprot"], ["out.bioasq.json"]):
        assert convert("a.jsonl", *target) == 2
        assert "it is read-only; choose from: bioc-json, bioc-xml, brat," in told(capsys)
        assert not (here / target[0]).exists()


def test_files_of_no_format_in_a_folder_are_passed_over_and_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "in").mkdir()
    (here / "in/a.tsv").write_text(CONLL)
    (here / "in/paper.docx").write_bytes(b"PK\x03\x04\x00\x00")
    assert convert("in", "a.jsonl") == 0
    assert ids("a.jsonl") == ["a:1"]
    assert "skipped 1 of unknown format: in/paper.docx\n" in told(capsys)


@pytest.mark.parametrize("source", ["in", "in/paper.docx", "in/*"])
def test_a_file_of_no_format_is_an_error_where_there_is_no_other(
    here: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "in").mkdir()
    (here / "in/paper.docx").write_bytes(b"PK\x03\x04\x00\x00")
    assert convert(source, "a.jsonl") == 2
    assert "BX110: in/paper.docx: cannot recognise the format: it is a zip or office file" in told(capsys)
    assert not (here / "a.jsonl").exists()


def test_a_file_that_looks_like_data_is_never_passed_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "in").mkdir()
    (here / "in/a.tsv").write_text(CONLL)
    (here / "in/b.tsv").write_bytes(b"")
    assert convert("in", "a.jsonl") == 2
    assert "BX110: in/b.tsv: cannot recognise the format: the file is empty" in told(capsys)


def test_a_file_that_breaks_off_is_not_told_as_one_record(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.tsv").write_bytes(CONLL.encode() + b"caf\xe9\tO\n\n" + CONLL.encode() * 3)
    assert convert("a.tsv", "a.jsonl", "--on-error", "skip") == 0
    assert "0xe9) is not UTF-8 (the file was not read beyond this)" in told(capsys)


@pytest.mark.parametrize("arguments", [(), ("a.tsv",)])
def test_a_missing_target_is_not_told_as_a_missing_source(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert(*arguments) == 2
    assert "BX001: missing arguments: SOURCE and TARGET are required" in told(capsys)


def test_in_a_folder_an_option_is_for_the_formats_that_have_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "in").mkdir()
    (here / "in/a.jsonl").write_text(GOOD % "1")
    (here / "in/b.txt").write_text("one\ntwo\n")
    assert convert("in", "a.jsonl", "--option", "by=line") == 0
    assert ids("a.jsonl") == ["1", "b:1", "b:2"]
    assert convert("in", "b.jsonl", "--option", "colour=red") == 2
    assert "BX001: none of the formats that were read has an option 'colour'" in told(capsys)
    assert not (here / "b.jsonl").exists()


@pytest.mark.parametrize("value", ["no", "False", "maybe", ""])
def test_an_option_that_is_true_or_false_is_nothing_else(
    here: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "a.squad.json").write_text('{"data": []}')
    assert convert("a.squad.json", "a.jsonl", "--from", "squad", "--option", f"repair={value}") == 2
    assert f"BX001: option 'repair' must be true or false, got {value!r}" in told(capsys)


UPDATE = """<?xml version="1.0" encoding="UTF-8"?>
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>TP53</ArticleTitle></Article></MedlineCitation></PubmedArticle>
<DeleteCitation>%s</DeleteCitation>
</PubmedArticleSet>
"""


def test_withdrawn_citations_are_counted_and_listed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "update.xml").write_text(UPDATE % "<PMID>7</PMID><PMID>8</PMID>")
    assert convert("update.xml", "a.jsonl") == 0
    assert ids("a.jsonl") == ["1"]
    assert "skipped 2 documents that the source has withdrawn (7, 8)" in told(capsys)


def test_all_withdrawn_citations_are_in_the_list_of_skipped(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "update.xml").write_text(UPDATE % "".join(f"<PMID>{number}</PMID>" for number in range(30)))
    assert convert("update.xml", "a.jsonl", "--on-error", "skip", "--skipped", "skipped.txt") == 0
    said = told(capsys)
    assert "skipped 30 documents that the source has withdrawn (0, 1, 2," in said
    assert "and 10 more: see skipped.txt)" in said
    listed = (here / "skipped.txt").read_text().splitlines()
    assert listed == [f"update.xml: {number} has been withdrawn" for number in range(30)]


def test_answers_that_were_put_right_are_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [{"text": "bats", "answer_start": place} for place in (5, 6)]
    asked = [{"id": str(at), "question": "Who?", "answers": [one]} for at, one in enumerate(answers)]
    paragraph = {"context": "From bats to us.", "qas": asked}
    (here / "a.squad.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
    assert convert("a.squad.json", "a.jsonl") == 0
    assert "were corrected: 1 (-O repair=false rejects them)" in told(capsys)
    assert convert("a.jsonl", "b.squad.json") == 0
    assert convert("b.squad.json", "b.jsonl") == 0
    assert "beside it" not in told(capsys)
    assert convert("a.squad.json", "c.jsonl", "--option", "repair=false") == 2


def test_a_readme_beside_data_is_left_out_and_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "in").mkdir()
    (here / "in" / "a.tsv").write_text(CONLL)
    (here / "in" / "README.txt").write_text("What this is.")
    (here / "in" / "LICENSE.txt").write_text("MIT")
    assert convert("in", "a.jsonl") == 0
    assert ids("a.jsonl") == ["a:1"]
    assert "skipped 2 that describe the other files: in/LICENSE.txt, in/README.txt" in told(capsys)


def test_each_loss_is_listed_on_request(here: Path) -> None:
    spans = (Span(0, 13, "disease"), Span(0, 6, "organ"))
    documents = [Document("1", "breast cancer", spans=spans), Document("2", "breast cancer", spans=spans)]
    formats.write(documents, "a.jsonl")
    assert convert("a.jsonl", "a.conll", "--lost", "lost.txt") == 0
    lost = (here / "lost.txt").read_text().splitlines()
    overlaps = [line for line in lost if "overlaps" in line]
    assert [line.partition(":")[0] for line in overlaps] == ["document '1'", "document '2'"]
    assert all("'breast'" in line and "organ" in line for line in overlaps)


def test_only_the_spans_that_were_written_are_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = Document("1", "breast cancer", spans=(Span(0, 13, "disease"), Span(0, 6, "organ")))
    formats.write([document], "a.jsonl")
    for target, spans in (("a.conll", 1), ("a.pubtator", 2), ("a.txts/", 0)):
        assert convert("a.jsonl", target, *(["--to", "text"] if spans == 0 else [])) == 0
        assert f"wrote 1 document with {spans} span{'s' * (spans != 1)} as" in told(capsys)


def test_folders_above_an_output_folder_are_made(here: Path) -> None:
    formats.write([Document("1", "breast cancer", spans=(Span(0, 13, "disease"),))], "a.jsonl")
    assert convert("a.jsonl", "new/deep/out", "--to", "brat") == 0
    assert (here / "new/deep/out/1.ann").is_file()
    formats.write([Document("1", "breast cancer")], "other/deep/out", format="brat")
    assert (here / "other/deep/out/1.txt").is_file()


def test_settings_beside_brats_files_are_left_out_in_every_command(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formats.write([Document("1", "TP53", spans=(Span(0, 4, "gene"),))], "gold.brat")
    for name in ("annotation.conf", "visual.conf", ".stats_cache"):
        (here / "gold.brat" / name).write_text("[entities]\ngene\n")
    assert convert("gold.brat", "a.jsonl") == 0
    assert ids("a.jsonl") == ["1"]
    assert "skipped 2 that describe the other files: gold.brat/annotation.conf, gold.brat/visual.conf" in told(capsys)
    assert (
        convert(*(f"gold.brat/{name}" for name in ("1.ann", "1.txt", "annotation.conf", "visual.conf")), "b.jsonl") == 0
    )
    assert ids("b.jsonl") == ["1"]
    assert "skipped 2 that describe the other files: gold.brat/annotation.conf, gold.brat/visual.conf" in told(capsys)
    assert cli.run(["score", "gold.brat", "gold.brat"]) == 0
    assert cli.run(["score", "gold.brat", "a.jsonl"]) == 0


def test_the_target_may_be_named_by_an_option(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.tsv").write_text(CONLL)
    (here / "b.tsv").write_text(CONLL)
    assert convert("a.tsv", "b.tsv", "-o", "all.jsonl") == 0
    assert ids("all.jsonl") == ["a:1", "b:1"]
    told(capsys)
    assert convert("a.tsv", "b.jsonl", "-o", "type=gene") == 2
    assert "if this is an option of a format, write -O type=gene" in told(capsys)


def test_columns_and_keys_are_named_by_options(here: Path) -> None:
    (here / "a.csv").write_text("nr,ti,ab\n7,Aspirin,It helps.\n")
    (here / "b.jsonl").write_text('{"nr": 8, "ti": "TP53", "ab": "It binds."}\n')
    assert convert("a.csv", "b.jsonl", "all.jsonl", "--text", "ti,ab", "--id", "nr") == 0
    found = list(formats.read("all.jsonl"))
    assert [(document.id, document.text) for document in found] == [
        ("7", "Aspirin\nIt helps."),
        ("8", "TP53\nIt binds."),
    ]


def test_columns_are_named_for_standard_input(here: Path) -> None:
    command = [*BIOMUX, "convert", "-", "a.jsonl", "--text", "ab"]
    subprocess.run(command, input=b"nr\tab\n7\tAspirin helps.\n", check=True, capture_output=True, timeout=60)
    assert [document.text for document in formats.read("a.jsonl")] == ["Aspirin helps."]


def test_an_option_that_nothing_takes_is_an_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.conll").write_text(CONLL)
    assert convert("a.conll", "a.jsonl", "--text", "ab") == 2
    assert "format 'conll' has no option 'text'" in told(capsys)


def test_lines_are_offered_where_they_look_like_documents(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.txt").write_text("Aspirin helps.\n" * 20)
    assert convert("a.txt", "a.jsonl") == 0
    assert "a.txt is read as one document, but each of its lines looks like a document: --from lines" in told(capsys)
    assert len(ids("a.jsonl")) == 1
    assert convert("a.txt", "b.jsonl", "--from", "lines") == 0
    assert "look like" not in told(capsys)
    assert len(ids("b.jsonl")) == 20


def test_a_table_of_entities_is_a_target(here: Path) -> None:
    (here / "a.conll").write_text(CONLL)
    assert convert("a.conll", "a.tsv") == 0
    rows = [line.split("\t")[:5] for line in (here / "a.tsv").read_text().splitlines()]
    assert rows[1:] == [["a:1", "0", "4", "gene", "TP53"], ["a:1", "8", "12", "species", "mice"]]
