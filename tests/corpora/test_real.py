"""The corpora themselves: everything loads, and the counts are those of the papers.

Needs the corpora directory in BIOMUX_CORPORA. Each split is read once; counts, ids and leaks come from the same reading.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from biomux import corpora
from biomux.corpora import stats
from biomux.corpora.check import check
from biomux.corpora.directory import locate
from biomux.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from biomux.corpora.card import SplitCounts

ROOT = Path(os.environ.get("BIOMUX_CORPORA") or "/nowhere")

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="BIOMUX_CORPORA names no corpora directory")

COLUMNS = (
    *("anatem", "bc2gm", "bc5cdr", "bionlp09", "bionlp11epi", "bionlp11id", "bionlp13cg", "bionlp13ge", "bionlp13pc"),
    *("craft", "ex-ptm", "jnlpba", "linnaeus", "ncbi-disease", "s800"),
)
ELUCIDATA = ("elucidata-strain", "elucidata-tissue", "elucidata-cell-line")


def here(name: str) -> bool:
    return any(locate(ROOT, file.path) for file in corpora.card(name).files)


NAMES = [name for name in corpora.names() if ROOT.is_dir() and here(name)]
SPLITS = [(name, split) for name in NAMES for split in corpora.card(name).splits]


@cache
def read(name: str, split: str) -> tuple[SplitCounts, int, list[Document]]:
    """One reading of a split: its counts, how many different ids it has, and the bare texts that the leak tables need."""
    ids: set[str] = set()
    texts: list[Document] = []

    def passing() -> Iterator[Document]:
        for document in corpora.load(name, split, directory=ROOT):
            ids.add(document.id)
            if name in (*COLUMNS, *ELUCIDATA):
                texts.append(Document(document.id, document.text, sentences=document.sentences))
            yield document

    return stats.count(passing()), len(ids), texts


def counted(name: str, split: str) -> SplitCounts:
    return read(name, split)[0]


def kept(name: str, split: str) -> list[Document]:
    return read(name, split)[2]


def totals(name: str, *splits: str) -> Counter[str]:
    sums: Counter[str] = Counter()
    for split in splits:
        sums.update(stats.flat(counted(name, split)))
    return sums


@pytest.mark.parametrize("name", NAMES)
def test_files_are_what_the_card_says(name: str) -> None:
    assert check(corpora.card(name), ROOT, counts=False).faults == ()


@pytest.mark.parametrize(("name", "split"), SPLITS)
def test_counts_are_what_the_card_says(name: str, split: str) -> None:
    found, ids, _ = read(name, split)
    assert stats.differences(corpora.card(name).splits[split].counts, found) == []
    assert ids == found.documents


@pytest.mark.parametrize(
    ("name", "mentions"),
    [
        *(
            ("anatem", 13_701),
            ("bc2gm", 24_583),
            ("bc5cdr", 15_935 + 12_852),
            ("bionlp09", 14_963),
            ("bionlp11epi", 15_811),
        ),
        *(("bionlp11id", 11_082), ("bionlp13cg", 21_323), ("bionlp13ge", 12_057), ("bionlp13pc", 15_893)),
        *(("craft", 57_634), ("ex-ptm", 4_698), ("jnlpba", 59_963), ("linnaeus", 4_263), ("ncbi-disease", 6_881)),
        *(("s800", 3_708), ("elucidata-strain", 3_476), ("elucidata-tissue", 1_804), ("elucidata-cell-line", 1_541)),
        *(
            ("bc5cdr-cid", 9_385 + 9_591 + 9_809),
            ("biored", 13_351 + 3_533 + 3_535),
            ("chemprot", 25_752 + 15_567 + 20_828),
        ),
        ("ddi", 14_765 + 3_040),
    ],
)
def test_mentions_are_those_of_the_papers(name: str, mentions: int) -> None:
    assert totals(name, "train", "devel", "test")["mentions"] == mentions


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("elucidata-strain", 2_800, 760), ("elucidata-tissue", 1_750, 857), ("elucidata-cell-line", 2_100, 959)],
)
def test_elucidata_has_the_paragraphs_of_the_paper(name: str, train: int, test: int) -> None:
    assert totals(name, "train", "devel")["documents"] == train
    assert totals(name, "test")["documents"] == test


@pytest.mark.parametrize(
    ("name", "train", "devel", "test"),
    [
        ("anatem", 5_861, 2_118, 3_830),
        ("bc2gm", 12_574, 2_519, 5_038),
        ("bc5cdr", 4_560, 4_581, 4_797),
        ("bionlp09", 7_462, 1_448, 2_446),
        ("craft", 10_875, 3_730, 7_425),
        ("jnlpba", 16_807, 1_739, 3_856),
        ("linnaeus", 11_935, 4_078, 7_142),
        ("s800", 5_733, 830, 1_630),
        ("hoc", 12_119, 1_798, 3_547),
        ("nicta-piboso", 6_979, 801, 1_991),
    ],
)
def test_sentences_are_those_of_the_sources(name: str, train: int, devel: int, test: int) -> None:
    assert [totals(name, split)["sentences"] for split in ("train", "devel", "test")] == [train, devel, test]


@pytest.mark.parametrize(
    ("name", "train", "devel", "test"),
    [
        ("bc5cdr-cid", 1_038, 1_012, 1_066),
        ("biored", 4_178, 1_162, 1_163),
        ("chemprot", 6_437, 3_558, 5_744),
        ("ddi", 25_296, 2_496, 5_716),
    ],
)
def test_relations_are_those_of_the_sources(name: str, train: int, devel: int, test: int) -> None:
    assert [totals(name, split)["relations"] for split in ("train", "devel", "test")] == [train, devel, test]


@pytest.mark.parametrize(
    ("name", "train", "devel", "test"),
    [
        ("biosses", 64, 16, 20),
        ("rqe", 8_588, 302, 230),
        ("nli4ct", 1_700, 200, 500),
        ("healthver", 5_292 + 1, 940, 903),
        ("scifact", 919, 340, 300),
    ],
)
def test_pairs_are_those_of_the_sources(name: str, train: int, devel: int, test: int) -> None:
    assert [totals(name, split)["pairs"] for split in ("train", "devel", "test")] == [train, devel, test]


@pytest.mark.parametrize(
    ("name", "what", "train", "test"),
    [
        ("pubmedqa", "pairs", 500, 500),
        ("covidfact", "pairs", 940, 317),
        ("eu-adr", "documents", 318, 37),
    ],
)
def test_a_made_devel_comes_out_of_train(name: str, what: str, train: int, test: int) -> None:
    assert totals(name, "train", "devel")[what] == train
    assert totals(name, "devel")[what] / train == pytest.approx(0.1, abs=0.05)
    assert totals(name, "test")[what] == test


@pytest.mark.parametrize(("name", "what", "number"), [("mqp", "pairs", 3_048), ("covid-qa", "questions", 1_380)])
def test_corpora_without_splits_are_split_whole(name: str, what: str, number: int) -> None:
    assert totals(name, "train", "devel", "test")[what] == number


def test_question_pairs_keep_their_first_question_on_one_side() -> None:
    sides = {
        split: {one.text for one in corpora.load("mqp", split, directory=ROOT)} for split in ("train", "devel", "test")
    }
    assert sum(map(len, sides.values())) == len(set().union(*sides.values()))
    for split in sides:
        labels = counted("mqp", split).labels or {}
        assert labels["1"] == labels["0"]


def test_chemprot_has_the_gold_relations_of_the_scorer() -> None:
    for split, gold in {"train": 4_157, "devel": 2_416, "test": 3_458}.items():
        found = {
            (document.id, relation.type, relation.arguments)
            for document in corpora.load("chemprot", split, directory=ROOT)
            for relation in document.relations
            if relation.extra["gold"]
        }
        assert len(found) == gold


def test_ddi_has_the_positive_pairs_of_blurb() -> None:
    for split, positive in {"train": 3_552, "devel": 469, "test": 979}.items():
        relations = counted("ddi", split).relations or {}
        assert sum(relations.values()) - relations["none"] == positive


def test_folds_of_gad_are_whole() -> None:
    assert totals("gad", *(f"fold-{number}" for number in range(1, 11)))["documents"] == 5_330
    assert totals("gad", "train", "devel", "test")["documents"] == 5_330
    assert totals("eu-adr", *(f"fold-{number}" for number in range(1, 11)))["documents"] == 355


def test_the_column_corpora_leak_as_the_sources_say() -> None:
    training = {name: kept(name, "train") for name in COLUMNS}
    held_out = {name: kept(name, "test") for name in COLUMNS}
    left, report = corpora.filter_leaks(training, held_out)
    found = {(leak.held_out, leak.training): leak.units for leak in report.leaks if leak.held_out != leak.training}
    stated = {
        ("bionlp09", "jnlpba"): 1_921,
        ("anatem", "bionlp13cg"): 34,
        ("jnlpba", "bionlp09"): 33,
        ("bc2gm", "jnlpba"): 18,
        ("bionlp09", "bc2gm"): 9,
        ("bionlp11epi", "bionlp13pc"): 14,
        ("linnaeus", "craft"): 15,
    }
    assert {pair: found[pair] for pair in stated} == stated
    assert max(units for pair, units in found.items() if pair not in stated) <= 11
    totals = {leak.held_out: leak.held_out_units for leak in report.leaks}
    assert (totals["bionlp09"], totals["jnlpba"], totals["linnaeus"]) == (2_446, 3_856, 7_142)
    _, again = corpora.filter_leaks(left, held_out)
    assert not again.leaks


def test_elucidata_leaks_as_the_sources_say() -> None:
    training = {name: [*kept(name, "train"), *kept(name, "devel")] for name in ELUCIDATA}
    held_out = {name: kept(name, "test") for name in ELUCIDATA}
    _, report = corpora.filter_leaks(training, held_out, sentences=None)
    assert {(leak.held_out, leak.training): leak.units for leak in report.leaks} == {
        ("elucidata-tissue", "elucidata-cell-line"): 340,
        ("elucidata-cell-line", "elucidata-tissue"): 326,
        ("elucidata-strain", "elucidata-strain"): 18,
    }


def test_shared_paragraphs_fall_on_the_same_side_of_both() -> None:
    tissue, cells = ({one.text for one in kept(f"elucidata-{kind}", "devel")} for kind in ("tissue", "cell-line"))
    for kind, other in (("tissue", cells), ("cell-line", tissue)):
        assert not other & {one.text for one in kept(f"elucidata-{kind}", "train")}


def test_git_blob_ids_are_those_of_the_home() -> None:
    blobs = {file.source: file.blob for file in corpora.card("bc5cdr-cid").files}
    assert [blob for _, blob in sorted((str(source), blob) for source, blob in blobs.items())] == [
        "c5ae6e9c8524375264fb620d91d33d8fd7b70742",
        "0bbdc104ba00f1e9fedd846415cf58fe07c797d8",
        "4a6cbefd7ffdb5052bc6fc0a604c785d99cfab2a",
    ]
