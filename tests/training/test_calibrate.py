"""The threshold of the best F1."""

from __future__ import annotations

from biomux.training.calibrate import TypeAnswers, best_threshold


def test_the_threshold_is_that_of_the_best_f1() -> None:
    # from 0.6 on: three right of three, of four; with the fourth right answer at 0.3 come two wrong ones, and a third below
    answers = TypeAnswers((0.2, 0.3, 0.35, 0.4, 0.6, 0.7, 0.9), (False, True, False, False, True, True, True), 4)
    assert best_threshold([answers], at_least=1) == 0.6


def test_corpora_count_alike() -> None:
    large = TypeAnswers((0.2,) * 90 + (0.8,) * 10, (True,) * 90 + (True,) * 10, 100)
    small = TypeAnswers((0.2, 0.2, 0.2, 0.8), (False, False, False, True), 1)
    assert best_threshold([large], at_least=1) == 0.2
    assert best_threshold([large, small], at_least=1) == 0.2
    assert best_threshold([small, small, large], at_least=1) == 0.8


def test_a_type_that_was_never_right_has_none_and_too_few_answers_prove_nothing() -> None:
    assert best_threshold([TypeAnswers((0.9,) * 50, (False,) * 50, 3)]) is None
    assert best_threshold([TypeAnswers((), (), 3)]) is None
    assert best_threshold([TypeAnswers((0.2, 0.9), (False, True), 3)]) == 0.0
