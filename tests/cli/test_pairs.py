"""`biomux pairs` as it is typed."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from biomux import cli, formats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Pairs = Callable[..., int]

ROWS = [("aspirin given", "aspirin level", "same"), ("fever given", "mice level", "other")]


@pytest.fixture
def pairs(answering_run: Path) -> Pairs:
    return lambda *arguments: cli.run(["pairs", "--model", str(answering_run), "--threads", "1", *map(str, arguments)])


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))


TABLES = {
    "a.tsv": "sentence1\tsentence2\n" + "".join(f"{a}\t{b}\n" for a, b, _ in ROWS),
    "a.csv": "Premise,Hypothesis\n" + "".join(f'"{a}",{b}\n' for a, b, _ in ROWS),
    "bare.tsv": "".join(f"{a}\t{b}\n" for a, b, _ in ROWS),
    "a.jsonl": "".join(json.dumps({"text": a, "pair": b}) + "\n" for a, b, _ in ROWS),
    "a.json": json.dumps([{"question1": a, "question2": b} for a, b, _ in ROWS]),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_row_out_for_a_row_in(pairs: Pairs, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TABLES[name])
    assert pairs(tmp_path / name, "--format", "tsv") == 0
    found = table(capsys.readouterr().out)
    assert [(row["text"], row["pair"], row["same"]) for row in found] == ROWS
    assert [round(float(row["alike"])) for row in found] == [1, 0]
    assert all(float(row["same_score"]) > 0.5 for row in found)


def test_a_pipe_gets_json_lines_and_other_columns_stay(
    pairs: Pairs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = "id\ta\tb\tyear\n7\taspirin given\taspirin level\t1998\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    assert pairs("-", "--text", "a", "--pair", "b", "--id", "id") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["id"], document["text"], document["pair"]) == ("7", "aspirin given", "aspirin level")
    assert document["metadata"] == {"year": "1998"}
    assert {label["head"] for label in document["labels"]} == {"same", "alike"}


def test_columns_have_numbers_from_one_where_there_is_no_header(
    pairs: Pairs, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("x,mice level,y,fever given,z\n")
    assert pairs(tmp_path / "a.csv", "--text", 4, "--pair", 2, "--format", "tsv") == 0
    (row,) = table(capsys.readouterr().out)
    assert (row["text"], row["pair"]) == ("fever given", "mice level")


def test_files_of_every_format_say_the_same(pairs: Pairs, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text(TABLES["a.tsv"])
    for name in ("out.tsv", "out.csv", "out.jsonl", "out.jsonl.gz", "out.parquet"):
        assert pairs(tmp_path / "in.tsv", "-o", tmp_path / name) == 0
    rows = table((tmp_path / "out.tsv").read_text())
    assert [row["same"] for row in rows] == ["same", "other"]
    assert list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text()))) == rows
    documents = list(formats.read(tmp_path / "out.jsonl"))
    assert list(formats.read(tmp_path / "out.jsonl.gz")) == list(formats.read(tmp_path / "out.parquet")) == documents
    assert [document.labels[0].name for document in documents] == ["same", "other"]


def test_workers_and_parts(pairs: Pairs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text(TABLES["a.tsv"])
    assert pairs(tmp_path / "in.tsv", "-o", f"{tmp_path}/parts/", "--workers", 2) == 0
    assert [path.name for path in (tmp_path / "parts").glob("part*")] == ["part-00000.jsonl"]
    assert pairs(tmp_path / "in.tsv", "-o", f"{tmp_path}/parts/", "--workers", 2) == 0
    assert "already finished" in capsys.readouterr().err


def test_a_bad_row_is_reported_and_the_rest_goes_on(
    pairs: Pairs, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text('{"text":"fever","pair":"mice"}\n{"text":"fever"}\n{"text":"fever","pair":1}\n')
    assert pairs(tmp_path / "a.jsonl", "--format", "tsv") == 3
    out, err = capsys.readouterr()
    assert len(table(out)) == 1
    assert "BX116: " in err
    assert "a.jsonl:2: cannot find the key with the second text among 'text'; name it with --pair" in err
    assert "a.jsonl:3: the text in 'pair' must be a string" in err
    assert pairs(tmp_path / "a.jsonl", "--on-error", "stop") == 2


def test_two_texts_are_a_pair(pairs: Pairs, capsys: pytest.CaptureFixture[str]) -> None:
    assert pairs("aspirin given", "aspirin level", "--heads", "same", "--threshold", "0.5") == 0
    (label,) = json.loads(capsys.readouterr().out)["labels"]
    assert label["name"] == "same"


def test_the_terminal_shows_pairs_with_their_answers(
    pairs: Pairs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert pairs("aspirin given", "aspirin level") == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert shown[:3] == ["text", "aspirin given", "aspirin level"]
    assert shown[3].startswith("  same: same 0.") or shown[3].startswith("  same: same 1.")
    assert shown[4].startswith("  alike: similarity ")


def test_long_pairs_are_reported(pairs: Pairs, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"text\tpair\n{'aspirin ' * 60}\tfever\nfever\tmice\n")
    assert pairs(tmp_path / "a.tsv") == 0
    assert "longer than the model reads, so cut: 1 pair\n" in capsys.readouterr().err
    assert pairs(tmp_path / "a.tsv", "--strict") == 3
    assert "BX613" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("aspirin given",), "BX001: expected files or exactly two texts, got 'aspirin given'"),
        (("nowhere.tsv",), "BX002: no such file or folder: 'nowhere.tsv'; check the path ("),
        (("a b", "c d", "--heads", "topic"), "BX001: no head for pairs is called 'topic'"),
        (("a b", "c d", "--text", "x"), "BX001: --text needs --pair"),
        (("a b", "c d", "-o", "x.xml"), "BX110: cannot recognise the format of 'x.xml' by its suffix"),
        (("a b", "c d", "--workers", "2"), "BX001: --workers needs an output file or folder"),
    ],
)
def test_what_cannot_be_is_refused(
    pairs: Pairs, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert pairs(*arguments) == 2
    assert message in capsys.readouterr().err


def test_a_model_without_such_a_head_says_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["pairs", "a b", "c d"]) == 2
    assert "BX610: the model has no head for pairs; it has: entities (gene, " in capsys.readouterr().err
