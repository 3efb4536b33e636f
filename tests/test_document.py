"""A document keeps its own rules, and says which one is broken."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from biomux.document import Answer, Argument, Document, Label, Passage, Question, Relation, Span
from biomux.errors import DocumentError

TEXT = "TP53 in mice"


@pytest.mark.parametrize(
    "parts",
    [
        {"spans": (Span(0, 4, "gene"), Span(0, 12, "phrase"), Span(0, 4, "gene"))},
        {"spans": (Span(0, 12, "gene", fragments=((0, 4), (8, 12))),)},
        {"passages": (Passage(0, 0, "title"), Passage(0, 12, "abstract"))},
        {"sentences": ((0, 4), (5, 12)), "tokens": ((0, 4),), "coverage": ()},
        {"labels": (Label("yes"), Label("rationale", start=0, end=4))},
        {"questions": (Question("q", "Which?", (Answer("p53"), Answer("TP53", 0, 4))),)},
        {
            "spans": (Span(0, 4, "gene", id="T1"),),
            "relations": (
                Relation("in", (Argument("gene", "T1"), Argument("host", "NCBITaxon:10090", "concept")), id="R1"),
                Relation("cause", (Argument("cause", "R1", "relation"),)),
            ),
        },
    ],
    ids=" ".join,
)
def test_what_a_document_may_have(parts: dict[str, Any]) -> None:
    document = Document("1", TEXT, **parts)
    assert document == pickle.loads(pickle.dumps(document))
    assert hash(document) == hash(Document("1", TEXT, **parts))


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"spans": (Span(0, 13, "gene"),)}, "BX101"),
        ({"spans": (Span(-1, 3, "gene"),)}, "BX101"),
        ({"spans": (Span(4, 4, "gene"),)}, "BX101"),
        ({"spans": (Span(0, 12, "gene", fragments=((8, 12), (0, 4))),)}, "BX101"),
        ({"spans": (Span(0, 12, "gene", fragments=((0, 4), (8, 11))),)}, "BX101"),
        ({"passages": (Passage(4, 12, "abstract"), Passage(0, 4, "title"))}, "BX101"),
        ({"sentences": ((0, 5), (4, 12))}, "BX101"),
        ({"tokens": ((0, 0),)}, "BX101"),
        ({"coverage": ((0, 13),)}, "BX101"),
        ({"labels": (Label("rationale", start=3),)}, "BX101"),
        ({"questions": (Question("q", "Which?", (Answer("TP53", end=4),)),)}, "BX101"),
        ({"questions": (Question("q", "Which?", (Answer("TP53", 0, 40),)),)}, "BX101"),
        ({"relations": (Relation("in", (Argument("gene", "T1"),)),)}, "BX102"),
    ],
)
def test_what_a_document_may_not_have(parts: dict[str, Any], code: str) -> None:
    with pytest.raises(DocumentError, match=r"document '1': ") as caught:
        Document("1", TEXT, **parts)
    assert caught.value.code == code
    assert caught.value.hint


def test_a_mention_is_the_text_at_its_place() -> None:
    document = Document("1", TEXT, spans=(Span(5, 12, "x"), Span(0, 12, "y", fragments=((0, 4), (8, 12)))))
    assert [document.mention(span) for span in document.spans] == ["in mice", "TP53 mice"]
    assert [entity["word"] for entity in document.to_hf()] == ["in mice", TEXT]
