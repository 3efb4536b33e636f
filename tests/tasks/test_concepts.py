"""Relations between concepts: put onto the mentions that carry the identifiers, and scored as concepts."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny

from biomux import corpora, formats
from biomux.scoring.document_rows import figure_of
from biomux.tasks.conformance import check_task
from biomux.tasks.examples import make
from biomux.tasks.relation import Relations

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.document import Document

PUBTATOR = """\
1|t|Aspirin and ulcer.
1|a|Aspirin or bexol after severe ulcer. Fever with the ulcer and tumour.
1\t0\t7\tAspirin\tChemical\tD1
1\t12\t17\tulcer\tDisease\tD2
1\t19\t26\tAspirin\tChemical\tD1
1\t30\t35\tbexol\tChemical\tD3
1\t49\t54\tulcer\tDisease\tD2
1\t56\t61\tFever\tDisease\tD4
1\t71\t76\tulcer\tDisease\tD2
1\t81\t87\ttumour\tDisease\tD5|D6
1\tCID\tD1\tD2
1\tCID\tD1\tD4
1\tCID\tD3\tD9

2|t|Zolmide for fever.
2|a|
2\t0\t7\tZolmide\tChemical\tD7
2\t12\t17\tfever\tDisease\tD4
"""
BIOC = """\
<?xml version="1.0"?>
<collection><source/><date/><key/>
<document><id>1</id><passage><offset>0</offset><text>Aspirin after ulcer.</text>
<annotation id="0"><infon key="type">Chemical</infon><infon key="identifier">D1</infon><location offset="0" length="7"/><text>Aspirin</text></annotation>
<annotation id="1"><infon key="type">Disease</infon><infon key="identifier">D2,D4</infon><location offset="14" length="5"/><text>ulcer</text></annotation>
</passage>
<relation id="R0"><infon key="type">CID</infon><node refid="D1" role="arg1"/><node refid="D2" role="arg2"/></relation>
</document></collection>
"""
ENDS: dict[str, Any] = {"first": ("Chemical",), "second": ("Disease",)}


def read(tmp_path: Path, text: str, name: str) -> list[Document]:
    (tmp_path / name).write_text(text)
    return list(formats.read(tmp_path / name))


def answered(task: Relations, documents: list[Document], *, right: bool) -> list[Document]:
    """The documents as a head has them that is always right about pairs, or always finds a relation."""
    made = make(task, documents, tiny.tokenizer(), limit=60).examples
    found = []
    for document in documents:
        bare = task.bare(document)
        labels = [example.labels[task.name].values for example in made if example.source[0] == document.id]
        logits = [np.eye(len(task.labels), dtype=np.float32)[one if right else one * 0 + 1] * 9 for one in labels]
        found.append(task.decode(bare, tiny.inputs(task, bare, limit=60), logits))
    return found


@pytest.mark.parametrize("variant", ["replace", "markers", "one-pass"])
def test_all_pairs_of_mentions_that_carry_the_identifiers_are_positive(tmp_path: Path, variant: str) -> None:
    documents = read(tmp_path, PUBTATOR, "cid.pubtator")
    task = Relations.of_documents("cid", documents, variant=variant, **ENDS)
    assert task.between == "concepts"
    made = make(task, documents, tiny.tokenizer(), limit=60)
    labels = [value for example in made.examples for value in example.labels["cid"].values.tolist()]
    assert labels == [1, 1, 0, 0]  # title; aspirin and bexol with the ulcer; the second document
    assert made.counts["pairs with a relation"] == 2
    assert made.counts["relations not asked about"] == 1  # D1 and D4 stand in different sentences
    assert made.counts["relations of concepts without a mention"] == 1  # D9
    check_task(task, documents, tiny.tokenizer())


def test_concepts_are_scored_and_what_no_sentence_holds_is_a_miss(tmp_path: Path) -> None:
    documents = read(tmp_path, PUBTATOR, "cid.pubtator")
    task = Relations.of_documents("cid", documents, **ENDS)
    predicted = answered(task, documents, right=True)
    assert len(predicted[0].relations) == 2  # of mentions, both for D1 and D2
    figures = task.evaluate(documents, predicted).figures
    assert (figures["precision"], figures["recall"]) == (1.0, 1 / 3)
    keen = answered(task, documents, right=False)
    assert task.evaluate(documents, keen).figures["precision"] == 1 / 3  # D1-D2; D3-D2 and D7-D4 are wrong
    for found in (predicted, keen):
        scores = task.evaluate(documents, found)
        assert scores.rows is not None
        assert figure_of([scores.rows]) == pytest.approx(scores.figures["f1"])
        table = scores.to_json()["relations"]["matchings"]
        assert table["undirected"]["micro"]["f1"] == pytest.approx(scores.figures["f1"])
        assert table["candidates"]["micro"]["recall"] == 1.0


def test_a_mention_of_several_concepts_stands_for_each(tmp_path: Path) -> None:
    documents = read(tmp_path, BIOC, "cid.bioc.xml")
    task = Relations.of_documents("cid", documents, **ENDS)
    made = make(task, documents, tiny.tokenizer(), limit=60)
    assert [example.labels["cid"].values.tolist() for example in made.examples] == [[1]]
    figures = task.evaluate(documents, answered(task, documents, right=True)).figures
    assert (figures["precision"], figures["recall"]) == (0.5, 1.0)  # D1-D4 is said too


def test_mentions_of_one_concept_are_not_asked_about(tmp_path: Path) -> None:
    (first, _) = read(tmp_path, PUBTATOR, "cid.pubtator")
    task = Relations.of_documents("cid", [first])
    pairs = [
        [document.mention(span) for span in pair]
        for document in [replace(first, sentences=((0, len(first.text)),))]
        for _, found in task._pairs(document, Counter())
        for pair in found
    ]
    assert ["Aspirin", "bexol"] in pairs
    assert ["ulcer", "ulcer"] not in pairs
    assert ["Aspirin", "Aspirin"] not in pairs


def test_mentions_without_identifiers_are_asked_about_and_stand_for_themselves(tmp_path: Path) -> None:
    documents = read(tmp_path, PUBTATOR, "cid.pubtator")
    task = Relations.of_documents("cid", documents, **ENDS)
    bare = [replace(one, spans=tuple(replace(span, identifiers=()) for span in one.spans)) for one in documents]
    found = answered(task, bare, right=False)
    assert [len(one.relations) for one in found] == [3, 1]
    assert task.evaluate(documents, found).figures["recall"] == 0.0


@pytest.mark.skipif(not os.environ.get("BIOMUX_CORPORA"), reason="BIOMUX_CORPORA does not name the corpora's folder")
@pytest.mark.parametrize(
    ("name", "settings", "relations", "positive", "unasked"),
    [("bc5cdr-cid", ENDS, 1038, 1801, 277), ("biored", {}, 4178, 8683, 568)],
)
def test_real_corpora_have_positive_pairs(
    name: str, settings: dict[str, Any], relations: int, positive: int, unasked: int
) -> None:
    documents = list(corpora.load(name, "train"))
    task = Relations.of_documents("re", documents, variant="one-pass", **settings)
    counts = make(task, documents, tiny.tokenizer(), limit=4000).counts
    assert sum(len(document.relations) for document in documents) == relations
    assert counts["pairs with a relation"] == pytest.approx(
        positive, abs=15
    )  # how many windows hold depends on the limit
    assert counts["relations not asked about"] == pytest.approx(unasked, abs=5)
    assert counts["relations of concepts without a mention"] <= 4
