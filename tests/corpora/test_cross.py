"""The table of cross-corpus pairs names corpora and types that are there; documents that were seen are found."""

from __future__ import annotations

import doctest
import os

import pytest

from biomux import corpora
from biomux.corpora import catalogue, cross, seen
from biomux.corpora.seen import Unseen, text_keys
from biomux.document import Document, Passage

SENTENCE = "Zolmide lowered the blood pressure of all patients within two days."


@pytest.mark.parametrize("corpus", cross.targets())
def test_pairs_name_types_that_the_cards_have(corpus: str) -> None:
    for own, sources in cross.pairs(corpus).items():
        assert own in catalogue.card(corpus).types
        for other, type_ in sources:
            assert other != corpus
            assert type_ in catalogue.card(other).types


def test_a_corpus_without_pairs_has_none() -> None:
    assert cross.pairs("craft") == {}


@pytest.mark.parametrize("module", [cross, seen])
def test_examples_run(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_a_document_is_seen_by_one_sentence_or_as_a_whole() -> None:
    known = {"toy train": text_keys([Document("a", SENTENCE.upper())]), "toy devel": text_keys([])}
    inside = Document("1", f"New title of a paper that nobody has read. {SENTENCE} More.")
    title = Document("2", f"{SENTENCE}\nSomething else.", passages=(Passage(0, len(SENTENCE), "title"),))
    fresh = Document("3", "Zolmide lowered nothing.")
    unseen = Unseen(known)
    assert [one.id for one in unseen.of([inside, title, fresh])] == ["3"]
    assert (unseen.removed, dict(unseen.by_part)) == (2, {"toy train": 2})


def test_biored_test_documents_of_other_corpora_are_found() -> None:
    if not os.environ.get("BIOMUX_CORPORA"):
        pytest.skip("BIOMUX_CORPORA does not name the corpora directory")
    known = {
        f"{name} {split}": text_keys(corpora.load(name, split))
        for name in ("bc5cdr", "ncbi-disease")
        for split in ("train", "devel", "test")
    }
    unseen = Unseen(known)
    assert len(list(unseen.of(corpora.load("biored", "test")))) == 65
    assert dict(unseen.by_part) == {"bc5cdr train": 10, "bc5cdr devel": 11, "bc5cdr test": 13, "ncbi-disease train": 1}
