"""`biomux ask` as it is typed."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from biomux import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., int]

TEXTS = ("of in dose high the.", "mice. liver given dose severe of.")


@pytest.fixture
def ask(answering_run: Path) -> Ask:
    return lambda *arguments: cli.run(["ask", "--model", str(answering_run), "--threads", "1", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text("\n".join(TEXTS))
    return tmp_path / "in.txt"


def test_answers_have_score_place_and_sentence(ask: Ask, capsys: pytest.CaptureFixture[str], source: Path) -> None:
    assert ask("dose", source, "--from", "lines", "-n", 8) == 0
    out, err = capsys.readouterr()
    answers = [json.loads(line) for line in out.splitlines()]
    assert answers[0]["text"] == "high"
    assert [answer["score"] for answer in answers] == sorted((answer["score"] for answer in answers), reverse=True)
    for answer in answers:
        text = TEXTS[int(answer["document"][-1]) - 1]
        assert text[answer["start"] : answer["end"]] == answer["text"]
        assert answer["text"] in answer["sentence"]
        assert answer["sentence"] in text
    assert f"{len(answers)} answers from 2 documents\n" in err


def test_n_is_the_number_of_answers(ask: Ask, capsys: pytest.CaptureFixture[str], source: Path) -> None:
    assert ask("dose", source, "--from", "lines", "-n", 1) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_tables_say_the_same(ask: Ask, capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    assert ask("dose", source, "--from", "lines", "--format", "tsv") == 0
    tsv = list(csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert (tsv[0]["answer"], tsv[0]["document"], tsv[0]["head"]) == ("high", "in:1", "doses")
    assert ask("dose", source, "--from", "lines", "-o", tmp_path / "out.csv") == 0
    assert list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text()))) == tsv
    assert ask("dose", source, "--from", "lines", "-o", tmp_path / "out.csv") == 2
    assert "BX004" in capsys.readouterr().err
    assert ask("dose", source, "--from", "lines", "-o", tmp_path / "out.csv", "--overwrite") == 0


def test_standard_input_and_texts(
    ask: Ask, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXTS[0].encode())))
    assert ask("dose", "-", "-n", 1) == 0
    assert ask("dose", TEXTS[0], "-n", 1) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["text"] == second["text"] == "high"


def test_the_terminal_lists_answers(
    ask: Ask, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert ask("dose", TEXTS[0], "-n", 1) == 0
    out = capsys.readouterr().out
    assert "\x1b[4mhigh\x1b[0m" in out
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()
    assert shown[:2] == ["1. high", "   of in dose high the."]
    assert re.fullmatch(r"   [01]\.\d\d  text, 11\.\.15", shown[2])


def test_a_bad_file_is_reported_and_the_rest_is_read(
    ask: Ask, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text('{"biomux":1,"id":"1","text":"of in dose high the."}\n{"biomux":1}\n')
    assert ask("dose", tmp_path / "a.jsonl", "-n", 1) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["text"] == "high"
    assert "failed: 1 document or file\n" in err
    assert ask("dose", tmp_path / "a.jsonl", "--on-error", "stop") == 2


def test_a_long_question_is_reported(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("dose " * 25, TEXTS[0]) == 0
    assert "the question is longer than the model reads: its last 5 tokens are left out\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "a b"), "BX001: the argument QUESTION must not be empty"),
        ((" ", "a b"), "BX001: the question must not be empty"),
        (("dose", "nowhere"), "BX002: no such file or folder: 'nowhere'"),
        (("dose", "a b", "-n", "0"), "BX001: "),
        (("dose", "a b", "--heads", "same"), "BX001: no head for questions is called 'same'"),
        (("dose", "a b", "--threshold", "3"), "BX001: threshold must be a number from 0 to 1, got 3"),
        (("dose", "a b", "-o", "x.xml"), "BX110: cannot recognise the format of 'x.xml' by its suffix"),
    ],
)
def test_what_cannot_be_is_refused(
    ask: Ask, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert ask(*arguments) == 2
    assert message in capsys.readouterr().err


def test_a_model_without_such_a_head_says_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["ask", "Which dose?", "a b"]) == 2
    assert "BX610: the model has no head for questions; it has: entities (gene, " in capsys.readouterr().err
