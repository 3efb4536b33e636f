"""Friedman, Conover, Nemenyi: against scipy and scikit-posthocs, and at the edges."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from biomux.errors import ScoreError, UsageError
from biomux.scoring.ranks import Ranking, critical_difference, rank_systems

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytest.importorskip("scikit_posthocs", reason="the extra 'report' is not installed")

SYSTEMS = ("a", "b", "c", "d")


def table(seed: int, *, ties: bool) -> NDArray[np.float64]:
    scores = np.random.default_rng(seed).normal(80, 5, size=(9, 4)) + np.array([0, 0, 4, 8])
    return np.asarray(np.round(scores / 4) * 4 if ties else scores)


@pytest.mark.parametrize("ties", [False, True])
def test_values_are_those_of_the_libraries(ties: bool) -> None:
    import scikit_posthocs
    from scipy import stats

    scores = table(3, ties=ties)
    result = rank_systems(scores, SYSTEMS)
    statistic, p = stats.friedmanchisquare(*scores.T)
    assert (result.statistic, result.p) == pytest.approx((statistic, p))
    conover = np.asarray(scikit_posthocs.posthoc_conover_friedman(scores, p_adjust="holm"))
    nemenyi = np.asarray(scikit_posthocs.posthoc_nemenyi_friedman(scores))
    for row, first in enumerate(SYSTEMS):
        for column, second in enumerate(SYSTEMS):
            if row != column:
                assert result.conover[first, second] == pytest.approx(conover[row, column])
                assert result.nemenyi[first, second] == pytest.approx(nemenyi[row, column])


def test_rank_one_is_the_best_and_ties_share() -> None:
    result = rank_systems([[3, 1, 2], [3, 2, 2]], ["x", "y", "z"])
    assert result.average_ranks == {"x": 1.0, "y": 2.75, "z": 2.25}
    lower = rank_systems([[3, 1, 2], [3, 2, 2]], ["x", "y", "z"], higher_is_better=False)
    assert lower.average_ranks["x"] == 3.0


def test_critical_difference_is_demsar_s() -> None:
    """q at 0.05 for 5 systems is 2.728 in the published table."""
    assert critical_difference(5, 30) == pytest.approx(2.728 * math.sqrt(5 * 6 / (6 * 30)), abs=1e-3)


def test_equal_systems_do_not_differ() -> None:
    result = rank_systems(np.ones((5, 3)), ["x", "y", "z"])
    assert (result.p, result.significant) == (1.0, False)
    assert result.cliques() == [("x", "y", "z")]


def test_the_same_order_everywhere_is_as_sure_as_can_be() -> None:
    scores = np.arange(3) + np.arange(10)[:, None]
    result = rank_systems(scores, ["x", "y", "z"])
    assert result.significant
    assert all(0 <= p < 0.05 for p in result.conover.values())
    assert ("z", "x") in result.nemenyi


def test_cliques_hold_neighbours_that_do_not_differ() -> None:
    result = rank_systems(table(3, ties=False), SYSTEMS)
    for test, pairs in (("nemenyi", result.nemenyi), ("conover", result.conover)):
        for clique in result.cliques(test=test):
            assert all(pairs[a, b] >= 0.05 for a in clique for b in clique if a != b)
    assert result.to_json()["corpora"] == 9


def test_too_little_is_refused() -> None:
    with pytest.raises(ScoreError, match="BX704: 2 systems"):
        rank_systems([[1, 2], [2, 3]], ["x", "y"])
    with pytest.raises(ScoreError, match="BX705"):
        rank_systems([[1, 2, 3]], ["x", "y"])
    with pytest.raises(ScoreError, match="every system must have a score on every corpus"):
        rank_systems([[1.0, 2.0, math.nan], [1.0, 2.0, 3.0]], ["x", "y", "z"])


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(UsageError, match=r"BX003: scikit-posthocs is not installed; pip install 'biomux\[report\]'"):
        rank_systems(table(1, ties=False), SYSTEMS)


@pytest.mark.parametrize("ties", [False, True])
def test_a_ranking_comes_back_from_json(ties: bool) -> None:
    result = rank_systems(table(5, ties=ties), SYSTEMS)
    assert Ranking.from_json(json.loads(json.dumps(result.to_json()))) == result
