"""Resampling: against brute force, and where the answer is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from biomux.document import Document, Span
from biomux.errors import ScoreError, UsageError
from biomux.scoring import significance
from biomux.scoring.counts import Counts, Spread
from biomux.scoring.document_counts import DocumentCounts, document_counts, same_documents
from biomux.scoring.significance import (
    bootstrap_error,
    compare,
    compare_documents,
    compare_means,
    interval,
)
from biomux.scoring.spans import score, score_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def counts(seed: int, documents: int = 120, rate: float = 0.8) -> Ints:
    chance = np.random.default_rng(seed)
    gold = chance.integers(0, 5, size=documents)
    tp = chance.binomial(gold, rate)
    return np.stack([tp, chance.integers(0, 2, size=documents), gold - tp], axis=1)


def f1(rows: Ints) -> float:
    tp, fp, fn = (int(value) for value in rows.sum(axis=0))
    return Counts(tp, fp, fn).f1


def test_interval_agrees_with_drawing_documents_one_by_one() -> None:
    rows = counts(1)
    chance = np.random.default_rng(5)
    brute = [f1(rows[chance.integers(len(rows), size=len(rows))]) for _ in range(4000)]
    got = interval(rows, samples=4000, seed=2)
    assert got.value == pytest.approx(f1(rows))
    assert got.error == pytest.approx(np.std(brute), rel=0.06)
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(brute, [0.025, 0.975])), abs=0.004)


def test_comparison_agrees_with_drawing_and_exchanging_one_by_one() -> None:
    first, second = counts(1), counts(1)
    worse = np.random.default_rng(9).random(len(second)) < 0.07
    moved = np.minimum(second[:, 0], worse)
    second[:, 0] -= moved
    second[:, 2] += moved
    chance = np.random.default_rng(5)
    drawn, exchanged = [], []
    for _ in range(4000):
        chosen = chance.integers(len(first), size=len(first))
        drawn.append(f1(first[chosen]) - f1(second[chosen]))
        swap = (chance.random(len(first)) < 0.5)[:, None]
        exchanged.append(f1(np.where(swap, second, first)) - f1(np.where(swap, first, second)))
    got = compare(first, second, samples=4000, seed=2)
    assert got.difference == pytest.approx(f1(first) - f1(second))
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.003)
    assert got.error == pytest.approx(np.std(drawn), rel=0.06)
    large = np.mean(np.abs(exchanged) >= abs(got.difference) - 1e-12)
    assert got.p_randomisation == pytest.approx(large, abs=0.02)
    assert got.p_bootstrap == pytest.approx(2 * np.mean(np.array(drawn) <= 1e-12), abs=0.02)


def test_a_system_does_not_differ_from_itself() -> None:
    got = compare(counts(1), counts(1))
    assert (got.difference, got.low, got.high) == (0, 0, 0)
    assert got.p_bootstrap == got.p_randomisation == 1


def test_a_large_difference_is_found_and_exchanging_systems_turns_its_sign() -> None:
    good, bad = counts(1, rate=0.95), counts(1, rate=0.4)
    there, back = compare(good, bad), compare(bad, good)
    assert there.p_bootstrap < 0.01
    assert there.p_randomisation < 0.01
    assert there.low > 0 > back.high
    assert there.difference == -back.difference


def test_no_difference_is_found_as_often_as_chance_says() -> None:
    """At 0.05, about one in twenty of comparisons of equal systems; at most 20 of 120 is far beyond chance's reach."""
    found = sum(
        compare(counts(2 * seed, 80), counts(2 * seed + 1, 80), samples=300).p_randomisation < 0.05
        for seed in range(120)
    )
    assert found <= 20


def test_the_same_seed_gives_the_same_answer_whatever_the_order() -> None:
    rows = counts(1)
    turned = rows[np.random.default_rng(0).permutation(len(rows))]
    assert interval(rows, seed=3) == interval(turned, seed=3)
    assert interval(rows, seed=3) != interval(rows, seed=4)


def test_streamed_standard_errors_are_those_of_the_bootstrap() -> None:
    rows = counts(4, documents=400)
    tp, fp, fn = rows.T
    spread = Spread(len(rows), *(int(value) for value in (tp @ tp, fp @ fp, fn @ fn, tp @ fp, tp @ fn, fp @ fn)))
    errors = spread.errors(Counts(*(int(value) for value in rows.sum(axis=0))))
    for metric in ("precision", "recall", "f1"):
        assert getattr(errors, metric) == pytest.approx(interval(rows, metric=metric, samples=4000).error, rel=0.06)


def test_macro_needs_types() -> None:
    by_type = np.stack([counts(1), counts(2, rate=0.3)], axis=1)
    macro = interval(by_type, metric="macro-f1")
    assert macro.value == pytest.approx((f1(by_type[:, 0]) + f1(by_type[:, 1])) / 2)
    assert interval(by_type).value == pytest.approx(f1(by_type.sum(axis=1)))
    with pytest.raises(UsageError, match="macro average needs counts by type"):
        interval(counts(1), metric="macro-f1")
    with pytest.raises(UsageError, match="unknown metric 'f2'"):
        interval(counts(1), metric="f2")


