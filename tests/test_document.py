"""A document keeps its own rules, and says which one is broken."""

from __future__ import annotations

import json
import pickle
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from biomux import document as document_module
from biomux import formats
from biomux.document import Answer, Argument, Document, Label, Passage, Question, Relation, Span
from biomux.errors import DocumentError

TEXT = "TP53 in mice"
LOOSE: Any = document_module
"""The classes as a caller without a type checker sees them."""


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


def test_an_id_that_is_a_whole_number_becomes_its_string() -> None:
    for number in (12345, np.int64(12345), np.uint32(12345)):
        document = Document(number, TEXT)  # type: ignore[arg-type]
        assert document == Document("12345", TEXT)
        assert type(document.id) is str
    spans = (Span(0, 4, "gene", id=1), Span(8, 12, "species", id=np.int32(2)))  # type: ignore[arg-type]
    relation = Relation("in", (Argument("a", 1), Argument("b", 2)), id=3)  # type: ignore[arg-type]
    document = Document(7, TEXT, spans=spans, relations=(relation,), questions=(Question(8, "Which?"),))  # type: ignore[arg-type]
    assert [span.id for span in document.spans] == ["1", "2"]
    assert [one.target for one in document.relations[0].arguments] == ["1", "2"]
    assert (document.relations[0].id, document.questions[0].id) == ("3", "8")


