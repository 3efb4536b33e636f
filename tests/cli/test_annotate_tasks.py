"""`biomux annotate` with a model that finds relations and classes: every output, thresholds, workers, resume."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from biomux import cli, formats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Annotate = Callable[..., int]

TEXT = "aspirin treated fever."


@pytest.fixture
def annotate(answering_run: Path) -> Annotate:
    return lambda *arguments: cli.run(
        ["annotate", "--model", str(answering_run), "--threads", "1", *map(str, arguments)]
    )


def test_json_lines_have_relations_and_classes_with_score_and_head(
    annotate: Annotate, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(TEXT) == 0
    out, err = capsys.readouterr()
    (document,) = formats.read_source(formats.of_bytes("out.jsonl", out.encode()))
    (relation,) = document.relations
    spans = {span.id: document.mention(span) for span in document.spans}
    assert [spans[argument.target] for argument in relation.arguments] == ["aspirin", "fever"]
    assert (relation.type, relation.head) == ("treats", "links")
    assert relation.score is not None
    assert relation.score > 0.5
    assert {(label.head, label.name) for label in document.labels} >= {("topic", "yes"), ("roles", "Disease")}
    assert "1 relation: treats 1\n" in err
    assert " labels: " in err


def test_pairs_too_far_apart_to_be_asked_about_are_counted(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = f"{TEXT} Then {TEXT}"
    told = "not tested for relations, since the entities are too far apart: 2 pairs of entities\n"
    assert annotate(text) == 0
    assert told in capsys.readouterr().err
    assert annotate(text, "--tasks", "entities,classes") == 0
    assert "too far apart" not in capsys.readouterr().err
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    assert annotate(tmp_path / "in.txt", "-o", f"{tmp_path}/out/", "--format", "jsonl") == 0
    assert told in capsys.readouterr().err


def test_only_what_is_asked_for_is_found(annotate: Annotate, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(TEXT, "--tasks", "classes") == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert "spans" not in document
    assert "relations" not in document
    assert "entities" not in err
    assert annotate(TEXT, "--tasks", "relations,topic", "--threshold", "treats=1") == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["spans"]) == 2
    assert "relations" not in document
    assert [label["head"] for label in document["labels"]] == ["topic"]


def test_relations_between_the_entities_of_the_input(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.ann").write_text("T7\tChemical 0 7\taspirin\nT9\tDisease 16 21\tfever\n")
    assert annotate(tmp_path / "a.ann", "--tasks", "relations", "--keep-entities") == 0
    document = json.loads(capsys.readouterr().out)
    assert [span["id"] for span in document["spans"]] == ["T7", "T9"]
    assert [argument["target"] for argument in document["relations"][0]["arguments"]] == ["T7", "T9"]


def test_plain_output_lists_relations_and_classes_below_the_text(
    annotate: Annotate, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(TEXT, "--plain", "--tasks", "relations,topic") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[aspirin|Chemical] treated [fever|Disease]."
    assert lines[1].startswith("treats: aspirin -> fever (0.")
    assert lines[2].startswith("topic: yes (0.")


def test_workers_parts_and_resume_end_with_the_same_bytes(annotate: Annotate, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text(
        "".join(f"{drug} treated {ill}.\n" for drug in ("aspirin", "bexol") for ill in ("fever", "ulcer"))
    )
    options = ("--from", "lines", "--part-size", 30)
    assert annotate(source, "-o", tmp_path / "one.jsonl", *options) == 0
    assert annotate(source, "-o", tmp_path / "two.jsonl", *options, "--workers", 2) == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    documents = list(formats.read(tmp_path / "one.jsonl"))
    assert len(documents) == 4
    assert all(document.relations for document in documents)
    tally = json.loads((tmp_path / ".one.jsonl.biomux" / "manifest.json").read_text())["tally"]
    assert tally["relations"] == {"treats": 4}


def test_another_choice_of_tasks_is_another_job(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert annotate(TEXT, "-o", tmp_path / "out.jsonl") == 0
    assert annotate(TEXT, "-o", tmp_path / "out.jsonl", "--tasks", "entities") == 2
    assert "with different settings: --tasks" in capsys.readouterr().err


def test_the_terminal_draws_relations_below_the_text(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert annotate(TEXT, "--tasks", "relations,topic") == 0
    out = capsys.readouterr().out
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", out)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert "  aspirin ─treats→ fever 0." in shown
    assert "  topic: yes 0." in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tasks", "relation"), "BX001: unknown task 'relation'; did you mean 'relations'?"),
        (("--tasks", ","), "BX001: --tasks must name at least one task"),
        (("--threshold", "treat=0.5"), "BX001: unknown type 'treat'; did you mean 'treats'?"),
    ],
)
def test_wrong_names_are_refused(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert annotate(TEXT, *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_model_without_such_a_head_says_what_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["annotate", TEXT, "--tasks", "relations"]) == 2
    assert "BX610: the model has no head for relations; it has: entities (gene, " in capsys.readouterr().err


def test_every_output_that_can_hold_them_has_the_relation_and_the_class(
    annotate: Annotate, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wanted = {
        "out.bioc.xml": ('<infon key="type">treats</infon>', "biomux labels"),
        "out.bioc.json": ('"type":"treats"', "biomux labels"),
        "out.relations.tsv": ("text\ttreats\taspirin\t0\t7\tChemical\tfever\t16\t21\tDisease\t0.",),
        "out.labels.tsv": ("text\t\t\tyes\t\t0.", "\troles\taspirin treated fever."),
        "out.html": ("<td>treats</td><td>Arg1: aspirin; Arg2: fever</td>", "<td>yes</td>"),
    }
    for name, parts in wanted.items():
        assert annotate(TEXT, "-o", tmp_path / name) == 0
        written = (tmp_path / name).read_text()
        assert all(part in written for part in parts), name
    assert annotate(TEXT, "-o", tmp_path / "brat", "--format", "brat") == 0
    assert "R1\ttreats Arg1:T1 Arg2:T2\n" in (tmp_path / "brat" / "text.ann").read_text()
    capsys.readouterr()
    assert annotate(TEXT, "-o", tmp_path / "out.tsv") == 0
    err = capsys.readouterr().err
    assert "lost: relations (1), for instance in document 'text': the format relations has a table of them\n" in err


def test_a_format_that_cannot_hold_what_is_asked_for_is_refused_before_the_work(
    annotate: Annotate, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(TEXT, "--tasks", "classes", "--format", "tsv") == 2
    assert "BX120: format 'tsv' cannot hold classes; choose from: " in capsys.readouterr().err
    assert annotate(TEXT, "--tasks", "relations", "--format", "labels") == 2
    assert "BX120: format 'labels' cannot hold relations" in capsys.readouterr().err
    assert annotate(TEXT, "--format", "pairs") == 2
    assert "BX120: format 'pairs' cannot hold entities" in capsys.readouterr().err
