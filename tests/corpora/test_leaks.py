"""After the filter, no held-out text occurs in a training part; everything else does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.corpora.leaks import MIN_CHARACTERS, cut, filter_leaks, key
from biomux.document import Argument, Document, Label, Passage, Question, Relation, Span

LONG = [
    f"Sentence number {name} has more than forty characters in it." for name in ("one", "two", "three", "four", "five")
]
SHORT = "Methods."


def joined(id: str, *sentences: str, **more: object) -> Document:
    """A document with its sentences given, and a span on the first word of each."""
    ranges: list[tuple[int, int]] = []
    spans: list[Span] = []
    at = 0
    for sentence in sentences:
        ranges.append((at, at + len(sentence)))
        spans.append(Span(at, at + len(sentence.split()[0].rstrip(".")), "word", id=f"T{len(spans)}"))
        at += len(sentence) + 1
    return Document(id, " ".join(sentences), sentences=tuple(ranges), spans=tuple(spans), **more)  # type: ignore[arg-type]


def test_a_leaked_sentence_goes_and_the_rest_stays_in_pieces() -> None:
    training = joined("a", LONG[0], LONG[1], SHORT, LONG[2], tokens=((0, 8), (9, 15)))
    kept, report = filter_leaks({"a": [training]}, {"b": [joined("b", LONG[1].upper().replace(" ", "  "))]})
    assert [(one.id, one.text) for one in kept["a"]] == [("a/1", LONG[0]), ("a/2", f"{SHORT} {LONG[2]}")]
    assert [one.mention(span) for one in kept["a"] for span in one.spans] == ["Sentence", "Methods", "Sentence"]
    assert kept["a"][0].tokens == ((0, 8), (9, 15))
    assert kept["a"][1].tokens == ()
    assert kept["a"][1].sentences == ((0, 8), (9, 9 + len(LONG[2])))
    (leak,) = report.leaks
    assert (leak.held_out, leak.training, leak.units, leak.held_out_units, leak.removed) == ("b", "a", 1, 1, 1)
    assert report.documents == {"a": (1, 1)}


def test_short_text_is_not_compared() -> None:
    kept, report = filter_leaks({"a": [Document("1", SHORT)]}, {"b": [Document("2", SHORT)]})
    assert kept["a"] == [Document("1", SHORT)]
    assert not report.leaks
    assert key("x" * (MIN_CHARACTERS - 1) + "   ") is None
    assert key("x" * MIN_CHARACTERS) is not None


def test_a_paragraph_is_found_whole_though_its_sentences_are_not_given() -> None:
    paragraph = " ".join(LONG[:3])
    training, held = {"a": [joined("1", *LONG[:3])]}, {"b": [Document("2", paragraph)]}
    for kept, report in (filter_leaks(training, held), filter_leaks(training, held, sentences=None)):
        assert kept["a"] == []
        assert report.leaks[0].removed == 3


def test_a_held_out_sentence_that_is_two_here_is_found_once_they_stand_alone() -> None:
    training = {"a": [joined("1", LONG[0], LONG[1], LONG[2])]}
    held = {"b": [joined("2", LONG[0]), joined("3", f"{LONG[1]} {LONG[2]}")]}
    kept, report = filter_leaks(training, held)
    assert kept["a"] == []
    assert (report.leaks[0].units, report.leaks[0].removed) == (1, 3)
    _, report = filter_leaks(training, {"b": held["b"][:1], "c": held["b"][1:]})
    assert [(leak.held_out, leak.units, leak.removed) for leak in report.leaks] == [("b", 1, 1), ("c", 0, 2)]


def test_a_sentence_of_a_paragraph_is_found() -> None:
    training = {"a": [Document("1", " ".join(LONG[:3]))]}
    kept, _ = filter_leaks(training, {"b": [joined("2", LONG[1])]})
    assert [one.text for one in kept["a"]] == [LONG[0], LONG[2]]
    kept, _ = filter_leaks(training, {"b": [joined("2", LONG[1])]}, sentences=None)
    assert kept["a"] == training["a"]


@pytest.mark.parametrize(
    "said",
    [
        {"labels": (Label("yes"),)},
        {"questions": (Question("q", "Why?"),)},
        {"relations": (Relation("r", (Argument("a", "T0"), Argument("b", "T1"))),)},
        {"relations": (Relation("r", (Argument("a", "D1", "concept"), Argument("b", "D2", "concept"))),)},
    ],
)
def test_what_is_said_of_the_whole_goes_as_a_whole(said: dict[str, object]) -> None:
    kept, _ = filter_leaks({"a": [joined("1", LONG[0], LONG[1], **said)]}, {"b": [joined("2", LONG[1])]})
    assert kept["a"] == []


def test_labels_of_sentences_and_passages_move_along() -> None:
    at = len(LONG[0]) + 1
    labels = (Label("first", start=0, end=at - 1), Label("second", start=at, end=at + len(LONG[1])))
    document = joined("1", LONG[0], LONG[1], labels=labels, passages=(Passage(0, at + len(LONG[1]), "abstract"),))
    kept, _ = filter_leaks({"a": [document]}, {"b": [joined("2", LONG[0])]})
    assert kept["a"][0].labels == (Label("second", start=0, end=len(LONG[1])),)
    assert kept["a"][0].passages == (Passage(0, len(LONG[1]), "abstract"),)


def test_a_cut_moves_every_kind_of_annotation_along() -> None:
    text = "No. Left and right kidney failed. End."
    document = Document(
        "1",
        text,
        passages=(Passage(0, 3, "title"), Passage(3, 33, "abstract"), Passage(33, 38, "end")),
        sentences=((0, 3), (4, 33), (34, 38)),
        tokens=((0, 2), (4, 8), (26, 32), (34, 37)),
        spans=(
            Span(0, 2, "x", id="T0"),
            Span(4, 25, "organ", id="T1", fragments=((4, 8), (19, 25))),
            Span(13, 25, "organ", id="T2"),
            Span(26, 38, "x", id="T3"),
        ),
        relations=(
            Relation("same", (Argument("a", "T1"), Argument("b", "T2"))),
            Relation("gone", (Argument("a", "T0"), Argument("b", "T2"))),
            Relation("gone", (Argument("a", "D1", "concept"), Argument("b", "T2"))),
        ),
        labels=(Label("whole"), Label("inside", start=4, end=33), Label("outside", start=0, end=5)),
        coverage=((4, 12), (13, 33), (34, 38)),
    )
    piece = cut(document, 4, 33, id="1/1")
    assert (piece.id, piece.text) == ("1/1", "Left and right kidney failed.")
    assert piece.passages == (Passage(0, 29, "abstract"),)
    assert piece.sentences == ((0, 29),)
    assert piece.tokens == ((0, 4), (22, 28))
    assert piece.spans == (
        Span(0, 21, "organ", id="T1", fragments=((0, 4), (15, 21))),
        Span(9, 21, "organ", id="T2"),
    )
    assert [relation.type for relation in piece.relations] == ["same"]
    assert piece.labels == (Label("whole"), Label("inside", start=0, end=29))
    assert piece.coverage == ((0, 8), (9, 29))


def test_a_pair_is_compared_as_a_pair() -> None:
    shared, claim, other = LONG[0], "It is one.", "It is two."
    training = [Document("1", shared, pair=claim), Document("2", shared, pair=other)]
    kept, report = filter_leaks({"a": training}, {"b": [Document("3", shared, pair=claim)]})
    assert kept["a"] == [training[1]]
    assert report.leaks[0].units == 1


def test_the_report_prints_and_dumps() -> None:
    _, report = filter_leaks(
        {"jnlpba": [joined("1", *LONG[:3])]}, {"bionlp09": [joined("2", LONG[0], LONG[1], SHORT)], "x": []}
    )
    lines = str(report).splitlines()
    assert lines[0].split() == ["held", "out", "in", "training", "part", "found", "of", "share", "removed"]
    assert lines[1].split() == ["bionlp09", "jnlpba", "2", "3", "66.7%", "2"]
    data = json.loads(json.dumps(report.to_json()))
    assert data["leaks"][0]["units"] == 2
    assert data["documents"]["jnlpba"] == {"before": 1, "touched": 1}
    assert str(filter_leaks({}, {})[1]) == "no held-out text occurs in a training part"


sentences = st.sampled_from([*LONG, SHORT, "Results", *(text.lower() for text in LONG[:2])])
documents = st.lists(st.lists(sentences, min_size=1, max_size=6), max_size=6).map(
    lambda blocks: [joined(str(number), *block) for number, block in enumerate(blocks)]
)


def keys(parts: list[Document]) -> list[int | None]:
    return [key(one.text[start:end]) for one in parts for start, end in one.sentences or ()]


@given(documents, documents, documents)
def test_nothing_held_out_is_left_and_nothing_else_is_lost(
    first: list[Document], second: list[Document], held: list[Document]
) -> None:
    kept, report = filter_leaks({"a": first, "b": second}, {"t": held})
    gone = {one for one in keys(held) if one is not None}
    for name, before in (("a", first), ("b", second)):
        left, was = keys(kept[name]), keys(before)
        assert [one for one in left if one is not None] == [one for one in was if one is not None and one not in gone]
        assert sum(leak.removed for leak in report.leaks if leak.training == name) == len(was) - len(left)
        found = sum(leak.units for leak in report.leaks if leak.training == name)
        assert sum(one is not None and one in was for one in keys(held)) <= found <= len(keys(held))
        assert {one.mention(span) for one in kept[name] for span in one.spans} <= {
            "Sentence",
            "sentence",
            "Methods",
            "Results",
        }


@given(documents, documents)
def test_filtering_twice_changes_nothing_more(training: list[Document], held: list[Document]) -> None:
    once, _ = filter_leaks({"a": training}, {"t": held})
    again, report = filter_leaks(once, {"t": held})
    assert again == once
    assert not report.leaks
