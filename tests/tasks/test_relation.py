"""Relations: which pairs are asked about, what is read for them, and what comes back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Argument, Document, Relation, Span
from biomux.tasks import restored
from biomux.tasks.conformance import check_task
from biomux.tasks.examples import make
from biomux.tasks.relation import Relations, _with_ids

TEXT = "Aspirin and bexol lower kinase. Zolmide with the receptor."
DOCUMENT = Document(
    "1",
    TEXT,
    sentences=((0, 31), (32, 58)),
    spans=(
        Span(0, 7, "CHEMICAL", id="T1"),
        Span(12, 17, "CHEMICAL", id="T2"),
        Span(24, 30, "GENE-Y", id="T3"),
        Span(32, 39, "CHEMICAL", id="T4"),
        Span(49, 57, "GENE-N", id="T5"),
    ),
    relations=(
        Relation("down", (Argument("Arg1", "T1"), Argument("Arg2", "T3"))),
        Relation("up", (Argument("Arg1", "T4"), Argument("Arg2", "T3"))),
        Relation("part", (Argument("Arg1", "T4"), Argument("Arg2", "T5"))),
    ),
)
SETTINGS = {
    "types": ("down", "up"),
    "first": ("CHEMICAL",),
    "second": ("GENE-Y", "GENE-N"),
    "tags": {"GENE-Y": "GENE", "GENE-N": "GENE"},
}


def task(variant: str) -> Relations:
    return Relations.of_documents("re", [DOCUMENT], variant=variant, **SETTINGS)  # type: ignore[arg-type]


def read(document: Document, variant: str, limit: int = 60) -> list[str]:
    tokenizer = tiny.tokenizer()
    return [
        " ".join(str(tokenizer.id_to_token(int(index))) for index in reading.tokens.ids).replace(" ##", "")
        for reading in tiny.inputs(task(variant), document, limit=limit)
    ]


def tokenizer_words(text: str) -> str:
    tokenizer = tiny.tokenizer()
    return " ".join(tokenizer.encode(text, add_special_tokens=False).tokens).replace(" ##", "")


def test_arguments_are_replaced_by_tags() -> None:
    assert read(DOCUMENT, "replace") == [
        tokenizer_words("@CHEMICAL$ and bexol lower @GENE$."),
        tokenizer_words("Aspirin and @CHEMICAL$ lower @GENE$."),
        tokenizer_words("@CHEMICAL$ with the @GENE$."),
    ]


def test_arguments_are_marked_with_their_types() -> None:
    assert read(DOCUMENT, "markers")[1] == tokenizer_words(
        "Aspirin and @ * CHEMICAL * bexol @ lower # ^ GENE ^ kinase #."
    )


def test_negatives_are_made_and_what_is_not_asked_is_counted() -> None:
    made = make(task("replace"), [DOCUMENT], tiny.tokenizer(), limit=60)
    assert [example.labels["re"].values.tolist() for example in made.examples] == [[1], [0], [0]]
    assert made.counts["pairs"] == 3
    assert made.counts["pairs with a relation"] == 1
    assert made.counts["relations not asked about"] == 1  # across sentences
    assert made.counts["relations of other types"] == 1


def test_one_pass_asks_about_all_pairs_of_a_sentence_at_once() -> None:
    made = make(task("one-pass"), [DOCUMENT], tiny.tokenizer(), limit=60)
    first, second = made.examples
    assert first.labels["re"].values.tolist() == [1, 0]
    assert first.input.pairs is not None
    words = [TEXT[start:end] for start, end in zip(first.tokens.starts, first.tokens.ends, strict=True)]
    assert [[words[place] for place in pair] for pair in first.input.pairs] == [
        ["Aspirin", "Aspirin", "kinase", "kinase"],
        ["bexol", "bexol", "kinase", "kinase"],
    ]
    assert second.labels["re"].values.tolist() == [0]


def test_pairs_of_like_types_are_asked_once() -> None:
    drugs = Relations("ddi", ("int",))
    readings = tiny.inputs(drugs, replace(DOCUMENT, relations=()), limit=60)
    assert [tuple(span.id for span in reading.note[0]) for reading in readings] == [
        ("T1", "T2"),
        ("T1", "T3"),
        ("T2", "T3"),
        ("T4", "T5"),
    ]


@pytest.mark.parametrize("variant", ["replace", "markers"])
def test_a_long_sentence_keeps_both_arguments(variant: str) -> None:
    for gap in (5, 60):
        text = " ".join(["dose"] * 30 + ["aspirin"] + ["the"] * gap + ["kinase"] + ["dose"] * 30)
        at = text.index("kinase")
        spans = (Span(150, 157, "CHEMICAL", id="a"), Span(at, at + 6, "GENE-Y", id="b"))
        document = Document("1", text, sentences=((0, len(text)),), spans=spans)
        (reading,) = tiny.inputs(task(variant), document, limit=40)
        assert len(reading.tokens) == 40
        (words,) = read(document, variant, limit=40)
        wanted = ("@CHEMICAL$", "@GENE$") if variant == "replace" else ("* CHEMICAL * aspirin @", "^ GENE ^ kinase #")
        assert all(tokenizer_words(one) in words for one in wanted)
        made = make(task(variant), [document], tiny.tokenizer(), limit=40)
        assert made.counts["sentences shortened around a pair"] == 1


@pytest.mark.parametrize(
    ("gene", "drug", "replaced", "marked"),
    [
        ((4, 18), (4, 11), "the @CHEMICAL-GENE$ of", "the # ^ GENE ^ @ * CHEMICAL * aspirin @ kinase # of"),
        ((4, 11), (4, 18), "the @CHEMICAL-GENE$ of", "the @ * CHEMICAL * # ^ GENE ^ aspirin # kinase @ of"),
        ((12, 18), (4, 18), "the @CHEMICAL-GENE$ of", "the @ * CHEMICAL * aspirin # ^ GENE ^ kinase # @ of"),
        ((12, 18), (4, 11), "the @CHEMICAL$ @GENE$ of", "the @ * CHEMICAL * aspirin @ # ^ GENE ^ kinase # of"),
    ],
)
def test_arguments_may_overlap_and_nest(
    gene: tuple[int, int], drug: tuple[int, int], replaced: str, marked: str
) -> None:
    spans = (Span(*gene, "GENE-Y", id="a"), Span(*drug, "CHEMICAL", id="b"))
    document = Document("1", "the aspirin kinase of", spans=spans)
    assert read(document, "replace") == [tokenizer_words(replaced)]
    assert read(document, "markers") == [tokenizer_words(marked)]
    assert len(make(task("one-pass"), [document], tiny.tokenizer(), limit=40).examples) == 1


@pytest.mark.parametrize("variant", ["replace", "markers", "one-pass"])
def test_gold_answers_score_all_but_what_crosses_sentences(variant: str) -> None:
    chosen = task(variant)
    made = make(chosen, [DOCUMENT], tiny.tokenizer(), limit=60)
    logits = [np.eye(3, dtype=np.float32)[example.labels["re"].values] * 9 for example in made.examples]
    bare = chosen.bare(DOCUMENT)
    found = chosen.decode(bare, tiny.inputs(chosen, bare, limit=60), logits)
    assert [(one.type, [end.target for end in one.arguments], one.head) for one in found.relations] == [
        ("down", ["T1", "T3"], "re")
    ]
    scores = chosen.evaluate([DOCUMENT], [found])
    assert scores.figures["precision"] == 1.0
    assert scores.figures["recall"] == 0.5


def test_mentions_that_a_tagger_found_get_ids() -> None:
    chosen = task("one-pass")
    found = replace(DOCUMENT, spans=tuple(replace(span, id=None) for span in DOCUMENT.spans), relations=())
    readings = tiny.inputs(chosen, found, limit=60)
    logits = [np.tile(np.array([0, 9, 0], dtype=np.float32), (len(reading.note), 1)) for reading in readings]
    linked = chosen.decode(found, readings, logits)
    assert [[end.target for end in one.arguments] for one in linked.relations] == [
        ["T1", "T3"],
        ["T2", "T3"],
        ["T4", "T5"],
    ]


def test_mentions_without_an_id_get_free_ones_in_order() -> None:
    spans = [replace(span, id=name) for span, name in zip(DOCUMENT.spans, (None, "T1", "T3", None, None), strict=True)]
    document = replace(DOCUMENT, spans=tuple(spans), relations=())
    assert [span.id for span in _with_ids(document)[0].spans] == ["T2", "T1", "T3", "T4", "T5"]
    nameless = replace(document, spans=tuple(replace(span, id=None) for span in spans))
    assert [span.id for span in _with_ids(nameless)[0].spans] == ["T1", "T2", "T3", "T4", "T5"]


ENTITY = Relations.of_documents(
    "re", [DOCUMENT], types=("down", "up"), first="chemical", second="gene", entities={"gene": ("GENE-Y", "GENE-N")}
)


def test_arguments_are_entity_types_that_corpora_name_otherwise() -> None:
    assert (ENTITY.first, ENTITY.second, ENTITY.entities) == (
        ("chemical",),
        ("gene",),
        (("gene", ("GENE-Y", "GENE-N")),),
    )
    asked = [row.note[0] for row in tiny.inputs(ENTITY, DOCUMENT, limit=60)]
    assert [(left.id, right.id) for left, right in asked] == [("T1", "T3"), ("T2", "T3"), ("T4", "T5")]
    plain = {"CHEMICAL": "Chemical", "GENE-Y": "gene", "GENE-N": "Gene"}
    tagged = replace(DOCUMENT, spans=tuple(replace(span, type=plain[span.type]) for span in DOCUMENT.spans))
    rows = [tiny.inputs(ENTITY, one, limit=60) for one in (DOCUMENT, tagged)]
    assert [one.tokens.ids.tolist() for one in rows[0]] == [one.tokens.ids.tolist() for one in rows[1]]
    found = replace(tagged, relations=tuple(replace(one, head="re") for one in tagged.relations))
    assert ENTITY.evaluate([DOCUMENT], [found]).value == 1.0  # the same places, by the types of a tagger


def test_one_mention_that_two_heads_found_is_not_linked_with_itself() -> None:
    spans = (Span(0, 7, "chemical", head="a"), Span(0, 7, "Chemical", head="b"), Span(12, 17, "chemical", head="a"))
    task_ = Relations("ddi", ("int",), first=("chemical",), second=("chemical",))
    rows = tiny.inputs(task_, Document("1", TEXT, spans=spans), limit=60)
    assert [[span.start for span in row.note[0]] for row in rows] == [[0, 12], [0, 12]]


@pytest.mark.parametrize("variant", ["replace", "markers", "one-pass"])
@pytest.mark.parametrize(("distance", "pairs", "far"), [(0, 3, 3), (1, 6, 0), (5, 6, 0)])
def test_pairs_of_neighbouring_sentences_are_asked_about_on_request(
    variant: str, distance: int, pairs: int, far: int
) -> None:
    chosen = replace(task(variant), distance=distance)
    made = make(chosen, [DOCUMENT], tiny.tokenizer(), limit=60)
    assert made.counts["pairs"] == pairs
    assert made.counts["pairs of mentions too far apart"] == far
    assert made.counts["relations not asked about"] == (0 if distance else 1)
    check_task(chosen, [DOCUMENT], tiny.tokenizer())
    bare = chosen.bare(DOCUMENT)
    logits = [np.eye(3, dtype=np.float32)[example.labels["re"].values] * 9 for example in made.examples]
    found = chosen.decode(bare, tiny.inputs(chosen, bare, limit=60), logits)
    assert chosen.evaluate([DOCUMENT], [found]).figures["recall"] == (1.0 if distance else 0.5)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=6), st.integers(0, 3))
def test_pairs_that_are_left_out_are_counted(sentences_: list[list[str]], distance: int) -> None:
    """Each letter is a mention of that type in its sentence; pairs of a and b are asked about."""
    text = ""
    spans: list[Span] = []
    ranges: list[tuple[int, int]] = []
    for number, letters in enumerate(sentences_):
        begin = len(text)
        for letter in letters:
            spans.append(Span(len(text), len(text) + 1, letter, id=f"{number}:{len(spans)}"))
            text += f"{letter} "
        text += ". "
        ranges.append((begin, len(text) - 1))
    document = Document("1", text, sentences=tuple(ranges), spans=tuple(spans))
    chosen = Relations("re", ("x",), "one-pass", first=("a",), second=("b",), distance=distance)
    counts = Counter[str]()
    asked = [pair for row in chosen.inputs(document, tiny.tokenizer(), limit=4000, counts=counts) for pair in row.note]
    both = [(left, right) for left in spans for right in spans if (left.type, right.type) == ("a", "b")]
    near = [pair for pair in both if abs(number_of(pair[0]) - number_of(pair[1])) <= distance]
    assert sorted(asked, key=repr) == sorted(near, key=repr)
    assert counts["pairs of mentions too far apart"] == len(both) - len(near)


def number_of(span: Span) -> int:
    return int((span.id or "").partition(":")[0])


def test_a_distance_below_none_is_refused() -> None:
    with pytest.raises(ValueError, match="distance must be 0 sentences or more, got -1"):
        Relations.of_documents("re", [DOCUMENT], distance=-1)


def test_a_task_that_an_older_run_wrote_down_is_restored() -> None:
    told = {
        "kind": "relation",
        "name": "re",
        "types": ["up"],
        "variant": "markers",
        "first": ["A"],
        "second": [],
        "tags": [],
    }
    assert restored(told) == Relations("re", ("up",), "markers", first=("A",))


def test_fine_types_stand_in_place_of_their_groups() -> None:
    """ChemProt gives INHIBITOR beside CPR:4; other relations keep the type that they have."""
    spans = (Span(0, 7, "CHEMICAL", id="T1"), Span(17, 20, "GENE-Y", id="T2"), Span(25, 28, "GENE-Y", id="T3"))
    ends = (Argument("Arg1", "T1"), Argument("Arg2", "T2")), (Argument("Arg1", "T1"), Argument("Arg2", "T3"))
    fine = Relation("CPR:4", ends[0], extra={"fine": "INHIBITOR"})
    document = Document("1", "Aspirin inhibits COX and IL6.", spans=spans, relations=(fine, Relation("CPR:3", ends[1])))
    task = Relations.of_documents("r", [document], fine=True, first="CHEMICAL", second="GENE-Y")
    assert task.types == ("CPR:3", "INHIBITOR")
    assert Relations.of_documents("r", [document]).types == ("CPR:3", "CPR:4")
    said = replace(
        task.bare(document),
        relations=(Relation("INHIBITOR", ends[0], head="r"), Relation("CPR:3", ends[1], head="r")),
        spans=spans,
    )
    assert task.evaluate([document], [said]).value == 1.0
    inputs = tiny.inputs(task, document, limit=60)
    targets = task.targets(document, inputs, counts=Counter())
    assert [task.labels[int(one.values[0])] for one in targets] == ["INHIBITOR", "CPR:3"]


@pytest.mark.parametrize("variant", ["replace", "markers"])
def test_a_long_sentence_may_end_with_an_argument(variant: str) -> None:
    text = " ".join(["dose"] * 60 + ["aspirin", "the", "kinase"])
    spans = (Span(300, 307, "CHEMICAL", id="a"), Span(312, 318, "GENE-Y", id="b"))
    document = Document("1", text, sentences=((0, len(text)),), spans=spans)
    (reading,) = tiny.inputs(task(variant), document, limit=20)
    assert len(reading.tokens) == 20
    (words,) = read(document, variant, limit=20)
    assert words.endswith(tokenizer_words("@GENE$" if variant == "replace" else "^ GENE ^ kinase #"))
