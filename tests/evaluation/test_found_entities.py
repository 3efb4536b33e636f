"""Relations scored the whole way: between the entities that the model itself finds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine.test_one_pass import LINKS, TAGS, annotator, expected

from biomux.document import Argument, Document, Relation, Span
from biomux.errors import ScoreError
from biomux.evaluation.columns import Column
from biomux.evaluation.evaluate import _score_head
from biomux.scoring import mapping

TEXT = "zolmide level fever"
COLUMN = Column("links", "made-up", "test", ("links",), mapping.of_pairs([]), "none", kind="relation", tags=False)
CORPUS = replace(LINKS, entities=(("chemical", ("DRUG",)), ("disease", ("ILL",))))


def gold(*ends: tuple[int, int]) -> Document:
    """The relation that the head finds, between mentions at these places, by the types of a corpus."""
    ((_, type_, _),) = expected(TEXT)
    spans = (Span(*ends[0], "DRUG", id="a"), Span(*ends[1], "ILL", id="b"))
    relation = Relation(type_, (Argument("Arg1", "a"), Argument("Arg2", "b")))
    return Document("1", TEXT, spans=spans, relations=(relation,))


@pytest.mark.parametrize(
    ("ends", "f1", "given"),
    [(((0, 7), (14, 19)), 1.0, 1.0), (((0, 13), (14, 19)), 0.0, 1.0), (((0, 7), (8, 19)), 0.0, 1.0)],
)
def test_an_argument_must_be_found_to_the_character(
    ends: tuple[tuple[int, int], tuple[int, int]], f1: float, given: float
) -> None:
    model = annotator(CORPUS)
    scores, facts = _score_head(model, COLUMN, [gold(*ends)], None, lambda: None, found_entities=True)
    assert scores["main"]["value"] == f1
    assert (facts["mentions"], facts["kind"]) == ("found", "relation")
    if f1 == given:
        scores, facts = _score_head(model, COLUMN, [gold(*ends)], None, lambda: None, found_entities=False)
        assert (scores["main"]["value"], facts["mentions"]) == (given, "gold")


def test_a_model_without_taggers_and_corpora_that_link_concepts_are_refused() -> None:
    documents = [gold((0, 7), (14, 19))]
    with pytest.raises(ScoreError, match=r"BX606: .*has no head that finds entities"):
        _score_head(annotator(CORPUS, tasks=()), COLUMN, documents, None, lambda: None, found_entities=True)
    linked = replace(CORPUS, between="concepts")
    with pytest.raises(ScoreError, match=r"BX606: .*have no identifiers"):
        _score_head(annotator(linked, TAGS), COLUMN, documents, None, lambda: None, found_entities=True)
