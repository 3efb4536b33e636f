"""`biomux corpora` as one types it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from corpora.samples import CONLL, put

from biomux.cli import run
from biomux.corpora import names

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "ner/BC5CDR/train.tsv", CONLL)
    return tmp_path


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_list_shows_every_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "list"]) == 0
    shown = rows(capsys.readouterr().out)
    assert [row[0] for row in shown[1:]] == list(names())
    assert next(row for row in shown if row[0] == "mednli")[-1] == "on application"


def test_list_by_task_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "list", "--task", "similarity", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["biosses", "clinicalsts"]


def test_show_has_home_licence_counts_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "show", "bionlp09"]) == 0
    shown = capsys.readouterr().out
    for part in ("cambridgeltl/MTL-Bioinformatics-2016", "CC BY 4.0", "Kim et al. 2009", "1,921 of the 2,446", "74624"):
        assert part in shown


def test_show_as_json_is_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "show", "elucidata-tissue", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["splits"]["devel"]["made"] == {"from": "train", "fraction": 0.1, "seed": 13, "group": "id"}


def test_stats_counts_a_view(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "stats", "bc5cdr[Chemical=drug]", "--split", "train", "--corpora", str(root)]) == 0
    shown = rows(capsys.readouterr().out)
    assert ["mentions", "drug", "2"] in shown
    assert ["train", "2", "2", "9", "7", "2"] in shown
    assert run(["corpora", "stats", "bc5cdr", "--split", "train", "--corpora", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["train"]["mentions"] == {"Chemical": 2, "Disease": 1}


def test_check_lists_faults_and_ends_with_two(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "check", str(root)]) == 2
    shown = rows(capsys.readouterr().out)
    assert [row[1:3] for row in shown if row[0] == "bc5cdr"] == [
        ["damaged", "ner/BC5CDR/train.tsv.gz"],
        ["missing", "ner/BC5CDR/devel.tsv.gz"],
        ["missing", "ner/BC5CDR/test.tsv.gz"],
    ]
    assert next(row for row in shown if row[0] == "s800")[1] == "absent"
    assert run(["corpora", "check", "--corpora", str(root), "--only", "s800", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["state"] == "absent"


def test_fetch_says_what_it_would_do(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "fetch", "nli4ct", "bc4chemd", "--corpora", str(root), "--dry-run"]) == 0
    shown = rows(capsys.readouterr().out)
    states = {row[0].removeprefix(f"{root}/"): row[1] for row in shown[1:]}
    assert states["pairs/NLI4CT/CT_json.tar.gz"] == "by hand"
    assert states["ner/BC4CHEMD/train.tsv.gz"] == "to fetch"


def test_fetch_lists_what_must_be_got_by_hand(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", "fetch", "covidfact", "--corpora", str(root)]) == 2
    shown = capsys.readouterr()
    assert str(root / "pairs/CovidFact/corpus.jsonl.gz") in shown.out
    assert "BX208: cannot download 3 files: they have no direct address" in shown.err


@pytest.mark.parametrize("name", ["mednli", "clinicalsts", "i2b2-2010", "share-clefe", "bioasq"])
def test_fetch_of_a_credentialed_corpus_says_how_to_apply(
    root: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["corpora", "fetch", name, "--corpora", str(root)]) == 2
    said = capsys.readouterr().err
    assert "BX205" in said
    assert "account" in said or "register" in said
    assert str(root) in said


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (["show", "bc5"], "BX201"),
        (["list", "--task", "divination"], "BX001"),
        (["stats", "bc5cdr", "--corpora", "/nowhere/at/all"], "BX202"),
        (["check", "/nowhere/at/all"], "BX002"),
        (["check", "--corpora", "/nowhere/at/all"], "BX202"),
    ],
)
def test_mistakes_are_told_in_one_line(line: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpora", *line]) == 2
    said = capsys.readouterr().err
    assert code in said
    assert said.count("\n") == 1