def test_what_was_made_of_numpy_values_is_read_back_from_json_lines(tmp_path: Any) -> None:
    one, four, half = np.int64(1), np.int32(4), np.float32(0.5)
    document = Document(
        np.int64(9),  # type: ignore[arg-type]
        np.str_(TEXT),
        passages=[Passage(np.int64(0), np.int64(12), "abstract")],  # type: ignore[arg-type]
        sentences=[[0, np.int64(12)]],  # type: ignore[arg-type]
        tokens=((0, four), (5, 7)),  # type: ignore[arg-type]
        spans=[Span(one, four, np.str_("gene"), score=half, identifiers=["a"], fragments=[[one, 2], [3, four]])],  # type: ignore[arg-type]
        labels=[Label("yes", value=2, start=one, end=four, score=half)],  # type: ignore[arg-type]
        questions=[Question("q", "Which?", [Answer("TP", 0, np.int8(2), score=1)], impossible=np.False_)],  # type: ignore[arg-type]
        coverage=[(0, 12)],  # type: ignore[arg-type]
    )
    plain = Document(
        "9",
        TEXT,
        passages=(Passage(0, 12, "abstract"),),
        sentences=((0, 12),),
        tokens=((0, 4), (5, 7)),
        spans=(Span(1, 4, "gene", score=0.5, identifiers=("a",), fragments=((1, 2), (3, 4))),),
        labels=(Label("yes", value=2.0, start=1, end=4, score=0.5),),
        questions=(Question("q", "Which?", (Answer("TP", 0, 2, score=1.0),)),),
        coverage=((0, 12),),
    )
    assert document == plain
    assert hash(document) == hash(plain)
    assert document.to_dict() == plain.to_dict()
    formats.write([document], tmp_path / "one.jsonl")
    assert list(formats.read(tmp_path / "one.jsonl")) == [plain]
    assert json.loads((tmp_path / "one.jsonl").read_bytes())["id"] == "9"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LOOSE.Document(1.5, TEXT), "id must be a string or a whole number, got 1.5 (float)"),
        (lambda: LOOSE.Document(True, TEXT), "id must be a string or a whole number, got True (bool)"),
        (lambda: LOOSE.Document(None, TEXT), "id must be a string or a whole number, got None (NoneType)"),
        (lambda: LOOSE.Document("1", None), "text must be a string, got None (NoneType)"),
        (lambda: LOOSE.Document("1", b"TP53"), "text must be a string, got b'TP53' (bytes)"),
        (lambda: LOOSE.Document("1", float("nan")), "text must be a string, got nan (float)"),
        (lambda: LOOSE.Document("1", TEXT, spans=Span(0, 4, "gene")), "spans must be a tuple of spans, got"),
        (
            lambda: LOOSE.Document("1", TEXT, spans=((0, 4, "gene"),)),
            "spans must be a tuple of spans, each of them a Span",
        ),
        (
            lambda: LOOSE.Document("1", TEXT, tokens=((0, 4, 5),)),
            "tokens must be a tuple of ranges, each of them a start",
        ),
        (lambda: LOOSE.Document("1", TEXT, tokens=("ab",)), "tokens must be a tuple of ranges, each of them a start"),
        (lambda: LOOSE.Document("1", TEXT, tokens=((0.0, 4.0),)), "each of them a start and an end in whole numbers"),
        (lambda: LOOSE.Document("1", TEXT, pair=3), "pair must be a string or None, got 3 (int)"),
        (lambda: LOOSE.Document("1", TEXT, metadata=[]), "metadata must be a mapping, got [] (list)"),
        (lambda: LOOSE.Span("0", 4, "gene"), "start must be a whole number, got '0' (str)"),
        (lambda: LOOSE.Span(0, 4.0, "gene"), "end must be a whole number, got 4.0 (float)"),
        (lambda: LOOSE.Span(False, True, "gene"), "start must be a whole number, got False (bool)"),
        (lambda: LOOSE.Span(0, 4, None), "type must be a string, got None (NoneType)"),
        (lambda: LOOSE.Span(0, 4, "gene", score="0.5"), "score must be a number or None, got '0.5' (str)"),
        (lambda: LOOSE.Span(0, 4, "gene", score=True), "score must be a number or None, got True (bool)"),
        (lambda: LOOSE.Span(0, 4, "gene", head=1), "head must be a string or None, got 1 (int)"),
        (lambda: LOOSE.Span(0, 4, "gene", identifiers="D1"), "identifiers must be a tuple of strings, got 'D1' (str)"),
        (
            lambda: LOOSE.Span(0, 4, "gene", identifiers=(7157,)),
            "identifiers must be a tuple of strings, each of them a string",
        ),
        (lambda: LOOSE.Span(0, 4, "gene", extra=None), "extra must be a mapping, got None (NoneType)"),
        (lambda: LOOSE.Argument("a", "T1", "mention"), "kind must be span, concept or relation, got 'mention' (str)"),
        (lambda: LOOSE.Argument(None, "T1"), "role must be a string, got None (NoneType)"),
        (
            lambda: LOOSE.Relation("in", ("T1", "T2")),
            "arguments must be a tuple of arguments, each of them an Argument",
        ),
        (lambda: LOOSE.Passage(0, None, "title"), "end must be a whole number, got None (NoneType)"),
        (lambda: LOOSE.Label(1), "name must be a string, got 1 (int)"),
        (lambda: LOOSE.Label("yes", start="1"), "start must be a whole number or None, got '1' (str)"),
        (lambda: LOOSE.Answer(None), "text must be a string, got None (NoneType)"),
        (
            lambda: LOOSE.Question("1", "Which?", ("TP53",)),
            "answers must be a tuple of answers, each of them an Answer",
        ),
        (lambda: LOOSE.Question("1", "Which?", impossible=1), "impossible must be True or False, got 1 (int)"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_where_it_is_given(make: Any, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        make()
    assert caught.value.code == "BX104"
    assert said in caught.value.message
    assert caught.value.where
    assert caught.value.hint


def test_a_mapping_of_another_kind_stays() -> None:
    assert Span(0, 4, "gene", extra=MappingProxyType({"a": 1})).extra["a"] == 1


def test_the_repr_is_short_however_long_the_document() -> None:
    spans = tuple(Span(start, start + 4, "gene") for start in range(0, 4000, 5))
    shown = repr(Document("9", "TP53 " * 1000, spans=spans, pair="another"))
    assert shown.startswith("<Document '9': 'TP53 TP53")
    assert shown.endswith("…', 5,000 characters, 800 spans, a second text>")
    assert len(shown) < 130
    assert repr(Document("9", "a")) == "<Document '9': 'a', 1 character>"
