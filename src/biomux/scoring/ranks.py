"""Many systems on many corpora: do they differ at all, and which from which.

Friedman's test asks whether any system ranks otherwise than by chance; Conover's and Nemenyi's tests then say which pairs do. Rows are corpora,
columns systems, ties share their average rank; rank 1 is the best. Needs the extra `report` (scipy, scikit-posthocs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the tests say of systems on corpora.

    `conover` and `nemenyi` are p for each pair of systems; `correction` names how Conover's were corrected for there being many pairs (Nemenyi's
    test has that built in). Systems whose average ranks differ by less than `critical_difference` do not differ by Nemenyi at `alpha`.
    """

    systems: tuple[str, ...]
    corpora: int
    average_ranks: Mapping[str, float]
    statistic: float
    p: float
    conover: Mapping[tuple[str, str], float]
    nemenyi: Mapping[tuple[str, str], float]
    correction: str | None
    critical_difference: float
    alpha: float

    @property
    def significant(self) -> bool:
        """Whether Friedman's test finds any difference at all; without it the pairs say nothing."""
        return self.p < self.alpha

    def cliques(self, *, test: str = "nemenyi") -> list[tuple[str, ...]]:
        """Groups of neighbours by rank that do not differ, the bars of the critical-difference picture; best first."""
        table = self.nemenyi if test == "nemenyi" else self.conover
        order = sorted(self.systems, key=lambda name: self.average_ranks[name])
        stretches: list[tuple[int, int]] = []
        for start in range(len(order)):
            end = start
            while end + 1 < len(order) and all(
                table[order[place], order[end + 1]] >= self.alpha for place in range(start, end + 1)
            ):
                end += 1
            if end > start and not (stretches and stretches[-1][1] >= end):
                stretches.append((start, end))
        return [tuple(order[start : end + 1]) for start, end in stretches]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; pairs are listed."""

        def pairs(table: Mapping[tuple[str, str], float]) -> list[dict[str, Any]]:
            return [{"first": a, "second": b, "p": p} for (a, b), p in table.items() if a < b]

        return {
            "systems": list(self.systems),
            "corpora": self.corpora,
            "average_ranks": dict(self.average_ranks),
            "friedman": {"statistic": self.statistic, "p": self.p},
            "conover": pairs(self.conover),
            "nemenyi": pairs(self.nemenyi),
            "correction": self.correction,
            "critical_difference": self.critical_difference,
            "alpha": self.alpha,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Ranking:
        """What `to_json` wrote."""

        def pairs(listed: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
            return {names: one["p"] for one in listed for names in permutations((one["first"], one["second"]))}

        return cls(
            tuple(content["systems"]),
            content["corpora"],
            dict(content["average_ranks"]),
            content["friedman"]["statistic"],
            content["friedman"]["p"],
            pairs(content["conover"]),
            pairs(content["nemenyi"]),
            content["correction"],
            content["critical_difference"],
            content["alpha"],
        )


def rank_systems(
    scores: ArrayLike,
    systems: Sequence[str],
    *,
    correction: str | None = "holm",
    alpha: float = 0.05,
    higher_is_better: bool = True,
) -> Ranking:
    """Test systems (columns) on corpora (rows). At least three systems and two corpora; every system on every corpus."""
    table = _checked(scores, systems)
    oriented = -table if higher_is_better else table
    stats, posthocs = _need("scipy.stats"), _need("scikit_posthocs")
    ranks = np.asarray(stats.rankdata(oriented, axis=1), dtype=np.float64)
    if (ranks == ranks[:, :1]).all():
        statistic, p = 0.0, 1.0
        conover = nemenyi = np.ones((len(systems), len(systems)))
    else:
        statistic, p = (float(value) for value in stats.friedmanchisquare(*oriented.T))
        conover = _conover(posthocs, oriented, ranks, correction)
        nemenyi = _pairwise(posthocs.posthoc_nemenyi_friedman, oriented)
    return Ranking(
        tuple(systems),
        len(table),
        {name: float(rank) for name, rank in zip(systems, ranks.mean(axis=0), strict=True)},
        statistic,
        p,
        _named(conover, systems),
        _named(nemenyi, systems),
        correction,
        critical_difference(len(systems), len(table), alpha=alpha),
        alpha,
    )


def critical_difference(systems: int, corpora: int, *, alpha: float = 0.05) -> float:
    """How far apart average ranks must be to differ by Nemenyi's test."""
    reach = float(_need("scipy.stats").studentized_range.ppf(1 - alpha, systems, np.inf))
    return reach / math.sqrt(2) * math.sqrt(systems * (systems + 1) / (6 * corpora))


def _checked(scores: ArrayLike, systems: Sequence[str]) -> Floats:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(systems) or len(set(systems)) != len(systems):
        raise ScoreError(
            "BX705",
            f"scores must have a column for each of {len(systems)} systems of different names, got the shape {table.shape}",
            hint="give a row for each corpus and a column for each system",
        )
    if table.shape[1] < 3 or len(table) < 2:
        raise ScoreError(
            "BX704",
            f"{table.shape[1]} systems on {len(table)} corpora are too few for Friedman's test",
            hint="give at least 3 systems and 2 corpora; compare two systems by documents instead",
        )
    if not np.isfinite(table).all():
        raise ScoreError(
            "BX704",
            "every system must have a score on every corpus",
            hint="leave out the corpus or system that has none",
        )
    return table


def _pairwise(test: Any, table: Floats, **options: Any) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(test(table, **options), dtype=np.float64)


def _conover(posthocs: Any, table: Floats, ranks: Floats, correction: str | None) -> Floats:
    """Where every corpus orders the systems alike, Conover's variance is 0 and t is infinite: p is 0, or 1 for equal ranks."""
    p_values = _pairwise(posthocs.posthoc_conover_friedman, table, p_adjust=correction)
    sums = ranks.sum(axis=0)
    return np.where(sums[:, None] == sums, 1.0, 0.0) if np.isnan(p_values).any() else p_values


def _named(table: Floats, systems: Sequence[str]) -> dict[tuple[str, str], float]:
    return {
        (first, second): float(table[row, column])
        for row, first in enumerate(systems)
        for column, second in enumerate(systems)
        if row != column
    }


def _need(module: str) -> Any:
    """An import that only the extra `report` brings."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.split(".")[0].replace("_", "-")
        raise UsageError("BX003", f"{name} is not installed", hint="pip install 'biomux[report]'") from error