def test_means_of_any_value() -> None:
    values = np.random.default_rng(0).random(200)
    got = compare_means(values + 0.1, values)
    assert got.second == pytest.approx(values.mean())
    assert got.p_randomisation < 0.01


def test_shapes_that_do_not_fit_are_refused() -> None:
    for first, second, code in (
        (counts(1), counts(1, 50), "BX705"),
        ([[1, 2]], [[1, 2]], "BX705"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "BX704"),
    ):
        with pytest.raises(ScoreError, match=code):
            compare(first, second)
    with pytest.raises(ScoreError, match="BX705"):
        compare_means([], [])


def counted(gold: list[Document], predicted: list[Document]) -> DocumentCounts:
    rows = [
        {
            "id": id_,
            "counts": {"strict": {name: [one.tp, one.fp, one.fn] for name, one in scores["strict"].types.items()}},
        }
        for id_, scores in score_each(zip(gold, predicted, strict=True))
    ]
    return document_counts(json.loads(json.dumps(rows)))


def test_documents_are_paired_by_id_and_types_by_name() -> None:
    spans = (Span(0, 4, "gene"), Span(9, 12, "cell"))
    gold = [Document(str(number), "IL-2 and p53.", spans=spans) for number in range(9)]
    half = [Document(one.id, one.text, spans=one.spans[:1]) for one in gold]
    full, part = counted(gold, gold), counted(gold[::-1], half[::-1])
    got = compare_documents(full, part)
    assert (got.first, got.second) == (1, score(zip(gold, half, strict=True))["strict"].f1)
    with pytest.raises(ScoreError, match="BX701"):
        compare_documents(full, counted(gold[1:], half[1:]))


def test_rows_without_the_matching_are_refused() -> None:
    with pytest.raises(ScoreError, match="row 1: a row has no id, or no counts for 'word'"):
        document_counts([{"id": "1", "counts": {"strict": {}}}], matching="word")


@pytest.mark.parametrize(
    ("first", "second"),
    [(["1", "2"], ["1", "3"]), (["1", "1"], ["1", "1"]), (["1", "2"], ["1", "2", "2"]), (["1"], [])],
)
def test_counts_of_other_documents_or_of_one_twice_are_refused(first: list[str], second: list[str]) -> None:
    left, right = (document_counts([{"id": id_, "counts": {"strict": {}}} for id_ in ids]) for ids in (first, second))
    with pytest.raises(ScoreError, match="BX701"):
        same_documents(left, right)


def test_counts_are_paired_by_id_and_type_whatever_their_order() -> None:
    first = [{"id": "1", "counts": {"strict": {"b": [1, 2, 3]}}}, {"id": "2", "counts": {"strict": {"a": [4, 5, 6]}}}]
    second = [{"id": "2", "counts": {"strict": {"c": [7, 8, 9]}}}, {"id": "1", "counts": {"strict": {}}}]
    left, right = same_documents(document_counts(first), document_counts(second))
    none = [0, 0, 0]
    assert left.tolist() == [[none, [1, 2, 3], none], [[4, 5, 6], none, none]]
    assert right.tolist() == [[none, none, none], [none, none, [7, 8, 9]]]


def test_the_error_of_any_statistic_is_the_spread_of_its_resamples() -> None:
    values = np.random.default_rng(0).standard_normal(400)
    expected = values.std(ddof=1) / 20
    assert bootstrap_error(lambda one: float(one.mean()), values, samples=4000) == pytest.approx(expected, rel=0.05)
    drawn: list[float] = []

    def mean(one: NDArray[np.float64]) -> float:
        drawn.append(float(one.mean()))
        return drawn[-1]

    error = bootstrap_error(mean, values, samples=3)
    assert len(drawn) == 3
    assert error == pytest.approx(np.std(drawn, ddof=1))
    assert np.isnan(bootstrap_error(mean, values[:1], samples=3))
    assert np.isnan(bootstrap_error(mean, values, samples=1))


def test_two_documents_are_enough_for_an_error_and_one_is_not() -> None:
    two = Spread(2, 5, 1, 0, 2, 0, 0)
    # Documents (2, 1, 0) and (1, 0, 0): the ratio's derivatives are 1/16 and -3/16, so the documents differ from the mean by 1/16 each.
    assert two.errors(Counts(3, 1, 0)).precision == pytest.approx(1 / 8)
    assert np.isnan(Spread(1, 5, 1, 0, 2, 0, 0).errors(Counts(3, 1, 0)).precision)


def test_what_is_drawn_does_not_depend_on_how_much_is_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = counts(1), counts(2)
    whole = compare(first, second, samples=50)
    monkeypatch.setattr(significance, "CHUNK", 1)
    assert compare(first, second, samples=50) == whole
