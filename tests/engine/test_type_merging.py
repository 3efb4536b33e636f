"""Plain types: how heads' mentions become layers that users ask for."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Span
from biomux.engine import type_merging
from biomux.engine.bundle import heads
from biomux.engine.overlaps import Standing, flat, one_layer, probability
from biomux.engine.thresholds import for_precision
from biomux.engine.type_merging import Merge, above, merge, parse, rounded
from biomux.errors import BundleError, UsageError
from biomux.tasks.tagging import Tagging
from biomux.tasks.word_spans import Mention

HEADS = ("a", "b", "c")
SOURCES = tuple((head, "G") for head in HEADS)

spans = st.lists(
    st.builds(
        lambda start, size, score, head: Span(start, start + size, "G", score=score, head=head),
        st.integers(0, 30),
        st.integers(1, 8),
        st.integers(0, 20).map(lambda number: number / 20),
        st.sampled_from(HEADS),
    ),
    max_size=20,
)
rules = st.sampled_from(
    [
        Merge("gene", SOURCES),
        Merge("gene", SOURCES, "primary"),
        *(Merge("gene", SOURCES, f"vote:{k}", k) for k in (1, 2, 3)),
    ]
)


def said(start: int, end: int, score: float, head: str = "a", type_: str = "G") -> Span:
    return Span(start, end, type_, score=score, head=head)


def shape(found: list[Span]) -> list[tuple[int, int, float | None, str | None]]:
    return [(span.start, span.end, span.score, span.head) for span in found]


def test_union_takes_all_and_keeps_the_surest_of_duplicates() -> None:
    found = merge([said(0, 4, 0.5, "a"), said(0, 4, 0.9, "b"), said(6, 9, 0.2, "c")], [Merge("gene", SOURCES)])
    assert shape(found) == [(0, 4, 0.9, "b"), (6, 9, 0.2, "c")]
    assert {span.type for span in found} == {"gene"}


def test_of_overlapping_mentions_of_a_type_the_surer_stays() -> None:
    found = merge([said(0, 8, 0.5, "a"), said(4, 6, 0.9, "b")], [Merge("gene", SOURCES)])
    assert shape(found) == [(4, 6, 0.9, "b")]


def test_primary_listens_to_the_first_head_only_with_all_its_types() -> None:
    rule = Merge("gene", (("b", "G"), ("a", "G"), ("b", "H")), "primary")
    found = merge([said(0, 4, 0.9, "a"), said(5, 9, 0.2, "b"), said(10, 12, 0.3, "b", "H")], [rule])
    assert shape(found) == [(5, 9, 0.2, "b"), (10, 12, 0.3, "b")]
    assert rule.heads == ("b",)


def test_a_vote_counts_heads_and_scores_as_the_last_that_was_needed() -> None:
    two = Merge("gene", SOURCES, "vote:2", 2)
    given_ = [said(0, 4, 0.9, "a"), said(0, 4, 0.6, "b"), said(0, 4, 0.4, "c"), said(5, 9, 1.0, "a")]
    assert shape(merge(given_, [two])) == [(0, 4, 0.6, "a")]


def test_a_head_has_one_vote() -> None:
    two = Merge("gene", (("a", "G"), ("a", "H"), ("b", "G")), "vote:2", 2)
    assert merge([said(0, 4, 0.9, "a"), said(0, 4, 0.8, "a", "H")], [two]) == []


def test_types_that_are_not_asked_for_are_left_out_and_types_may_overlap() -> None:
    found = merge(
        [said(0, 4, 0.9, "a"), said(0, 4, 0.9, "a", "H"), said(0, 4, 0.9, "a", "I")],
        [Merge("gene", (("a", "G"),)), Merge("protein", (("a", "H"),))],
    )
    assert [span.type for span in found] == ["gene", "protein"]


@given(spans, rules)
def test_a_layer_never_overlaps_itself_and_stands_in_order(given_: list[Span], rule: Merge) -> None:
    found = merge(given_, [rule])
    assert all(left.end <= right.start for left, right in pairwise(found))


@given(spans, rules, st.randoms(use_true_random=False))
def test_the_order_of_what_heads_say_does_not_matter(given_: list[Span], rule: Merge, chance: Any) -> None:
    shuffled = list(given_)
    chance.shuffle(shuffled)
    assert merge(shuffled, [rule]) == merge(given_, [rule])


@given(spans, rules, st.integers(0, 20).map(lambda number: number / 20))
def test_a_threshold_does_the_same_before_and_after_a_rule(given_: list[Span], rule: Merge, threshold: float) -> None:
    before = merge(above(given_, {}, default=threshold), [rule])
    assert before == above(merge(given_, [rule]), {}, default=threshold)


@given(spans, rules)
def test_mentions_merge_as_spans_do_and_their_scores_are_rounded(given_: list[Span], rule: Merge) -> None:
    thirds = [replace(span, score=(span.score or 0.0) / 3) for span in given_]
    mentions = [Mention(span.start, span.end, span.type, span.score or 0.0, span.head or "") for span in thirds]
    assert merge(mentions, [rule]) == merge(rounded(thirds), [rule])


@given(spans)
def test_merging_what_is_merged_changes_nothing(given_: list[Span]) -> None:
    once = merge(given_, [Merge("G", SOURCES)])
    assert merge(once, [Merge("G", SOURCES)]) == once


@given(spans)
def test_what_flat_leaves_out_overlaps_something_at_least_as_sure(given_: list[Span]) -> None:
    kept = flat(given_)
    for span in given_:
        if span not in kept:
            assert any(other.overlaps(span) and (other.score or 0) >= (span.score or 0) for other in kept)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (said(3, 5, 0.9), said(0, 9, 0.8)),
        (said(0, 9, 0.8), said(3, 5, 0.8)),
        (said(0, 3, 0.8), said(2, 5, 0.8)),
        (said(0, 3, 0.8, type_="A"), said(0, 3, 0.8, type_="B")),
        (said(0, 3, 0.8, "a"), said(0, 3, 0.8, "b")),
        (Span(0, 3, "A"), said(0, 3, 0.99)),
    ],
    ids=["score", "length", "left", "type", "head", "gold"],
)
def test_the_rule_of_flat(better: Span, worse: Span) -> None:
    assert flat([worse, better]) == flat([better, worse]) == [better]


STANDINGS = {
    "cancer": Standing(0, ((0.1, 0.8), (0.5, 0.95)), 0),
    "gene": Standing(0, ((0.1, 0.6), (0.9, 0.7)), 1),
    "species": Standing(0, ((0.1, 0.6), (0.9, 0.7)), 2),
    "anatomy": Standing(1, ((0.1, 0.9), (0.5, 0.99)), 3),
}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (said(0, 3, 0.2, type_="gene"), said(0, 9, 0.99, type_="anatomy")),
        (said(0, 3, 0.5, type_="cancer"), said(0, 9, 0.9, type_="gene")),
        (said(0, 9, 0.8, type_="gene"), said(3, 5, 0.8, type_="species")),
        (said(0, 3, 0.8, type_="species"), said(2, 5, 0.8, type_="gene")),
        (said(0, 3, 0.8, type_="gene"), said(0, 3, 0.8, type_="species")),
        (Span(0, 3, "gene"), said(0, 3, 0.99, type_="cancer")),
    ],
    ids=["level", "probability", "length", "left", "place in the table", "gold"],
)
def test_the_rule_of_one_layer(better: Span, worse: Span) -> None:
    for given_ in ([worse, better], [better, worse]):
        assert one_layer(given_, lambda span: STANDINGS[span.type]) == [better]


@given(spans)
def test_one_layer_never_overlaps_and_leaves_out_only_what_does(given_: list[Span]) -> None:
    kept = one_layer(given_, lambda _: Standing())
    assert all(left.end <= right.start for left, right in pairwise(kept))
    assert all(any(other.overlaps(span) for other in kept) for span in given_)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=5).map(sorted), st.floats(0, 1))
def test_a_probability_is_one_whatever_the_curve(curve: list[tuple[float, float]], score: float) -> None:
    assert 0 <= probability(score, tuple(curve)) <= 1


def test_thresholds_are_by_type_and_inclusive() -> None:
    given_ = [said(0, 1, 0.5), said(1, 2, 0.4), said(2, 3, 0.4, type_="H"), Span(3, 4, "G")]
    assert [span.start for span in above(given_, {"G": 0.5}, default=0.3)] == [0, 2, 3]


def test_scores_have_four_digits() -> None:
    assert [span.score for span in rounded([said(0, 1, 0.123456), Span(0, 1, "G")])] == [0.1235, None]


def test_a_precision_takes_the_lowest_threshold_that_reached_it() -> None:
    curve = ((0.3, 0.7), (0.5, 0.9), (0.8, 0.96))
    assert for_precision("gene", curve, 0.8) == 0.5
    assert for_precision("gene", curve, 0.96) == 0.8
    with pytest.raises(UsageError, match=r"cannot reach a precision of 0\.99"):
        for_precision("gene", curve, 0.99)
    with pytest.raises(UsageError, match="cannot choose a threshold by precision"):
        for_precision("gene", (), 0.5)


def test_a_bundles_table_is_read() -> None:
    table = {
        "gene": {"sources": [["a", "G"], ["b", "G"]], "rule": "vote:2", "threshold": 0.25, "calibration": [[0.5, 0.9]]},
        "rest": {"sources": [["c", "G"]]},
        "never": {"sources": [["c", "G"]], "threshold": None, "level": 2},
    }
    assert parse(table, SOURCES) == {
        "gene": Merge("gene", SOURCES[:2], "vote:2", 2, 0.25, ((0.5, 0.9),)),
        "rest": Merge("rest", SOURCES[2:]),
        "never": Merge("never", SOURCES[2:], threshold=None, level=2),
    }


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {"sources": []},
        {"sources": ["a"]},
        {"sources": [["a", "G", "H"]]},
        {"sources": [["a", "H"]]},
        {"sources": [["d", "G"]]},
        {"sources": [["a", "G"]], "rule": "best"},
        {"sources": [["a", "G"]], "rule": "vote:0"},
        {"sources": [["a", "G"]], "rule": "vote:2"},
        {"sources": [["a", "G"]], "rule": 3},
        {"sources": [["a", "G"]], "threshold": 2},
        {"sources": [["a", "G"]], "threshold": "0.5"},
        {"sources": [["a", "G"]], "level": -1},
        {"sources": [["a", "G"]], "level": "1"},
        {"sources": [["a", "G"]], "calibration": [[0.5]]},
        {"sources": [["a", "G"]], "calibration": [[0.5, 0.9], [0.4, 0.95]]},
    ],
)
def test_a_table_that_cannot_be_is_refused(entry: object) -> None:
    with pytest.raises(BundleError, match="BX515"):
        parse({"gene": entry}, SOURCES)


def test_a_copy_loses_nothing() -> None:
    whole = Span(1, 9, "a", 0.5, "head", ("MESH:1",), ((1, 3), (5, 9)), "T1", {"note": "x"})
    assert type_merging._copy(whole, "a", 0.5, "head") == whole
    assert all(getattr(whole, field.name) != getattr(Span(0, 0, ""), field.name) for field in dataclasses.fields(Span))


def test_a_plain_type_may_be_made_of_as_many_sources_as_there_are_heads() -> None:
    tasks = [Tagging(f"head-{number}", ("Gene",)) for number in range(60)]
    content = json.dumps({"gene": {"sources": [[task.name, "Gene"] for task in tasks]}}).encode()
    assert len(heads.plain_types(content, tasks)["gene"].sources) == 60
