"""Counts, and how they differ."""

from __future__ import annotations

from biomux.corpora.card import SplitCounts
from biomux.corpora.stats import count, differences, flat
from biomux.document import Argument, Document, Label, Question, Relation, Span

DOCUMENTS = [
    Document(
        "1",
        "Aspirin causes ulcers.",
        sentences=((0, 22),),
        tokens=((0, 7), (8, 14)),
        spans=(Span(0, 7, "chemical"), Span(15, 21, "disease")),
        relations=(Relation("cid", (Argument("a", "D1", "concept"), Argument("b", "D2", "concept"))),),
    ),
    Document("2", "No", labels=(Label("no"),), pair="Yes", questions=(Question("q", "Really?"),)),
]


def test_everything_is_counted() -> None:
    assert count(DOCUMENTS) == SplitCounts(
        documents=2,
        sentences=1,
        tokens=2,
        words=4,
        pairs=1,
        questions=1,
        mentions={"chemical": 1, "disease": 1},
        relations={"cid": 1},
        labels={"no": 1},
    )


def test_only_what_the_card_counts_is_compared() -> None:
    assert differences(SplitCounts(documents=2), count(DOCUMENTS)) == []
    assert differences(SplitCounts(), count(DOCUMENTS)) == []


def test_each_difference_is_a_phrase() -> None:
    expected = SplitCounts(documents=3, mentions={"chemical": 1_000, "gene": 1}, labels={"no": 1})
    assert differences(expected, count(DOCUMENTS)) == [
        "2 documents, not 3",
        "1 mentions of 'chemical', not 1,000",
        "0 mentions of 'gene', not 1",
        "1 mentions of 'disease', not 0",
    ]


def test_totals_leave_out_what_is_not_there() -> None:
    assert flat(count(DOCUMENTS[:1])) == {
        "documents": 1,
        "sentences": 1,
        "tokens": 2,
        "words": 3,
        "mentions": 2,
        "relations": 1,
    }
