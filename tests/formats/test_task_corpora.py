"""The task corpora load, and every count is the one that their description states.

Needs the corpora: set BIOMUX_CORPORA to the folder that holds `relations`, `pairs`, `classification` and `qa`.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from biomux import formats
from biomux.errors import FormatError
from biomux.formats import hoc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.document import Document

pytestmark = pytest.mark.skipif(not os.environ.get("BIOMUX_CORPORA"), reason="BIOMUX_CORPORA is not set")


def load(path: str, **options: Any) -> list[Document]:
    """The documents of a file under the corpora folder, gzipped there or not; the format must be recognised."""
    where = Path(os.environ["BIOMUX_CORPORA"], path)
    return list(formats.read(where if where.exists() else where.with_name(where.name + ".gz"), **options))


def labels(documents: Iterable[Document]) -> Counter[str]:
    """Labels of whole documents, by name."""
    return Counter(label.name for document in documents for label in document.labels if label.start is None)


def anchored(documents: Iterable[Document]) -> Counter[str]:
    """Labels of sentences, by name."""
    return Counter(label.name for document in documents for label in document.labels if label.start is not None)


def types(documents: Iterable[Document]) -> Counter[str]:
    return Counter(span.type for document in documents for span in document.spans)


@pytest.mark.parametrize(
    ("path", "documents", "mentions", "lines", "evaluated", "gold"),
    [
        (
            "chemprot_training/chemprot_training_abstracts.tsv",
            1020,
            {"CHEMICAL": 13017, "GENE-Y": 8348, "GENE-N": 4387},
            6437,
            4172,
            {"CPR:3": 768, "CPR:4": 2254, "CPR:5": 173, "CPR:6": 235, "CPR:9": 727},
        ),
        (
            "chemprot_development/chemprot_development_abstracts.tsv",
            612,
            {"CHEMICAL": 8004, "GENE-Y": 5151, "GENE-N": 2412},
            3558,
            2427,
            {"CPR:3": 550, "CPR:4": 1094, "CPR:5": 116, "CPR:6": 199, "CPR:9": 457},
        ),
        (
            "chemprot_test_gs/chemprot_test_abstracts_gs.tsv",
            800,
            {"CHEMICAL": 10810, "GENE-Y": 6658, "GENE-N": 3360},
            5744,
            3469,
            {"CPR:3": 665, "CPR:4": 1661, "CPR:5": 195, "CPR:6": 293, "CPR:9": 644},
        ),
    ],
)
def test_chemprot(
    path: str, documents: int, mentions: dict[str, int], lines: int, evaluated: int, gold: dict[str, int]
) -> None:
    found = load(f"relations/ChemProt/{path}")
    relations = [(document.id, relation) for document in found for relation in document.relations]
    assert len(found) == documents
    assert types(found) == mentions
    assert len(relations) == lines
    assert sum(relation.extra["evaluated"] for _, relation in relations) == evaluated
    distinct = {(name, relation.type, relation.arguments) for name, relation in relations if relation.extra["gold"]}
    assert Counter(group for _, group, _ in distinct) == gold


def test_chemprot_groups_that_are_not_evaluated() -> None:
    found = load("relations/ChemProt/chemprot_training/chemprot_training_abstracts.tsv")
    groups = Counter(relation.type for document in found for relation in document.relations)
    assert [groups[f"CPR:{n}"] for n in (0, 1, 2, 7, 8, 10)] == [1, 308, 1652, 29, 34, 241]


DDI = {
    "/Train/": (
        (714, 6976, 14765, 27792),
        {"effect": 1687, "mechanism": 1319, "advise": 826, "int": 188, "unspecified": 1, "none": 23771},
    ),
    "/Test for DDI Extraction task/": (
        (191, 1299, 3040, 5716),
        {"effect": 360, "mechanism": 302, "advise": 221, "int": 96, "none": 4737},
    ),
    "/Test for DrugNER task/": ((112, 665, 686, 941), {"none": 941}),
}


def test_ddi() -> None:
    archive = Path(os.environ["BIOMUX_CORPORA"], "relations/DDI2013/DDICorpus-2013.zip")
    parts: dict[str, list[Document]] = {part: [] for part in DDI}
    for source in formats.sources(archive):
        part = next(part for part in DDI if part in source.name)
        parts[part] += formats.read_source(source, format="ddi", mismatch="keep")
    for part, (sizes, relations) in DDI.items():
        found = parts[part]
        sentences = sum(len(d.sentences or ()) + len(d.metadata.get("empty sentences", ())) for d in found)
        spans = sum(len(document.spans) for document in found)
        pairs = Counter(relation.type for document in found for relation in document.relations)
        assert (len(found), sentences, spans, pairs.total()) == sizes
        assert pairs == relations
    train, test = parts["/Train/"], parts["/Test for DDI Extraction task/"]
    assert types(train) == {"drug": 9425, "group": 3399, "brand": 1437, "drug_n": 504}
    assert types(test) == {"drug": 1864, "group": 667, "brand": 369, "drug_n": 140}
    fragmented = [sum(bool(span.fragments) for d in part for span in d.spans) for part in (train, test)]
    assert fragmented == [38, 9]
    odd = {span.id for document in train for span in document.spans if "text" in span.extra}
    assert odd == {
        "DDI-DrugBank.d325.s6.e1",
        "DDI-MedLine.d75.s3.e0",
        "DDI-MedLine.d75.s3.e1",
        "DDI-DrugBank.d216.s16.e2",
    }
    line_ends = [
        sum(d.text[s:e].endswith("\r\n") for d in part for s, e in d.sentences or ()) for part in (train, test)
    ]
    assert line_ends == [74, 26]
    listed = archive.with_name("blurb_dev_docids.txt").read_text().split()
    dev = [document for document in train if document.id in listed]
    pairs = Counter(relation.type for document in dev for relation in document.relations)
    assert (len(dev), pairs) == (79, {"effect": 201, "mechanism": 156, "advise": 101, "int": 11, "none": 2027})


def test_ddi_has_one_entity_that_is_malformed_unless_kept() -> None:
    archive = Path(os.environ["BIOMUX_CORPORA"], "relations/DDI2013/DDICorpus-2013.zip")
    (source,) = (source for source in formats.sources(archive) if source.name.endswith("Eszopiclone_ddi.xml"))
    with pytest.raises(FormatError, match=r"BX115: .*DDI-DrugBank\.d216\.s16\.e2"):
        list(formats.read_source(source))


@pytest.mark.parametrize(
    ("path", "ones", "zeros"),
    [
        ("GAD/blurb/train.tsv", 2227, 2034),
        ("GAD/blurb/dev.tsv", 293, 242),
        ("GAD/blurb/test.tsv", 281, 253),
        ("GAD/biobert_folds/1/train.tsv", 2520, 2276),
        ("EU-ADR/biobert_folds/1/train.tsv", 235, 83),
        ("EU-ADR/biobert_folds/1/test.tsv", 27, 10),
    ],
)
def test_masked_relations(path: str, ones: int, zeros: int) -> None:
    found = load(f"relations/{path}")
    assert labels(found) == {"1": ones, "0": zeros}
    if path.startswith("GAD"):
        assert all(sorted(span.type for span in document.spans) == ["DISEASE", "GENE"] for document in found)


@pytest.mark.parametrize(
    ("name", "sizes", "counts"),
    [
        ("GAD", {534: 1, 533: 8, 532: 1}, {"1": 2801, "0": 2529}),
        ("EU-ADR", {37: 2, 36: 1, 35: 7}, {"1": 262, "0": 93}),
    ],
)
def test_ten_folds_make_the_whole(name: str, sizes: dict[int, int], counts: dict[str, int]) -> None:
    folds = [load(f"relations/{name}/biobert_folds/{fold}/test.tsv") for fold in range(1, 11)]
    assert Counter(map(len, folds)) == sizes
    assert labels(document for fold in folds for document in fold) == counts


def test_biosses() -> None:
    splits = [load(f"pairs/BIOSSES/blurb/{split}.tsv") for split in ("train", "dev", "test")]
    assert [len(split) for split in splits] == [64, 16, 20]
    every = [document for split in splits for document in split]
    assert {int(document.id) for document in every} == set(range(1, 101))
    scores = [document.labels[0].value or 0.0 for document in every]
    assert (min(scores), max(scores), round(sum(scores) / 100, 3)) == (0.0, 4.0, 2.198)


@pytest.mark.parametrize(
    ("name", "true", "false"),
    [
        ("RQE_Train_8588_AMIA2016.xml", 4655, 3933),
        ("RQE_Test_302_pairs_AMIA2016.xml", 129, 173),
        ("MEDIQA2019-Task2-RQE-TestSet-wLabels.xml", 115, 115),
    ],
)
def test_rqe(name: str, true: int, false: int) -> None:
    found = load(f"pairs/RQE/{name}")
    assert labels(found) == {"true": true, "false": false}
    if "Train" in name:
        assert [d.id for d in found if not d.text or not d.pair] == ["5860"]
        same = Counter(document.labels[0].name for document in found if document.text == document.pair)
        assert same == {"true": 1444, "false": 1}


def test_medical_question_pairs() -> None:
    found = load("pairs/MQP/mqp.csv")
    assert labels(found) == {"1": 1524, "0": 1524}
    assert {document.metadata["dr_id"] for document in found} == {str(n) for n in range(1, 12)}
    assert not any((document.pair or "").endswith("\r") for document in found)


def test_pubmedqa() -> None:
    found = load("pairs/PubMedQA/ori_pqal.json")
    assert labels(found) == {"yes": 552, "no": 338, "maybe": 110}
    test = [document for document in found if document.metadata.get("split") == "test"]
    assert labels(test) == {"yes": 276, "no": 169, "maybe": 55}
    assert all(d.metadata["LONG_ANSWER"] not in d.text for d in found)


@pytest.mark.parametrize(
    ("path", "claims", "pairs"),
    [
        ("SciFact/claims_train.jsonl", 809, {"SUPPORT": 370, "CONTRADICT": 194, "none": 355}),
        ("SciFact/claims_dev.jsonl", 300, {"SUPPORT": 138, "CONTRADICT": 71, "none": 131}),
        ("SciFact/claims_test.jsonl", 300, {}),
        ("HealthVer/multivers/claims_train.jsonl", 1393, {"SUPPORT": 2084, "CONTRADICT": 1256, "none": 1952}),
        ("HealthVer/multivers/claims_dev.jsonl", 230, {"SUPPORT": 300, "CONTRADICT": 208, "none": 432}),
        ("HealthVer/multivers/claims_test.jsonl", 230, {"SUPPORT": 374, "CONTRADICT": 225, "none": 304}),
        ("CovidFact/claims_train.jsonl", 903, {"SUPPORT": 299, "CONTRADICT": 641}),
        ("CovidFact/claims_test.jsonl", 313, {"SUPPORT": 102, "CONTRADICT": 215}),
    ],
)
def test_claims(path: str, claims: int, pairs: dict[str, int]) -> None:
    found = load(f"pairs/{path}")
    assert len({document.metadata["claim_id"] for document in found}) == claims
    assert labels(found) == pairs
    assert sum(bool(document.text) for document in found) == sum(pairs.values())
    marked = {d.id for d in found if anchored([d])["rationale"]}
    assert marked == {d.id for d in found if labels([d])["SUPPORT"] or labels([d])["CONTRADICT"]}


@pytest.mark.parametrize(("split", "support", "contradict", "none"), [("train", 332, 173, 304), ("dev", 124, 64, 112)])
def test_scifact_by_claim(split: str, support: int, contradict: int, none: int) -> None:
    by_claim: dict[str, set[str]] = {}
    for document in load(f"pairs/SciFact/claims_{split}.jsonl"):
        by_claim.setdefault(document.metadata["claim_id"], set()).update(labels([document]))
    counts = Counter(frozenset(names - {"none"}) for names in by_claim.values())
    assert counts == {frozenset({"SUPPORT"}): support, frozenset({"CONTRADICT"}): contradict, frozenset(): none}


@pytest.mark.parametrize(("path", "abstracts"), [("SciFact", 5183), ("HealthVer/multivers", 322), ("CovidFact", 409)])
def test_abstracts_beside_claims(path: str, abstracts: int) -> None:
    assert len(load(f"pairs/{path}/corpus.jsonl", abstracts=True)) == abstracts


@pytest.mark.parametrize(
    ("split", "counts"),
    [
        ("dev", {"Supports": 533, "Refutes": 391, "Neutral": 993}),
        ("test", {"Supports": 671, "Refutes": 425, "Neutral": 727}),
    ],
)
def test_healthver_snippets(split: str, counts: dict[str, int]) -> None:
    found = load(f"pairs/HealthVer/original/healthver_{split}.csv")
    assert labels(found) == counts
    assert set(found[0].metadata) == {"topic_ip", "question"}


@pytest.mark.parametrize(
    ("name", "each", "single", "comparison"),
    [("train", 850, 1035, 665), ("dev", 100, 140, 60), ("Gold_test", 250, 229, 271), ("test", 0, 229, 271)],
)
def test_nli4ct(name: str, each: int, single: int, comparison: int) -> None:
    found = load(f"pairs/NLI4CT/{name}.json")
    assert labels(found) == ({"Entailment": each, "Contradiction": each} if each else {})
    kinds = Counter(document.metadata["Type"] for document in found)
    assert kinds == {"Single": single, "Comparison": comparison}
    assert Counter(len(document.passages) for document in found) == {1: single, 2: comparison}


HALLMARKS = {
    "train": ([448, 185, 136, 219, 268, 523, 238, 602, 674, 375], [201, 86, 68, 87, 169, 222, 101, 309, 315, 180]),
    "dev": ([64, 20, 44, 11, 23, 103, 60, 72, 85, 45], [28, 8, 18, 4, 18, 46, 19, 41, 42, 20]),
    "test": ([155, 21, 33, 65, 75, 142, 60, 158, 234, 98], [62, 14, 19, 24, 53, 65, 23, 79, 105, 40]),
}


@pytest.mark.parametrize(
    ("split", "documents", "sentences", "bare_documents", "bare_sentences"),
    [("train", 1295, 12119, 197, 9034), ("dev", 186, 1798, 22, 1337), ("test", 371, 3547, 53, 2650)],
)
def test_hallmarks(split: str, documents: int, sentences: int, bare_documents: int, bare_sentences: int) -> None:
    found = load(f"classification/HoC/blurb/{split}.tsv")
    by_sentence = anchored(found)
    by_document = Counter(name for document in found for name in anchored([document]))
    labelled = {(document.id, label.start) for document in found for label in document.labels}
    assert len(found) == documents
    assert sum(len(document.sentences or ()) for document in found) == sentences
    assert [by_sentence[name] for name in hoc.HALLMARKS] == HALLMARKS[split][0]
    assert [by_document[name] for name in hoc.HALLMARKS] == HALLMARKS[split][1]
    assert sum(not document.labels for document in found) == bare_documents
    assert sentences - len(labelled) == bare_sentences


@pytest.mark.parametrize(
    ("split", "abstracts", "roles"),
    [
        ("train", 720, [3186, 1832, 1114, 504, 258, 85]),
        ("dev", 80, [378, 191, 136, 57, 33, 6]),
        ("test", 200, [959, 525, 303, 120, 63, 21]),
    ],
)
def test_sentence_roles(split: str, abstracts: int, roles: list[int]) -> None:
    found = load(f"classification/NICTA-PIBOSO/{split}_clean.txt")
    counts = anchored(found)
    names = ("outcome", "background", "other", "population", "intervention", "study design")
    assert len(found) == abstracts
    assert [counts[name] for name in names] == roles
    assert sum(len(document.sentences or ()) for document in found) == sum(roles)


def test_covid_qa() -> None:
    found = load("qa/COVID-QA/200423_covidQA.json")
    questions = [(document, question) for document in found for question in document.questions]
    sizes = [len(document.text) for document in found]
    assert (len(found), len(questions)) == (98, 1380)
    assert (min(sizes), max(sizes), round(sum(sizes) / 98)) == (2876, 67322, 23507)
    assert all(len(question.answers) == 1 and not question.impossible for _, question in questions)
    assert sum(document.metadata.get("repaired answers", 0) for document in found) == 234
    for document, question in questions:
        (answer,) = question.answers
        assert document.text[answer.start : answer.end] == answer.text


def test_covid_qa_without_repair() -> None:
    errors: list[Exception] = []
    found = load("qa/COVID-QA/200423_covidQA.json", repair=False, on_error=errors.append)
    assert (sum(len(document.questions) for document in found), len(errors)) == (1380 - 234, 234)
