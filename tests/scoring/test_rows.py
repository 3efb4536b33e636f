"""Rows a document: their sums give the figure, several seeds give its mean, and tests on them agree with brute force."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from biomux.errors import ScoreError, UsageError
from biomux.scoring.document_rows import DocumentRows, compare_rows, figure_of, numbers, pearson_of, read_rows
from biomux.scoring.numbers import pearson
from biomux.scoring.significance import compare, compare_means


def mean_rows(values: list[float]) -> DocumentRows:
    return DocumentRows("mean", tuple(map(str, range(len(values)))), np.array([[value, 1.0] for value in values]))


def number_rows(gold: list[float], predicted: list[float]) -> DocumentRows:
    made = np.array([numbers(left, right) for left, right in zip(gold, predicted, strict=True)])
    return DocumentRows("pearson", tuple(map(str, range(len(gold)))), made)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=3, max_size=30))
def test_pearson_from_sums_is_pearson(pairs: list[tuple[float, float]]) -> None:
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    if left.std() < 0.01 or right.std() < 0.01:
        return
    sums = np.array([numbers(one, other) for one, other in pairs]).sum(axis=0)
    assert float(pearson_of(sums)) == pytest.approx(pearson(left, right), abs=1e-6)


def test_a_side_that_never_changes_has_no_correlation() -> None:
    assert figure_of([number_rows([1, 2, 3], [2.5, 2.5, 2.5])]) == 0.0


def test_one_seed_is_tested_as_counts_and_means_are() -> None:
    chance = np.random.default_rng(3)
    left, right = chance.integers(0, 3, (60, 3)), chance.integers(0, 3, (60, 3))
    ids = tuple(map(str, range(60)))
    made = compare_rows(
        [DocumentRows("f1", ids, left.astype(float))], [DocumentRows("f1", ids, right.astype(float))], samples=200
    )
    assert made == compare(left, right, samples=200)
    hits, others = chance.integers(0, 2, 60).tolist(), chance.integers(0, 2, 60).tolist()
    assert compare_rows([mean_rows(hits)], [mean_rows(others)], samples=200) == compare_means(hits, others, samples=200)


def test_pearson_is_resampled_as_drawing_pairs_one_by_one() -> None:
    chance = np.random.default_rng(1)
    gold = chance.normal(size=80)
    good, bad = gold + chance.normal(scale=0.4, size=80), gold + chance.normal(scale=1.5, size=80)
    made = compare_rows([number_rows(list(gold), list(good))], [number_rows(list(gold), list(bad))], samples=4000)
    assert made.first == pytest.approx(pearson(gold, good))
    drawn = []
    for _ in range(4000):
        some = chance.integers(80, size=80)
        drawn.append(pearson(gold[some], good[some]) - pearson(gold[some], bad[some]))
    assert made.error == pytest.approx(np.std(drawn), rel=0.1)
    assert made.low == pytest.approx(np.quantile(drawn, 0.025), abs=0.03)
    assert made.p_randomisation < 0.01


def test_seeds_are_averaged_and_drawn_together() -> None:
    first = [mean_rows([1, 0, 1, 1]), mean_rows([0, 0, 1, 1])]
    second = [mean_rows([0, 0, 1, 0]), mean_rows([0, 0, 0, 0])]
    made = compare_rows(first, second, samples=100)
    assert (made.first, made.second) == pytest.approx((0.625, 0.125))
    assert figure_of(first) == pytest.approx(0.625)


def test_documents_are_paired_by_id_and_classes_by_name() -> None:
    values = np.array([[[1.0, 0, 0], [0, 1, 0]], [[0, 0, 1], [2, 0, 0]]])
    one = DocumentRows("macro-f1", ("a", "b"), values, ("x", "y"))
    other = DocumentRows("macro-f1", ("b", "a"), values[::-1, ::-1], ("y", "x"))
    assert compare_rows([one], [other], samples=20).difference == 0.0


def test_rows_are_read_as_they_were_written() -> None:
    one = DocumentRows("macro-f1", ("a",), np.array([[[1.0, 0, 0], [0, 1, 0.5]]]), ("x", "y"))
    again = read_rows(json.loads(json.dumps(one.to_json())))
    assert again.ids == one.ids
    assert again.classes == one.classes
    assert (again.values == one.values).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown figure 'recall'"):
        DocumentRows("recall", (), np.zeros((0, 3)))
    with pytest.raises(ScoreError, match="shape"):
        DocumentRows("f1", ("1",), np.zeros((1, 2)))
    with pytest.raises(ScoreError, match="the same documents"):
        compare_rows([mean_rows([1, 0])], [mean_rows([1, 0, 1])])
    with pytest.raises(ScoreError, match="same number of seeds, got 1 and 2"):
        compare_rows([mean_rows([1])], [mean_rows([1]), mean_rows([0])])
    with pytest.raises(ScoreError, match="must be of the same figure"):
        compare_rows([mean_rows([1])], [number_rows([1.0], [1.0])])
    with pytest.raises(ScoreError, match="cannot read the rows"):
        read_rows({"figure": "f1"})
