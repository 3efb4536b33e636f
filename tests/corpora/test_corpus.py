"""Corpora load lazily, by name, split and view."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from corpora.samples import CONLL, card, put

from biomux import corpora
from biomux.corpora.corpus import Corpus
from biomux.errors import CorpusError, FormatError

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.document import Document


def toy(root: Path, **changes: Any) -> Corpus:
    put(root, "ner/Toy/train.tsv.gz", CONLL)
    return Corpus(card(**changes), root)


def mentions(documents: list[Document]) -> list[tuple[str, str]]:
    return [(span.type, document.mention(span)) for document in documents for span in document.spans]


def test_documents_have_ids_of_their_own(tmp_path: Path) -> None:
    documents = list(toy(tmp_path).documents("train"))
    assert [document.id for document in documents] == ["toy/train:1", "toy/train:2"]


@pytest.mark.parametrize("stored", ["ner/BC5CDR/train.tsv", "ner/BC5CDR/train.tsv.gz"])
def test_a_corpus_of_the_catalogue_loads_from_a_directory(tmp_path: Path, stored: str) -> None:
    put(tmp_path, stored, CONLL)
    documents = list(corpora.load("bc5cdr", "train", directory=tmp_path))
    assert mentions(documents) == [
        ("Chemical", "Aspirin"),
        ("Disease", "headache"),
        ("Chemical", "Ibuprofen sodium"),
    ]


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("bc5cdr[Chemical]", None),
        ("bc5cdr", ["Chemical"]),
        ("bc5cdr[Chemical=drug]", None),
        ("bc5cdr", {"Chemical": "drug"}),
    ],
)
def test_a_view_keeps_some_types_and_renames(tmp_path: Path, name: str, types: Any) -> None:
    put(tmp_path, "ner/BC5CDR/train.tsv", CONLL)
    called = "drug" if "drug" in f"{name}{types}" else "Chemical"
    documents = list(corpora.load(name, "train", directory=tmp_path, types=types))
    assert len(documents) == 2
    assert mentions(documents) == [(called, "Aspirin"), (called, "Ibuprofen sodium")]


def test_bare_tags_of_s800_are_species(tmp_path: Path) -> None:
    put(tmp_path, "ner/S800/test.tsv", "Mus\tB\nmusculus\tI\nruns\tO\n\n")
    assert mentions(list(corpora.load("s800", "test", directory=tmp_path))) == [("Species", "Mus musculus")]


def test_a_card_may_rename_types(tmp_path: Path) -> None:
    corpus = toy(tmp_path, rename={"Chemical": "chem"}, types=["chem", "Disease"])
    assert {span.type for document in corpus.documents("train") for span in document.spans} == {"chem", "Disease"}


def test_documents_come_lazily(tmp_path: Path) -> None:
    put(tmp_path, "ner/Toy/train.tsv", CONLL + "broken line without a tag\textra\tone\tmore\tand\tmore\n")
    documents = Corpus(card(), tmp_path).documents("train")
    assert next(documents).id == "toy/train:1"
    assert next(documents).id == "toy/train:2"
    with pytest.raises(FormatError):
        next(documents)


def test_what_is_missing_is_told_before_the_first_document(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"BX203.*biomux corpora fetch bc5cdr"):
        corpora.load("bc5cdr", "train", directory=tmp_path)


def test_a_credentialed_corpus_says_how_to_apply(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"BX205.*PhysioNet.*put it at"):
        corpora.load("mednli", "train", directory=tmp_path)


@pytest.mark.parametrize(
    ("name", "split", "said"),
    [
        ("bc5cdr", "dev", "no split 'dev'.*did you mean 'devel'"),
        ("bc5cdr[chemical]", "train", "no type 'chemical'; did you mean 'Chemical'"),
        ("bc5cdr[", "train", "as a corpus or view"),
        ("bc5cdr[]", "train", "as a corpus or view"),
        ("bc5cdr[Chemical=]", "train", "as a corpus or view"),
        ("rqe[Chemical]", "train", "its spans have no types"),
    ],
)
def test_a_wrong_split_or_view_is_told(tmp_path: Path, name: str, split: str, said: str) -> None:
    with pytest.raises(CorpusError, match=rf"BX207.*{said}"):
        corpora.load(name, split, directory=tmp_path)


def test_types_are_given_once(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot use both brackets and types="):
        corpora.load("bc5cdr[Chemical]", "train", directory=tmp_path, types=["Disease"])


def test_splits_join_with_plus(tmp_path: Path) -> None:
    for split in ("train", "devel"):
        put(tmp_path, f"ner/BC5CDR/{split}.tsv", CONLL)
    ids = [document.id for document in corpora.load("bc5cdr", "train + devel", directory=tmp_path)]
    assert ids == ["bc5cdr/train:1", "bc5cdr/train:2", "bc5cdr/devel:1", "bc5cdr/devel:2"]


def made(**cuts: float) -> dict[str, Any]:
    return {
        name: {"made": {"from": "train", "fraction": fraction, "seed": 13, "group": "text"}}
        for name, fraction in cuts.items()
    }


def test_a_cut_takes_from_its_origin_and_loses_nothing(tmp_path: Path) -> None:
    text = "".join(f"word{number}\tO\n\n" * 2 for number in range(200))
    put(tmp_path, "ner/Toy/train.tsv.gz", text)
    splits = {"train": {"files": ["ner/Toy/train.tsv.gz"]}, **made(devel=0.1, test=0.3)}
    corpus = Corpus(card(splits=splits), tmp_path)
    parts = {name: [document.text for document in corpus.documents(name)] for name in ("train", "devel", "test")}
    assert sorted(text for texts in parts.values() for text in texts) == sorted(
        f"word{number}" for number in range(200) for _ in range(2)
    )
    assert not set(parts["train"]) & set(parts["devel"])
    assert not set(parts["train"]) & set(parts["test"])
    assert not set(parts["devel"]) & set(parts["test"])
    assert 10 < len(parts["devel"]) < 80
    assert 80 < len(parts["test"]) < 160


def test_source_ids_stay_and_repeated_ones_are_told_apart(tmp_path: Path) -> None:
    rows = [{"id": "GSE1", "text": "HeLa", "spans": []}, {"id": "GSE1", "text": "COS-7", "spans": []}]
    put(tmp_path, "x.json", json.dumps(rows))
    corpus = Corpus(
        card(files=[{"path": "x.json"}], format={"name": "elucidata"}, splits={"train": {"files": ["x.json"]}}),
        tmp_path,
    )
    assert [document.id for document in corpus.documents("train")] == ["toy/train:GSE1", "toy/train:GSE1#2"]


@pytest.mark.parametrize("listing", ["GSE2\n\nGSE3\n", '{"GSE2": "yes", "GSE3": "no"}'])
@pytest.mark.parametrize("keep", [True, False])
def test_documents_are_chosen_by_an_id_file(tmp_path: Path, listing: str, keep: bool) -> None:
    put(tmp_path, "x.json", json.dumps([{"id": f"GSE{n}", "text": "HeLa", "spans": []} for n in range(1, 5)]))
    put(tmp_path, "ids", listing)
    splits = {"train": {"files": ["x.json"], "ids": {"file": "ids", "keep": keep}}}
    files = [{"path": "x.json"}, {"path": "ids"}]
    corpus = Corpus(card(files=files, format={"name": "elucidata"}, splits=splits), tmp_path)
    ids = {document.id.partition(":")[2] for document in corpus.documents("train")}
    assert ids == ({"GSE2", "GSE3"} if keep else {"GSE1", "GSE4"})


def test_members_of_an_archive_are_chosen_by_a_pattern(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for part in ("Train", "Test for it"):
            for number in (1, 2):
                archive.writestr(f"Toy/{part}/{number}.tsv", f"{part[:4]}{number}\tO\n\n")
    splits = {"train": {"files": ["x.zip"], "members": "*/Train/*.tsv"}}
    corpus = Corpus(card(files=[{"path": "x.zip"}], splits=splits), tmp_path)
    assert [document.text for document in corpus.documents("train")] == ["Trai1", "Trai2"]


@pytest.mark.parametrize("listing", [b"\xff\xfe", b'{"a": '])
def test_a_damaged_list_of_ids_is_told(tmp_path: Path, listing: bytes) -> None:
    (tmp_path / "ids").write_bytes(listing)
    files = [{"path": "ner/Toy/train.tsv.gz"}, {"path": "ids"}]
    splits = {"train": {"files": ["ner/Toy/train.tsv.gz"], "ids": {"file": "ids", "keep": True}}}
    with pytest.raises(CorpusError, match="BX204"):
        list(toy(tmp_path, files=files, splits=splits).documents("train"))
