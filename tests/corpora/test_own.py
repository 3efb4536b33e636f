"""Data of one's own as a corpus: splits by name, cuts, formats, types, cards; and what is said about data that cannot be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from corpora.samples import CONLL

from biomux import corpora, formats
from biomux.corpora import catalogue, own
from biomux.corpora.corpus import types_of
from biomux.corpora.view import spec
from biomux.document import Document, Span
from biomux.errors import BiomuxError, CorpusError

if TYPE_CHECKING:
    from pathlib import Path


def documents(number: int, *, type_: str = "gene") -> list[Document]:
    return [
        Document(f"d{index}", f"TP{index} binds WT{index} here.", spans=(Span(0, 2 + len(str(index)), type_),))
        for index in range(number)
    ]


def ids(corpus: str, split: str) -> list[str]:
    return [document.id.rpartition(":")[2] for document in corpora.load(corpus, split)]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIOMUX_CORPORA", raising=False)


@pytest.mark.parametrize(
    "names",
    [
        ("train.jsonl", "dev.jsonl", "test.jsonl"),
        ("train/a.jsonl", "valid/a.jsonl", "test/a.jsonl"),
        ("Corpus_TRAIN-1.jsonl", "Corpus_development.jsonl", "x/heldout/b.jsonl"),
    ],
)
def test_a_folders_splits_are_found_by_name(tmp_path: Path, names: tuple[str, ...]) -> None:
    for number, name in enumerate(names):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        formats.write(documents(number + 1), tmp_path / "data" / name)
    found = corpora.get("data/")
    assert set(found.splits) == {"train", "devel", "test"}
    assert [len(list(found.documents(split))) for split in ("train", "devel", "test")] == [1, 2, 3]
    assert found.name == "data"


def test_a_file_that_belongs_to_no_split_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("train", "dev", "other"):
        formats.write(documents(3), tmp_path / "data" / f"{name}.jsonl")
    assert corpora.get("./data").card.notes == ("not read: data/other.jsonl",)


def test_a_development_part_is_cut_by_document_the_same_each_time(tmp_path: Path) -> None:
    formats.write([*documents(40), *documents(40)], tmp_path / "all.jsonl")
    train, devel = ids("all.jsonl", "train"), ids("all.jsonl", "devel")
    assert len(devel) == 2 * 6  # 15 % of 40 texts, each of them twice
    texts = {split: {one.text for one in corpora.load("all.jsonl", split)} for split in ("train", "devel")}
    assert not texts["train"] & texts["devel"]
    assert sorted([*train, *devel]) == sorted(f"d{n}{again}" for n in range(40) for again in ("", "#2"))
    assert ids("all.jsonl", "devel") == devel
    other = json.dumps({"path": "all.jsonl", "seed": 2})
    assert ids(other, "devel") != devel


def test_shares_are_cut_side_by_side(tmp_path: Path) -> None:
    formats.write(documents(20), tmp_path / "all.jsonl")
    asked = json.dumps({"train": "all.jsonl", "devel": 0.2, "test": 0.25})
    found = {split: ids(asked, split) for split in ("train", "devel", "test")}
    assert {split: len(names) for split, names in found.items()} == {"train": 11, "devel": 4, "test": 5}
    assert sorted(name for names in found.values() for name in names) == sorted(f"d{n}" for n in range(20))


def test_types_are_renamed_merged_and_chosen(tmp_path: Path) -> None:
    mixed = [*documents(3, type_="Protein"), *(Document("x", "WT1 is", spans=(Span(0, 3, "DNA"),)),)]
    mixed += [Document("y", "A solvent", spans=(Span(2, 9, "solvent"),))]
    formats.write(mixed, tmp_path / "all.jsonl")
    named = spec("./all.jsonl", types=["gene"], rename={"Protein": "gene", "DNA": "gene"})
    spans = [span for split in ("train", "devel") for one in corpora.load(named, split) for span in one.spans]
    assert [span.type for span in spans] == ["gene"] * 4
    assert types_of("./all.jsonl") == ("DNA", "Protein", "solvent")


def test_types_of_a_corpus_of_the_catalogue_are_renamed_too() -> None:
    assert spec("bc5cdr", rename={"Chemical": "drug"}) == "bc5cdr[Chemical=drug,Disease]"
    with pytest.raises(CorpusError, match=r"BX207.*no type 'Drug'"):
        spec("bc5cdr", rename={"Drug": "x"})


@pytest.mark.parametrize(("column", "asked"), [("label", {}), ("Topic", {"label": "Topic"})])
def test_a_column_of_a_table_holds_the_class(tmp_path: Path, column: str, asked: dict[str, Any]) -> None:
    rows = "".join(f"{n},Text number {n},{'good; new' if n % 2 else 'bad'}\n" for n in range(10))
    (tmp_path / "t.csv").write_text(f"id,text,{column}\n{rows}")
    found = [one for split in ("train", "devel") for one in corpora.load(json.dumps({"path": "t.csv", **asked}), split)]
    assert {one.id[-1]: [label.name for label in one.labels] for one in found} == {
        str(n): ["good", "new"] if n % 2 else ["bad"] for n in range(10)
    }


def test_cards_of_ones_own_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("cards", "shared"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.tsv").write_text(CONLL)
        (tmp_path / folder / f"{folder}-one.yaml").write_text(
            f"name: {folder}-one\nformat: {{name: conll}}\ntypes: [Chemical, Disease]\n"
            "splits: {train: {files: [train.tsv]}}\nfiles: [{path: train.tsv}]\n"
        )
    assert [len(one.spans) for one in corpora.load("cards-one[Chemical]", "train")] == [1, 1]
    with pytest.raises(CorpusError, match="BX201"):
        catalogue.card("shared-one")
    monkeypatch.setenv("BIOMUX_CARDS", str(tmp_path / "shared"))
    assert len(list(corpora.load("shared-one", "train"))) == 2
    assert {"cards-one", "shared-one", "bc5cdr"} <= set(catalogue.names())
    (tmp_path / "cards" / "bc5cdr.yaml").write_text("name: bc5cdr\n")
    with pytest.raises(CorpusError, match=r"BX206.*must not have the name"):
        catalogue.card("bc5cdr")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("data/My notes", "my-notes"),
        ("data/train.tsv", "data"),
        ("a/corpus.labelstudio.json", "corpus"),
        ("x/*.ann", "x"),
    ],
)
def test_data_of_ones_own_are_called_by_their_path(path: str, name: str) -> None:
    assert own.short_name(path) == name


def test_changed_files_are_cut_again(tmp_path: Path) -> None:
    formats.write(documents(10), tmp_path / "all.jsonl")
    assert len(ids("./all.jsonl", "devel")) == 2
    (tmp_path / "all.jsonl").unlink()
    formats.write(documents(40), tmp_path / "all.jsonl")
    assert len(ids("./all.jsonl", "devel")) == 6


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        ("./nowhere", "BX002.*no such file or folder"),
        ("./empty", "BX211.*there are no files"),
        ("{}", "BX210.*give either path or train"),
        ('{"path": "data", "trian": "x"}', r"BX210.*trian: unknown key \(did you mean 'train'"),
        ('{"train": "data/a.jsonl", "devel": 1.5}', "BX210.*devel"),
        ('{"path": "data", "options": {"by": "sentence"}}', "BX210.*name it with format"),
        ('{"path": "data", "format": "barat"}', "BX110.*unknown format 'barat'.*did you mean 'brat'"),
        ('{"train": "data/a.jsonl", "test": "data/*.jsonl"}', "BX211.*both trained on and held out"),
        ("./held", "BX211.*no training part.*only test"),
        ("./twofold", "BX211.*means test and train"),
        ("./mixed", "BX212.*different formats.*conll"),
        ("./bare", "BX212.*has no .ann file beside it"),
        ("./plain", "BX212.*plain text, without annotations"),
        ("./one.jsonl", "BX211.*cannot cut devel: the data have only one text"),
        ('{"path": "split", "devel": 0.2}', "BX210.*the data have a devel part"),
    ],
)
def test_data_that_cannot_be_used_are_told_why(tmp_path: Path, corpus: str, said: str) -> None:
    for folder in ("empty", "data", "held", "twofold", "mixed", "bare", "plain", "split"):
        (tmp_path / folder).mkdir()
    formats.write(documents(5), tmp_path / "data" / "a.jsonl")
    formats.write(documents(5), tmp_path / "held" / "test.jsonl")
    formats.write(documents(5), tmp_path / "twofold" / "train-test.jsonl")
    formats.write(documents(5), tmp_path / "mixed" / "a.jsonl")
    (tmp_path / "mixed" / "b.tsv").write_text(CONLL)
    (tmp_path / "bare" / "a.txt").write_text("TP53 it is")
    (tmp_path / "bare" / "a.ann").write_text("T1\tgene 0 4\tTP53\n")
    (tmp_path / "bare" / "b.txt").write_text("TP53 it is")
    (tmp_path / "plain" / "a.txt").write_text("TP53 it is")
    formats.write(documents(1), tmp_path / "one.jsonl")
    for name in ("train", "dev"):
        formats.write(documents(5), tmp_path / "split" / f"{name}.jsonl")
    with pytest.raises(BiomuxError, match=said):
        corpora.get(corpus)
