"""Cards: strict, and all of those shipped are sound."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from corpora.samples import card

from biomux import formats
from biomux.corpora import catalogue
from biomux.errors import CorpusError

CREDENTIALED = {"mednli", "clinicalsts", "i2b2-2010", "share-clefe", "bioasq"}
UNIFORM = {"train", "devel", "test"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"licens": "x"}, "licens: unknown key (did you mean 'licence'?)"),
        ({"home": {"repositry": "a/b"}}, "home → repositry: unknown key (did you mean 'repository'?)"),
        (
            {"files": [{"path": "a", "sha": "x"}], "splits": {}},
            "files → 0 → sha: unknown key (did you mean 'sha256'?)",
        ),
        ({"splits": {"train": {"files": ["elsewhere"]}}}, "names files that are not listed: elsewhere"),
        ({"splits": {"train": {}}}, "splits → train: give either files or made"),
        (
            {"splits": {"devel": {"made": {"from": "train", "fraction": 0.1, "seed": 1, "group": "text"}}}},
            "made from 'train', which has no files",
        ),
        ({"credentialed": True}, "must say how to apply"),
        ({"format": None}, "there are files but no format"),
        ({"name": "Toy Corpus"}, "name: string should match"),
        ({"title": None}, "title: field required"),
        ({"files": [{"path": "a", "sha256": "beef"}], "splits": {}}, "files → 0 → sha256"),
    ],
)
def test_a_fault_is_told_with_its_place(changes: dict[str, object], said: str) -> None:
    with pytest.raises(CorpusError) as caught:
        card(**changes)
    assert caught.value.code == "BX206"
    assert said in caught.value.message
    assert caught.value.where == "toy.yaml"


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(CorpusError) as caught:
        card(titel="x", licens="y", tasks=3)
    assert all(f"{key}:" in str(caught.value) for key in ("titel", "licens", "tasks"))


def test_a_card_that_is_not_yaml_is_refused() -> None:
    with pytest.raises(CorpusError, match="not valid YAML"):
        catalogue.read("name: [", where="toy.yaml")


def test_a_card_cannot_run_code() -> None:
    with pytest.raises(CorpusError, match="not valid YAML"):
        catalogue.read("!!python/object/apply:os.system ['true']", where="toy.yaml")


@pytest.mark.parametrize("name", catalogue.names())
def test_shipped_cards_are_sound(name: str) -> None:
    found = catalogue.card(name)
    assert found.name == name
    assert found.title
    assert found.tasks
    assert found.licence
    assert found.citation
    assert found.credentialed == (name in CREDENTIALED)
    for file in found.files:
        path = PurePosixPath(file.path)
        assert not path.is_absolute()
        assert ".." not in path.parts
        home = file.home or found.home
        assert file.url or file.source or file.made or found.credentialed
        assert not file.source or (home.repository and home.commit)
    for split in found.splits.values():
        assert set(split.counts.mentions or ()) <= set(found.types)
        for chosen in (split.format, found.format):
            assert chosen is None or chosen.name in formats.FORMATS


@pytest.mark.parametrize("name", catalogue.names())
def test_splits_have_the_same_names_everywhere(name: str) -> None:
    lacking = UNIFORM - set(catalogue.card(name).splits)
    assert lacking == {"tmvar3": {"train", "devel"}, "text": {"devel"}}.get(name, set())


def test_the_catalogue_has_what_the_papers_need() -> None:
    assert {
        *("anatem", "bc2gm", "bc4chemd", "bc5cdr", "bionlp09", "bionlp11epi", "bionlp11id", "bionlp13cg", "bionlp13ge"),
        *("bionlp13pc", "craft", "ex-ptm", "jnlpba", "linnaeus", "ncbi-disease", "s800"),
        *("elucidata-strain", "elucidata-tissue", "elucidata-cell-line"),
        *("bc5cdr-cid", "chemprot", "ddi", "gad", "eu-adr", "biored", "tmvar3"),
        *("biosses", "mednli", "clinicalsts", "rqe", "mqp", "pubmedqa", "scifact", "healthver", "covidfact", "nli4ct"),
        *("i2b2-2010", "share-clefe", "bioasq", "covid-qa", "hoc", "nicta-piboso", "text"),
    } <= set(catalogue.names())
