"""Data of one's own through the command line: init, train, recipes; and the same from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from training import small

import biomux
from biomux import Document, Span, formats
from biomux.cli import run as command
from biomux.evaluation import columns
from biomux.evaluation.model_heads import EvaluatedHead
from biomux.scoring import mapping

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch")

RANDOM = ("--set", "model.encoder={kind: random, layers: 1}")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIOMUX_CORPORA", raising=False)
    formats.write(small.documents(40), tmp_path / "notes.jsonl")
    return tmp_path


def test_a_recipe_is_written_for_data_and_trains(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["init", "notes.jsonl", "-o", "my.yaml", "--no-estimate"]) == 0
    said = capsys.readouterr()
    assert "Chemical" in said.out
    assert "next: biomux train my.yaml" in said.err
    assert (place / "my.yaml").read_text().startswith("# biomux train my.yaml\n")
    assert command(["init", "notes.jsonl", "-o", "my.yaml", "--no-estimate"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert command(["train", "my.yaml", "--quick", "--run", "runs/mine", *RANDOM]) == 0
    assert "data of notes:" in capsys.readouterr().err
    assert command(["evaluate", "runs/mine", "all"]) == 0
    assert command(["evaluate", "runs/mine", "my.yaml"]) == 0
    assert command(["train", "--resume", "runs/mine"]) == 0


def test_data_are_trained_on_without_a_recipe(place: Path) -> None:
    assert command(["train", "notes.jsonl", "--quick", "--run", "runs/mine", *RANDOM]) == 0
    written = yaml.safe_load((place / "runs/mine/recipe.yaml").read_text())
    assert written["tasks"]["notes"]["corpus"] == {"path": "notes.jsonl", "devel": 0.15, "test": 0.15}


def test_a_run_is_trained_evaluated_and_exported_from_python(place: Path) -> None:
    run = biomux.train("notes.jsonl", settings=["model.encoder={kind: random, layers: 1}", "loop.epochs=1"])
    assert run.path.name == "notes-1"
    assert 0 <= run.evaluate("test")["notes"].value <= 1
    assert set(run.scores["tasks"]) == {"notes"}
    assert run.export("bundles/mine", precision="fp32", measure=False) == place.joinpath("bundles/mine").relative_to(
        place
    )
    assert biomux.load("bundles/mine").heads == ("notes",)
    with pytest.raises(biomux.BiomuxError, match=r"BX404.*no corpus of the run has a split 'tset'"):
        run.evaluate("tset")


def test_recipes_are_listed_shown_and_copied(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["recipes", "list"]) == 0
    assert "a/mtl\t" in capsys.readouterr().out
    assert command(["recipes", "show", "a/mtl"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# biomux train a/mtl")
    assert command(["recipes", "copy", "a/mtl"]) == 0
    assert (place / "mtl.yaml").read_text() == shown
    assert command(["recipes", "copy", "a/mtl"]) == 2
    assert command(["recipes", "show", "a/mlt"]) == 2
    assert "did you mean 'a/mtl'" in capsys.readouterr().err


def test_so_are_studies(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["recipes", "list"]) == 0
    assert {"a/table\tbiomux study", "b/refine\tbiomux train", "b/transfer\tbiomux transfer"} <= {
        "\t".join(line.split("\t")[:2]) for line in capsys.readouterr().out.splitlines()
    }
    assert command(["recipes", "copy", "d/ablation"]) == 0
    assert "biomux study ablation.yaml" in capsys.readouterr().err
    assert (place / "ablation.yaml").read_text().startswith("# biomux study d/ablation")
    assert command(["recipes", "show", "b/transfer-small"]) == 0
    assert "biomux transfer b/transfer-small" in capsys.readouterr().out
    assert command(["recipes", "show", "a/tabel"]) == 2
    assert "did you mean 'a/table'" in capsys.readouterr().err


def test_a_folder_of_ones_own_is_scored_whole_with_two_bundles(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["TP53 is mutated in mice.", "Aspirin inhibits COX-2.", "BRCA1 was measured.", "KRAS and EGFR were not."]
    genes = ("TP53", "COX-2", "BRCA1", "KRAS", "EGFR")
    gold = [
        Document(
            f"d{number}",
            text,
            spans=tuple(Span(text.index(name), text.index(name) + len(name), "Gene") for name in genes if name in text),
        )
        for number, text in enumerate(texts)
    ]
    formats.write(gold, "gold", format="brat")
    for output in ("scores/one", "scores/two"):
        assert command(["evaluate", "default", "gold", "--types", "gene", "-o", output]) == 0
        shown = capsys.readouterr()
        assert "gold has no test part: all of its documents are scored" in shown.err
        assert "|split:train+devel|documents:4|" in shown.out
    assert command(["compare", "scores/one", "scores/two", "--samples", "20"]) == 0
    capsys.readouterr()
    assert command(["evaluate", "default", "gold"]) == 0
    shown = capsys.readouterr()
    assert "no head was trained on gold: types with the same names are compared, as with --types gene" in shown.err
    assert "|types:Gene=gene|" in shown.out
    assert command(["evaluate", "default", "gold", "--map", "Gene=gene"]) == 0
    assert "|types:Gene=gene|" in capsys.readouterr().out
    assert command(["evaluate", "default", "gold", "--map", "Gene=genes"]) == 2
    assert "no type 'genes'; did you mean 'gene'?" in capsys.readouterr().err
    assert command(["evaluate", "default", "gold", "--types", "gene", "--split", "test"]) == 2
    assert "BX207" in capsys.readouterr().err
    assert command(["corpora", "stats", "gold"]) == 2
    assert "write ./gold" in capsys.readouterr().err


def test_the_data_that_a_head_was_trained_on_are_not_scored_whole(place: Path) -> None:
    own = EvaluatedHead("tags", ("Chemical",), "bio", "notes.jsonl")
    with pytest.raises(biomux.BiomuxError, match=r"BX207.*notes has no test part.*--split devel"):
        columns.plan([own], ["notes.jsonl"])
    assert [column.split for column in columns.plan([own], ["notes.jsonl"], split="devel")] == ["devel"]
    other = EvaluatedHead("tags", ("Chemical",), "bio", "other.jsonl")
    met = mapping.parse("Chemical=tags/Chemical")
    assert [column.split for column in columns.plan([other], ["notes.jsonl"], types=met)] == ["train+devel"]


def test_a_head_whose_types_were_renamed_is_not_scored_as_if_it_were_always_wrong(place: Path) -> None:
    renamed = EvaluatedHead("tags", ("drug",), "bio", "notes.jsonl")
    with pytest.raises(
        biomux.BiomuxError, match=r"no head of the model can be scored on corpus 'notes'.*--map Chemical=TYPE"
    ):
        columns.plan([renamed], ["notes.jsonl"], split="devel", known=["drug"])
    met = mapping.parse("Chemical=tags/drug")
    assert [column.name for column in columns.plan([renamed], ["notes.jsonl"], split="devel", types=met)] == ["notes"]


def test_the_format_of_suggestions_may_be_named_as_the_message_says(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "a.txt").write_text("Aspirin inhibits COX-2.")
    assert command(["suggest", "a.txt", "-n", "1", "-o", "next.json"]) == 2
    assert "name it with --to" in capsys.readouterr().err
    assert command(["suggest", "a.txt", "-n", "1", "-o", "next.json", "--to", "labelstudio"]) == 0
    assert '"Aspirin"' in (place / "next.json").read_text()
