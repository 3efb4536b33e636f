"""Classes, numbers and answers: by hand, and against scikit-learn and scipy where they are installed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biomux.errors import ScoreError
from biomux.scoring.answers import exact_match, normalised, score_answers, token_f1
from biomux.scoring.counts import Counts
from biomux.scoring.labels import score_labels, score_sets
from biomux.scoring.numbers import score_numbers

CLASSES = ("none", "up", "down")
labels = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=1, max_size=30)
sets = st.lists(
    st.tuples(st.frozensets(st.sampled_from(CLASSES)), st.frozensets(st.sampled_from(CLASSES))), max_size=20
)


class TestLabels:
    def test_micro_leaves_the_negative_class_out(self) -> None:
        scores = score_labels([("up", "up"), ("none", "up"), ("up", "none"), ("none", "none"), ("up", "down")])
        assert scores.accuracy == 0.4
        assert scores.table().micro.f1 == 0.4
        assert scores.table(negative={"none"}).micro == Counts(tp=1, fp=2, fn=2)
        assert scores.table().types["up"] == Counts(tp=1, fp=1, fn=2)

    def test_no_answer_is_a_miss_and_no_false_alarm(self) -> None:
        assert score_labels([("up", None)]).table().micro == Counts(fn=1)

    def test_nothing_is_zero(self) -> None:
        scores = score_labels([])
        assert (scores.accuracy, scores.table().f1, scores.table().macro.f1) == (0, 0, 0)
        assert math.isnan(scores.accuracy_error)

    @given(labels)
    @settings(deadline=None)
    def test_as_scikit_learn(self, pairs: list[tuple[str, str]]) -> None:
        metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
        gold, predicted = zip(*pairs, strict=True)
        table = score_labels(pairs).table()
        assert score_labels(pairs).accuracy == pytest.approx(metrics.accuracy_score(gold, predicted))
        assert table.macro.f1 == pytest.approx(metrics.f1_score(gold, predicted, average="macro", zero_division=0))
        micro = metrics.f1_score(gold, predicted, labels=["up", "down"], average="micro", zero_division=0)
        assert score_labels(pairs).table(negative={"none"}).f1 == pytest.approx(micro)

    @given(labels, st.integers(0, 30))
    def test_shards_add_up(self, pairs: list[tuple[str, str]], cut: int) -> None:
        whole = score_labels(pairs)
        assert score_labels(pairs[:cut]) + score_labels(pairs[cut:]) == whole
        assert whole.to_json()["documents"] == len(pairs)

    @given(sets, st.integers(0, 20))
    @settings(deadline=None)
    def test_sets_add_up_and_agree_with_counting(
        self, pairs: list[tuple[frozenset[str], frozenset[str]]], cut: int
    ) -> None:
        whole = score_sets(pairs)
        parts = score_sets(pairs[:cut]) + score_sets(pairs[cut:])
        assert parts.table == whole.table
        assert parts.exact == whole.exact
        assert parts.example_f1.value == pytest.approx(whole.example_f1.value)
        assert whole.table.micro.tp == sum(len(gold & predicted) for gold, predicted in pairs)
        assert whole.table.micro.fp == sum(len(predicted - gold) for gold, predicted in pairs)
        assert whole.to_json()["documents"] == len(pairs)

    def test_two_empty_sets_are_right(self) -> None:
        scores = score_sets([(set(), set()), ({"up"}, set())])
        assert (scores.exact.value, scores.example_f1.value) == (0.5, 0.5)


class TestNumbers:
    def test_as_scipy(self) -> None:
        stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
        chance = np.random.default_rng(0)
        gold = chance.integers(0, 6, size=80).astype(float)
        predicted = np.round(gold + chance.normal(size=80), 1)
        scores = score_numbers(gold, predicted)
        assert scores.pearson == pytest.approx(stats.pearsonr(gold, predicted).statistic)
        assert scores.spearman == pytest.approx(stats.spearmanr(gold, predicted).statistic)
        assert scores.mse == pytest.approx(np.mean((gold - predicted) ** 2))
        squares = (gold - predicted) ** 2
        assert scores.mse_error == pytest.approx(squares.std(ddof=1) / math.sqrt(80), rel=0.1)
        assert 0 < scores.pearson_error < 0.1

    def test_a_constant_has_no_correlation(self) -> None:
        scores = score_numbers([1.0, 2.0, 3.0], [0.1, 0.1, 0.1])
        assert math.isnan(scores.pearson)
        assert math.isnan(scores.spearman)
        assert scores.to_json()["pearson"] is None
        assert scores.mse > 0

    def test_one_pair_or_none(self) -> None:
        assert math.isnan(score_numbers([1.0], [2.0]).pearson)
        assert math.isnan(score_numbers([], []).mse)

    def test_what_is_no_number_is_refused(self) -> None:
        with pytest.raises(ScoreError, match="predicted numbers must be finite, got nan in place 1"):
            score_numbers([1.0, 2.0], [1.0, math.nan])
        with pytest.raises(ScoreError, match="BX705"):
            score_numbers([1.0, 2.0], [1.0])


class TestAnswers:
    def test_normalised(self) -> None:
        assert normalised("  The IL-2 Receptor, a  protein.") == "il2 receptor protein"
        assert normalised("Theta an") == "theta"

    def test_five_best(self) -> None:
        gold = ["p53", "TP53"]
        scores = score_answers(
            [
                (gold, ["tp53 "]),
                (gold, ["a", "b", "TP53"]),
                (gold, ["a", "b", "c", "d", "e", "TP53"]),
                (gold, []),
            ]
        )
        assert scores.strict.value == 0.25
        assert scores.lenient.value == 0.5
        assert scores.mrr.value == pytest.approx((1 + 1 / 3) / 4)
        assert scores.questions == 4

    def test_the_same_answer_twice_takes_one_place(self) -> None:
        assert score_answers([(["c"], ["a", "A", "c"])]).mrr.value == 0.5

    def test_tokens(self) -> None:
        assert token_f1("the IL-2 receptor", ["receptor", "IL2 receptor alpha"]) == pytest.approx(0.8)
        assert token_f1("x", ["y"]) == 0
        assert exact_match("The receptor.", ["receptor"])

    def test_no_right_answer_is_answered_by_silence(self) -> None:
        scores = score_answers([([], []), ([], ["something"]), (["x"], [""])])
        assert scores.exact.value == scores.f1.value == scores.strict.value == pytest.approx(1 / 3)

    def test_shards_add_up(self) -> None:
        made = [(["a b"], ["a"]), (["b"], ["c", "b"]), (["c"], ["c"])]
        assert score_answers(made[:1]) + score_answers(made[1:]) == score_answers(made)
        assert score_answers(made).to_json()["mrr"]["number"] == 3


def test_two_points_are_in_line() -> None:
    assert score_numbers([1.0, 2.0], [3.0, 5.0]).pearson == pytest.approx(1.0)
    assert score_numbers([1.0, 2.0], [5.0, 3.0]).spearman == pytest.approx(-1.0)
