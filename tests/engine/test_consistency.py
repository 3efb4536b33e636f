"""The vote over the occurrences of a name."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.document import Span
from biomux.engine.consistency import _within, agreed

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT = "Abc one. Abc two. Abc three. Abc-4 four. Abc def five."
WHOLE = [(0, len(TEXT))]
FIRST, SECOND, THIRD, LONGER = (0, 3), (9, 12), (18, 21), (41, 48)


def said(*scores: tuple[tuple[int, int], float], head: str = "a") -> list[Span]:
    return [Span(*place, "gene", score=score, head=head) for place, score in scores]


def voted(spans: Sequence[Span], threshold: float = 0.4) -> dict[tuple[int, int], float | None]:
    return {(span.start, span.end): span.score for span in agreed(TEXT, WHOLE, spans, lambda _: threshold)}


def test_a_name_that_is_mostly_found_is_found_everywhere() -> None:
    assert voted(said((FIRST, 0.9), (SECOND, 0.9))) == {FIRST: 0.9, SECOND: 0.9, THIRD: 0.45, (41, 44): 0.45}
    added = agreed(TEXT, WHOLE, said((FIRST, 0.9), (SECOND, 0.9)), lambda _: 0.4)[2]
    assert (added.head, added.extra) == ("a", {"from": "consistency"})


def test_a_name_that_is_mostly_missed_is_found_nowhere() -> None:
    assert voted(said((FIRST, 0.9))) == {}


def test_what_was_found_below_the_threshold_counts_and_takes_the_average() -> None:
    assert voted(said((FIRST, 0.9), (SECOND, 0.3), (THIRD, 0.3), ((41, 44), 0.5))) == {
        FIRST: 0.9,
        SECOND: 0.5,
        THIRD: 0.5,
        (41, 44): 0.5,
    }


def test_where_a_longer_entity_stands_it_stays_and_the_name_has_no_vote() -> None:
    spans = said((FIRST, 0.9), (SECOND, 0.9), ((41, 48), 0.9))
    assert voted(spans, 0.5) == {FIRST: 0.9, SECOND: 0.9, THIRD: 0.6, LONGER: 0.9}


def test_nothing_is_added_below_the_threshold_or_outside_of_what_was_read() -> None:
    spans = said((FIRST, 0.9), (SECOND, 0.9), (THIRD, 0.7))
    assert voted(spans, 0.65) == {FIRST: 0.9, SECOND: 0.9, THIRD: 0.7}
    kept = agreed(TEXT, [(0, 17), (18, 28)], said((FIRST, 0.9), (SECOND, 0.9)), lambda _: 0.4)
    assert [(span.start, span.end) for span in kept] == [FIRST, SECOND, THIRD]


def test_heads_vote_for_themselves() -> None:
    spans = [*said((FIRST, 0.9), (SECOND, 0.9), head="a"), *said((THIRD, 0.9), head="b")]
    kept = agreed(TEXT, WHOLE, spans, lambda _: 0.4, by_head=True)
    assert {(span.start, span.head) for span in kept} == {(0, "a"), (9, "a"), (18, "a"), (41, "a")}


def test_a_name_that_stands_once_is_left_alone() -> None:
    assert voted(said((LONGER, 0.2)), 0.1) == {LONGER: 0.2}


@given(st.lists(st.sampled_from(["ab", "cd", "ab cd", "x"]), min_size=2, max_size=12), st.data())
def test_a_layer_never_overlaps_itself_and_names_agree(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    spans, at = [], 0
    for word in words:
        if data.draw(st.booleans()):
            spans.append(Span(at, at + len(word), "t", score=data.draw(st.integers(1, 10)) / 10, head="a"))
        at += len(word) + 1
    kept = agreed(text, [(0, len(text))], spans, lambda _: 0.4)
    assert all(left.end <= right.start for left, right in pairwise(kept))
    assert agreed(text, [(0, len(text))], list(reversed(spans)), lambda _: 0.4) == kept


@pytest.mark.parametrize("name", ["ABC1", "Foo"])
def test_the_answer_does_not_depend_on_the_order_of_spans(name: str) -> None:
    text = " ".join([name] * 4)
    size = len(name) + 1
    spans = [Span(size * at, size * at + len(name), "t", score=0.9, head="ab"[at % 2]) for at in range(3)]
    assert agreed(text, [(0, len(text))], spans, lambda _: 0.4) == agreed(
        text, [(0, len(text))], spans[::-1], lambda _: 0.4
    )


def test_what_stands_before_everything_that_was_read_was_not_read() -> None:
    assert not _within([(10, 20), (30, 40)], 2, 5)
    assert not _within([], 2, 5)
    assert _within([(10, 20), (30, 40)], 30, 40)
    assert not _within([(10, 20), (30, 40)], 18, 21)
