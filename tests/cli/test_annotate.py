"""`biomux annotate` as it is typed."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import terminal
import tiny

from biomux import cli, formats
from biomux.cli.ui import display
from biomux.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable

    Annotate = Callable[..., int]

TEXT = "Aspirin was given by mice. Severe ulcer after zolmide."


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.bundle(tmp_path_factory.mktemp("annotate") / "bundle"))


@pytest.fixture
def annotate(bundle: str) -> Annotate:
    return lambda *arguments: cli.run(["annotate", "--bundle", bundle, "--threads", "1", *map(str, arguments)])


def test_a_pipe_gets_json_lines_and_the_summary_goes_beside(
    annotate: Annotate, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(TEXT) == 0
    out, err = capsys.readouterr()
    (document,) = formats.read_source(formats.of_bytes("out.jsonl", out.encode()))
    assert document.text == TEXT
    assert document.spans
    assert re.search(r"^1 document, 9 words, [\d,]+ words per second; all of the characters read$", err, re.MULTILINE)
    assert re.search(rf"^{len(document.spans)} entities: \w+ \d+", err, re.MULTILINE)


def test_columns_have_a_sentence_a_block_and_count_what_is_written(
    annotate: Annotate, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(TEXT, "--format", "conll") == 0
    out, err = capsys.readouterr()
    (document,) = formats.read_source(formats.of_bytes("out.conll", out.encode()))
    assert [document.text[start:end] for start, end in document.sentences or ()] == [
        "Aspirin was given by mice.",
        "Severe ulcer after zolmide.",
    ]
    (total,) = re.findall(r"^(\d+) entit", err, re.MULTILINE)
    assert int(total) > len(document.spans)
    assert f"written: {len(document.spans)} of {total} entities" in err
    assert (
        "of overlapping entities only the longest were written, whatever their type; --resolve chooses by type" in err
    )
    assert annotate(TEXT, "--format", "conll", "--resolve") == 0
    assert "overlap" not in capsys.readouterr().err


def test_plain_text_has_brackets(annotate: Annotate, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(TEXT, "--plain", "--types", "Chemical") == 0
    out = capsys.readouterr().out
    assert re.sub(r"\[|\|Chemical\]", "", out) == TEXT + "\n"
    assert "|Chemical]" in out


def test_a_table_of_entities(annotate: Annotate, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(TEXT, "--format", "tsv", "--heads", "genes") == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["document", "start", "end", "type", "mention", "score", "head", "identifiers"]
    assert len(lines) > 1
    for _, start, end, type_, mention, score, head, _ in lines[1:]:
        assert (TEXT[int(start) : int(end)], type_, head) == (mention, "Gene", "genes")
        assert 0 <= float(score) <= 1


def test_thresholds_by_type(annotate: Annotate, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(TEXT, "--threshold", "1,Gene=0") == 0
    document = json.loads(capsys.readouterr().out)
    assert {span["type"] for span in document["spans"]} == {"Gene"}


def test_resolved_entities_do_not_overlap(annotate: Annotate, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(tiny.text(60), "--resolve") == 0
    spans = json.loads(capsys.readouterr().out)["spans"]
    assert all(left["end"] <= right["start"] for left, right in pairwise(spans))


def test_standard_input_is_read_as_what_it_is_or_as_text(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for given in (TEXT, '{"biomux":1,"id":"7","text":"Aspirin was given."}\n'):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        assert annotate("-", "--format", "jsonl") == 0
    texts = [json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()]
    assert texts == [TEXT, "Aspirin was given."]


def test_several_inputs_and_text_that_looks_like_a_file(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("Fever.")
    assert annotate(tmp_path / "note.txt", "Aspirin again.") == 0
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == ["note", "text"]
    assert annotate("aspirin", "--as-text") == 0
    assert json.loads(capsys.readouterr().out)["text"] == "aspirin"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.txt"], "BX002: no such file or folder: 'nowhere.txt'"),
        (
            ["a text", "--types", "gene"],
            "BX001: unknown type 'gene'; did you mean 'Gene'? choose from: Chemical, Disease, Gene",
        ),
        (["a text", "--types", ","], "BX001: --types must name at least one type"),
        (["a text", "--threshold", "gene"], "BX001: --threshold must be a score such as 0.5 or gene=0.7, got 'gene'"),
        (["a text", "--precision", "0.9"], "BX001: cannot choose a threshold by precision for"),
        (["a text", "--format", "nonsense"], "BX110: unknown format 'nonsense'"),
        (["a text", "--format", "brat"], "BX120: cannot write the format 'brat' to a pipe"),
        (["a text", "--workers", "2"], "BX001: --workers needs an output"),
        (["a text", "--restart"], "BX001: --restart needs an output"),
        (["a text", "--overwrite"], "BX001: --overwrite needs an output"),
        (["a text", "--gzip"], "BX001: --gzip needs an output"),
        (["a text", "--plain", "-o", "x.jsonl"], "BX001: cannot use --plain with -o"),
        (["a text", "--format", "medline"], "BX120: format 'medline' cannot hold entities"),
        (["a text", "-o", "x.strange"], "BX110: cannot recognise the format of 'x.strange' by its suffix"),
        (["a text", "-o", "no/such/folder/x.jsonl"], "BX002: no such folder: 'no/such/folder'"),
        (["a text", "-o", "x.jsonl", "--gzip"], "BX001: cannot use --gzip with a single output file"),
        (["a text", "-o", ""], "BX002: cannot write to ''"),
        (["a text", "-o", "/"], "BX002: cannot write to '/'"),
        (["a text", "--format", "tsv", "--types", "gene"], "BX001: unknown type 'gene'"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], told: str, annotate: Annotate, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(*arguments) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {told}")
    assert (out, err.count("\n")) == ("", 1)


def test_without_a_bundle_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["annotate", "a text", "--bundle", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("error: BX501: unknown bundle 'nowhere'")


def test_a_failed_document_is_told_and_gives_exit_code_three(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"biomux":1,"id":"1","text":"Fever."}\n{"biomux":1,"id":"2","text":"\\ud800"}\n')
    assert annotate(path) == 3
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert f"failed: BX117: {path}:2: " in err
    assert "lone surrogate" in err
    assert err.endswith("failed: 1 document or file\n")
    assert annotate(path, "-o", tmp_path / "out.jsonl") == 3
    assert f"failures are listed in {tmp_path / 'out.jsonl'}.errors.jsonl" in capsys.readouterr().err
    assert len(list(formats.read(tmp_path / "out.jsonl"))) == 1


@pytest.mark.parametrize("where", [[], ["-o", "out.jsonl"]])
def test_failures_are_listed_and_can_stop_the_run(
    annotate: Annotate,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    where: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/a.txt").write_text("aspirin")
    Path("in/b.txt").write_bytes(b"caf\xe9")
    assert annotate("in", *where) == 3
    told = capsys.readouterr().err
    assert "failed: BX111: in/b.txt: byte 3 (0xe9) is not UTF-8" in told
    assert "all of their characters read" in told
    assert "failed: 1 document or file\n" in told
    Path("out.jsonl").unlink(missing_ok=True)
    assert annotate("in", *where, "--on-error", "stop") == 2
    assert re.search(
        r"^error: BX111: in/b\.txt: .*skip such files with --on-error skip \(docs/reference/errors\.md#bx111\)$",
        capsys.readouterr().err,
        re.MULTILINE,
    )
    assert annotate("in", *where) == 3


def test_a_document_that_the_format_cannot_hold_ends_no_stream(
    annotate: Annotate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("a", "aspirin"), ("b", "form\ffeed"), ("c", "fever")):
        (tmp_path / f"{name}.txt").write_text(text)
    assert annotate(str(tmp_path), "--format", "bioc-xml") == 3
    told = capsys.readouterr()
    assert re.findall("<id>(.)</id>", told.out) == ["a", "c"]
    assert "failed: BX120: document 'b': character U+000C at 4 is not allowed in XML" in told.err


def test_a_run_in_which_all_failed_does_not_say_that_all_was_read(
    annotate: Annotate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.txt").write_bytes(b"caf\xe9")
    assert annotate(str(tmp_path / "b.txt")) == 3
    told = capsys.readouterr().err
    assert "0 documents, 0 words\n" in told
    assert "characters read" not in told


def test_strict_refuses_what_was_not_wholly_read(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"biomux":1,"id":"1","text":"Fever. Gone.","sentences":[[0,6]]}\n')
    assert annotate(path) == 0
    assert "54.54% of the characters read" in capsys.readouterr().err
    assert annotate(path, "--strict") == 3
    assert "failed: BX602: document '1': 5 characters were not read" in capsys.readouterr().err


def test_a_job_says_what_it_did_and_what_was_there(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    formats.write([Document(str(index), tiny.text(9, seed=index)) for index in range(20)], tmp_path / "in.jsonl")
    arguments = (tmp_path / "in.jsonl", "-o", f"{tmp_path}/out/", "--part-size", "100", "--gzip")
    assert annotate(*arguments) == 0
    assert "20 documents, 180 words" in capsys.readouterr().err
    assert annotate(*arguments) == 0
    assert "already finished: nothing to do" in capsys.readouterr().err
    assert len(list(formats.read(tmp_path / "out"))) == 20


def test_progress_tells_words_a_second_and_the_time_left(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display.Progress, "every", 0.0)
    formats.write([Document(str(index), tiny.text(9, seed=index)) for index in range(20)], tmp_path / "in.jsonl")
    assert annotate(tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl", "--part-size", "300") == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "words/s" in line]
    assert len(told) > 1
    assert all(re.fullmatch(r"[\d,]+ words/s: .+ of .+ \(\d+%\), \d+ s left", line) for line in told)


def test_the_folder_that_one_is_in_can_be_filled(
    annotate: Annotate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert annotate(TEXT, "-o", ".") == 0
    assert [path.name for path in tmp_path.glob("here/part-*")] == ["part-00000.jsonl"]


def test_what_the_target_cannot_hold_is_told(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert annotate(TEXT, "-o", tmp_path / "out.pubtator") == 0
    assert "lost: scores" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["", " ", "\U0001f9ec" * 50, "\u0627\u0644 \u05d0 fever", "a\x01b aspirin", "x" * 20_000 + " aspirin"],
    ids=["empty", "blank", "emoji", "right to left", "control", "long word"],
)
@pytest.mark.parametrize("way", ["jsonl", "tsv", "plain"])
def test_strange_texts_pass_in_every_way(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], text: str, way: str
) -> None:
    assert annotate("--as-text", *(["--plain"] if way == "plain" else ["--format", way]), "--", text) == 0
    out = capsys.readouterr().out
    if way == "jsonl":
        document = json.loads(out)
        assert document["text"] == text
        assert all(0 <= span["start"] < span["end"] <= len(text) for span in document.get("spans", ()))


def on_a_terminal(*arguments: str, columns: int = 80, **environment: str) -> str:
    return terminal.on_a_terminal("annotate", *arguments, columns=columns, **environment).replace("\r\n", "\n")


CODES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("columns", [80, 40])
def test_a_terminal_shows_colours_labels_and_a_legend(bundle: str, columns: int) -> None:
    shown = on_a_terminal(TEXT, "--bundle", bundle, "--threads", "1", columns=columns)
    assert re.search(r"\x1b\[[0-9;]*4;38;5;\d+m", shown)
    lines = CODES.sub("", shown).splitlines()
    assert all(len(line) <= columns for line in lines[:-1])  # the last is the summary
    assert "Gene" in shown
    assert re.search(r"^(Chemical|Disease|Gene) \d+(  |$)", "\n".join(lines[:-1]), re.MULTILINE)


def test_no_color_is_respected(bundle: str) -> None:
    shown = on_a_terminal(TEXT, "--bundle", bundle, "--threads", "1", NO_COLOR="1")
    assert "38;5" not in shown
    assert "\x1b[4m" in shown


def test_ctrl_c_stops_at_once_and_leaves_work_to_go_on_with(bundle: str, tmp_path: Path) -> None:
    formats.write([Document(str(i), tiny.text(30, seed=i)) for i in range(3000)], tmp_path / "in.jsonl")
    command = [
        sys.executable,
        "-m",
        "biomux",
        "annotate",
        str(tmp_path / "in.jsonl"),
        "-o",
        str(tmp_path / "out.jsonl"),
    ]
    command += ["--bundle", bundle, "--part-size", "2000", "--workers", "2", "--threads", "1"]
    process: Any = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    work = tmp_path / ".out.jsonl.biomux"
    begun = time.monotonic()
    while not list(work.glob("part-*.json")) and time.monotonic() - begun < 60:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) == 130
    assert process.stderr.read().splitlines()[-2:] == ["to go on from here, repeat the command", "stopped"]
    process.stderr.close()
    assert list(work.glob("part-*.json"))
    assert not (tmp_path / "out.jsonl").exists()


def test_columns_are_named_by_options(annotate: Annotate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("nr,ab\n7,TP53 binds.\n")
    assert annotate(tmp_path / "a.csv", "--text", "ab", "--id", "nr") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["id"], document["text"]) == ("7", "TP53 binds.")
    out = tmp_path / "out.jsonl"
    assert annotate(tmp_path / "a.csv", "-O", "text=ab", "-O", "id=nr", "-o", out) == 0
    assert [one.id for one in formats.read(out)] == ["7"]


def test_a_text_a_line(annotate: Annotate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("TP53 binds.\n" * 10)
    assert annotate(tmp_path / "a.txt", "--from", "lines") == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 10
    assert "--from lines" not in captured.err
    assert annotate(tmp_path / "a.txt") == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert "--from lines" in captured.err


def test_a_job_with_other_options_does_not_go_on(annotate: Annotate, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,ti,ab\n7,Title,TP53 binds.\n")
    assert annotate(tmp_path / "a.csv", "--text", "ab", "-o", f"{tmp_path}/out/") == 0
    assert annotate(tmp_path / "a.csv", "--text", "ti", "-o", f"{tmp_path}/out/") == 2


def test_a_run_is_annotated_as_its_bundle_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="the extra 'train' is not installed")
    run, text = tiny.run(tmp_path / "run"), tmp_path / "one.txt"
    text.write_text(TEXT)
    found = []
    for model in (run, tiny.bundle(tmp_path / "bundle")):
        out = tmp_path / f"{model.name}.jsonl"
        assert cli.run(["annotate", "--bundle", str(model), "--threads", "1", str(text), "-o", str(out)]) == 0
        assert cli.run(["annotate", "--bundle", str(model), "--threads", "1", TEXT]) == 0
        (document,) = formats.read(out)
        found.append([(span.start, span.end, span.type, span.head) for span in document.spans])
    assert found[0] == found[1]
    capsys.readouterr()
    assert cli.run(["annotate", "--bundle", str(run), "--runtime", "onnxruntime", TEXT]) == 2
    assert "this is a run, which only torch can compute" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "biomux.training.load_run", None)
    assert cli.run(["annotate", "--bundle", str(run), TEXT]) == 2
    error = capsys.readouterr().err
    assert "BX003" in error
    assert "biomux[train]" in error
