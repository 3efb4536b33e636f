"""`biomux evaluate`, `score` and `compare` as one types them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
import tiny
from corpora.samples import put

from biomux import formats
from biomux.cli import run
from biomux.document import Document, Span

if TYPE_CHECKING:
    from pathlib import Path

GOLD = "Aspirin\tB-Chemical\nsoothes\tO\nfever\tB-Disease\n.\tO\n\nBexol\tB-Chemical\nworks\tO\n.\tO\n\n"
SAID = "Aspirin\tB-drug\nsoothes\tO\nfever\tO\n.\tO\n\nBexol\tB-drug\nworks\tB-ill\n.\tO\n\n"


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnx", reason="the extra 'train' is not installed")
    return tiny.bundle(tmp_path_factory.mktemp("tiny") / "bundle")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    sentences = [
        f"{word}\tO" for number in range(6) for word in (*tiny.text(9, seed=number).rstrip(".").split(), ".", "")
    ]
    body = "\n".join(line if line.strip() != "O" else "" for line in sentences) + "\n\n" + GOLD
    for split in ("train", "devel", "test"):
        put(tmp_path, f"ner/BC5CDR/{split}.tsv", body)
    return tmp_path


def test_a_bundle_is_evaluated_and_compared_with_itself(
    bundle: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "scores"
    line = ["evaluate", str(bundle), "bc5cdr", "--corpora", str(root), "--errors", "1", "--threads", "1"]
    assert run([*line, "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    head = rows(shown)[0]
    figures = ["F1 strict", "F1 word", "F1 boundary", "F1 type", "F1 overlap", "F1 SemEval", "F1 sub-word"]
    assert head == ["spans", "gold", "found", "P", "R", *figures]
    assert "matching:strict+boundary+type+overlap+word+subword+semeval|scheme:bio|corpus:bc5cdr|" in shown
    assert "|heads:drugs\n" in shown
    assert sorted(path.name for path in out.iterdir()) == ["bc5cdr", "scores.json"]
    assert run(["compare", str(out), f"again={out}"]) == 0
    shown = capsys.readouterr().out
    assert "p randomisation" in shown
    assert "+0.00" in shown
    signed = [one for one in shown.splitlines() if one.startswith("biomux:") and "|corpus:bc5cdr|" in one]
    assert len(signed) == 2  # under the values and under the tests
    assert signed[1].endswith("|interval:95%|correction:holm over 1 tests")
    assert run([*line, "--map", "Disease=genes/Gene", "--limit", "3"]) == 0
    assert "|heads:genes|limit:3|types:Disease=genes/Gene" in capsys.readouterr().out
    assert run([*line, "--no-cross", "--json"]) == 0
    (column,) = json.loads(capsys.readouterr().out)["columns"]
    assert column["spans"] == json.loads((out / "scores.json").read_bytes())["columns"][0]["spans"]


def test_what_cannot_be_evaluated_is_told(bundle: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line, said in (
        (["craft"], "no head of the model can be scored"),
        (["bc5cdr", "--heads", "x"], "no head 'x'"),
        (["bc5cdr", "--heads", "drugs", "--types", "gene"], "cannot use both --heads and --types"),
        (["bc5cdr", "--map", "Chemical"], "must consist of pairs"),
        (["bc5cdr", "--map", "Gene=Disease"], "no type 'Gene'"),
        (["bc5cdr", "--split", "tset"], "did you mean 'test'"),
        (["nope"], "BX201"),
    ):
        assert run(["evaluate", str(bundle), *line, "--corpora", str(root)]) == 2
        assert said in capsys.readouterr().err


def test_files_are_scored_with_a_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, said = put(tmp_path, "gold.tsv", GOLD), put(tmp_path, "said/gold.tsv", SAID)
    assert run(["score", str(gold), str(said), "--map", "Chemical=drug", "--errors", "2"]) == 0
    shown = rows(capsys.readouterr().out)
    assert next(row for row in shown if row[0] == "micro")[:6] == [
        "micro",
        "2",
        "2",
        "100.00",
        "100.00",
        "100.00 ±0.00",
    ]
    assert (
        run(["score", str(gold), str(said), "--map", "Chemical=drug,Disease=ill", "--json", "-o", str(tmp_path / "o")])
        == 0
    )
    (column,) = json.loads(capsys.readouterr().out)["columns"]
    assert column["spans"]["mistakes"]["kinds"]["missed"] == 1
    assert len((tmp_path / "o/gold/counts.jsonl").read_bytes().splitlines()) == 2
    assert run(["score", str(gold), str(tmp_path / "o/gold/predictions.jsonl"), "--map", "Chemical=drug"]) == 0


def test_spans_with_scores_get_reliability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Aspirin helps."
    formats.write([Document("1", text, spans=(Span(0, 7, "drug"),))], tmp_path / "gold.jsonl")
    formats.write([Document("1", text, spans=(Span(0, 7, "drug", score=0.9),))], tmp_path / "said.jsonl")
    assert run(["score", str(tmp_path / "gold.jsonl"), str(tmp_path / "said.jsonl")]) == 0
    shown = rows(capsys.readouterr().out)
    assert ["score", "spans", "mean score", "right", "ECE", "AURC"] in shown
    assert next(row for row in shown if row[0] == "all")[:5] == ["all", "1", "90.00", "100.00", "10.00"]


def test_documents_that_do_not_fit_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    formats.write([Document("1", "One."), Document("2", "Two.")], tmp_path / "gold.jsonl")
    for documents, code in (
        ([Document("1", "One.")], "BX701"),
        ([Document("1", "One."), Document("1", "One."), Document("2", "Two.")], "BX702"),
        ([Document("1", "One!"), Document("2", "Two.")], "BX703"),
    ):
        formats.write(documents, tmp_path / "said.jsonl")
        out = tmp_path / "out"
        assert run(["score", str(tmp_path / "gold.jsonl"), str(tmp_path / "said.jsonl"), "-o", str(out)]) == 2
        said = capsys.readouterr().err
        assert code in said
        assert said.count("\n") == 1
        assert not out.exists()


def test_compare_draws_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("scikit_posthocs", reason="the extra 'report' is not installed")
    out = tmp_path / "ranks"
    assert run(["compare", "--published", "E:1,2", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "Friedman: chi2 = 69.97" in shown
    assert shown.splitlines().count("systems:8|corpora:15|alpha:0.05") == 2  # under the ranks and under the pairs
    assert sorted(path.name for path in out.iterdir()) == ["comparison.json", "ranks.svg"]


def test_nothing_to_compare_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare"]) == 2
    assert "nothing to compare" in capsys.readouterr().err
    assert run(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "BX704" in capsys.readouterr().err


def test_scores_are_written_into_the_card_of_a_bundle(
    bundle: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own"
    shutil.copytree(bundle, own)
    before = (own / "card.md").read_text()
    notes = tmp_path / "notes.md"
    notes.write_text("### Seen by eye\n\nIt takes bexol for a gene.\n")
    line = ["evaluate", str(own), "bc5cdr", "--corpora", str(root), "--threads", "1", "--card"]
    assert run([*line, "--notes", str(notes)]) == 0
    card = (own / "card.md").read_text()
    assert card.startswith(before.rstrip("\n"))
    assert "| bc5cdr | Chemical | 2 |" in card
    assert "|corpus:bc5cdr|" in card
    assert card.index("Seen by eye") < card.index("### Signatures")
    assert run(["verify", str(own)]) == 0
    assert run(line) == 0
    again = (own / "card.md").read_text()
    assert again.count("## Scores on text that was held out") == 1
    assert "Seen by eye" not in again


def test_a_card_needs_a_bundle_and_notes_need_a_card(
    bundle: Path, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder = tiny.run(tmp_path / "run")
    notes = tmp_path / "notes.md"
    notes.write_text("x")
    assert run(["evaluate", str(run_folder), "bc5cdr", "--corpora", str(root), "--card"]) == 2
    assert "not a bundle with a model card" in capsys.readouterr().err
    assert run(["evaluate", str(bundle), "bc5cdr", "--corpora", str(root), "--notes", str(notes)]) == 2
    assert "add --card" in capsys.readouterr().err


def test_files_of_other_names_are_scored_by_the_number_of_the_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, mine = put(tmp_path, "gold.tsv", GOLD), put(tmp_path, "mine.tsv", GOLD)
    assert run(["score", str(gold), str(mine), "-o", str(tmp_path / "out")]) == 0
    assert "100.00" in capsys.readouterr().out
    assert '"id":"gold:1"' in (tmp_path / "out/gold/predictions.jsonl").read_text(encoding="utf-8")
    other = put(tmp_path, "other.tsv", "Aspirin\tO\n\nBexol\tO\nworks\tO\n.\tO\n\n")
    assert run(["score", str(gold), str(other)]) == 2
    assert "BX703" in capsys.readouterr().err


def test_a_format_that_cannot_be_told_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, odd = put(tmp_path, "gold.tsv", GOLD), put(tmp_path, "odd", "\x01\x02")
    assert run(["score", str(odd), str(gold)]) == 2
    assert "name the format with --gold-format " in capsys.readouterr().err
    assert run(["score", str(gold), str(odd)]) == 2
    assert "name the format with --predicted-format " in capsys.readouterr().err


def test_a_map_that_meets_nothing_is_a_slip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = put(tmp_path, "gold.tsv", GOLD)
    assert run(["score", str(gold), str(gold), "--map", "chem=drgu", "-o", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert "BX704: neither side has a type of the map 'chem=drgu'; gold has Chemical, Disease" in told
    assert not (tmp_path / "out").exists()
    assert run(["score", str(gold), str(gold), "--map", "Chemical=x/drug"]) == 0


@pytest.mark.parametrize(
    "row",
    ["garbage", "[1, 2]", '{"id": "gold:1", "counts": {"strict": {"Chemical": "x"}}}', '{"id": "a", "counts": {"strict": 3}}',
     '{"id": "gold:1", "counts": {"strict": {"Chemical": [1, 2]}}}'],
)  # fmt: skip
def test_damaged_counts_are_told(row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = put(tmp_path, "gold.tsv", GOLD)
    for name in "ab":
        assert run(["score", str(gold), str(gold), "-o", str(tmp_path / name)]) == 0
    put(tmp_path, "b/gold/counts.jsonl", f"{row}\n")
    capsys.readouterr()
    assert run(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    told = capsys.readouterr().err
    assert "BX705" in told
    assert told.count("\n") == 1


def test_scores_without_counts_are_not_tested_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = put(tmp_path, "gold.tsv", GOLD)
    for name in "ab":
        assert run(["score", str(gold), str(gold), "-o", str(tmp_path / name)]) == 0
    (tmp_path / "b/gold/counts.jsonl").unlink()
    assert run(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "b: not tested, since there is no counts.jsonl for gold" in capsys.readouterr().err


def test_a_published_table_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "--published", "Z:1"]) == 2
    assert "unknown table 'Z:1'" in capsys.readouterr().err


def test_options_of_formats_reach_the_readers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, said = tmp_path / "gold.conll", tmp_path / "gold2.conll"
    gold.write_text("TP53 B\nbinds O\n")
    said.write_text("TP53 B-gene\nbinds O\n")
    assert run(["score", str(gold), str(said), "-O", "type=gene", "--from", "conll", "--json"]) == 0
    assert '"gene"' in capsys.readouterr().out
    assert run(["score", str(gold), str(said), "-O", "tpye=gene"]) == 2
    assert "none of the formats that were read has an option 'tpye'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["score", "compare", "report"])
def test_a_folder_that_exists_is_replaced_only_if_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    if command == "compare":
        pytest.importorskip("scikit_posthocs", reason="the extra 'report' is not installed")
    gold, out, scores = tmp_path / "gold.jsonl", tmp_path / "out", tmp_path / "scores"
    formats.write([Document("1", "aspirin", spans=(Span(0, 7, "drug"),))], gold)
    assert run(["score", str(gold), str(gold), "-o", str(scores)]) == 0
    asked = {
        "score": ["score", str(gold), str(gold)],
        "compare": ["compare", "--published", "E:1,2"],
        "report": ["report", str(scores)],
    }[command] + ["-o", str(out)]
    assert run(asked) == 0
    before = {path.relative_to(out) for path in out.rglob("*")}
    assert run(asked) == 2
    assert (
        f"error: BX004: {out}: already exists; replace it with --overwrite, or choose another name"
        in capsys.readouterr().err
    )
    assert run([*asked, "--overwrite"]) == 0
    assert {path.relative_to(out) for path in out.rglob("*")} == before
    (out / "thesis.doc").write_text("mine")
    assert run([*asked, "--overwrite"]) == 2
    assert f"BX004: {out}: already exists and contains other files: thesis.doc" in capsys.readouterr().err
