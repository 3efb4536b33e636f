"""Tables of a comparison, ready to be printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.evaluation.compare import spread
from biomux.evaluation.score_tables import percent

if TYPE_CHECKING:
    from biomux.evaluation.compare import ComparisonResult
    from biomux.evaluation.score_tables import Table
    from biomux.scoring.ranks import Ranking


def value_table(result: ComparisonResult) -> Table:
    """One row per column of the scores: the figure of each system; for several seeds the mean, standard deviation and all values."""
    rows = []
    for column, systems in result.values.items():
        rows.append((column, *(_values(systems[name]) for name in result.systems)))
    if len(rows) > 1:
        means = []
        for name in result.systems:
            means_of_columns = [spread(systems[name])["mean"] or 0.0 for systems in result.values.values()]
            means.append(percent(sum(means_of_columns) / len(means_of_columns)))
        rows.append((f"mean of {len(rows)}", *means))
    return ["corpus", *result.systems], rows


def difference_table(result: ComparisonResult) -> Table:
    """One row per test: the difference with its interval, and the results of the two tests."""
    rows: list[tuple[str, ...]] = []
    for test in result.tests:
        comparison = test.found
        rows.append(
            (
                test.column,
                test.first,
                test.second,
                f"{100 * comparison.difference:+.2f}",
                f"{100 * comparison.low:+.2f} to {100 * comparison.high:+.2f}",
                p_value(comparison.p_bootstrap),
                p_value(comparison.p_randomisation),
                p_value(test.p),
            )
        )
    return ["corpus", "first", "second", "difference", "interval", "p bootstrap", "p randomisation", "p Holm"], rows


def rank_table(ranking: Ranking) -> Table:
    """Systems by average rank, best first."""
    order = sorted(ranking.systems, key=lambda name: ranking.average_ranks[name])
    return ["system", "average rank"], [(name, f"{ranking.average_ranks[name]:.3f}") for name in order]


def pair_table(ranking: Ranking) -> Table:
    """Every pair of systems, the better first, with p by both tests."""
    order = sorted(ranking.systems, key=lambda name: ranking.average_ranks[name])
    rows: list[tuple[str, ...]] = [
        (better, worse, p_value(ranking.conover[better, worse]), p_value(ranking.nemenyi[better, worse]))
        for place, better in enumerate(order)
        for worse in order[place + 1 :]
    ]
    return ["better", "worse", f"p Conover ({ranking.correction or 'uncorrected'})", "p Nemenyi"], rows


def difference_line(result: ComparisonResult) -> str:
    """The line under the table of differences."""
    first = result.tests[0].found
    return _line(
        result.signature,
        f"samples:{first.samples}",
        f"seed:{first.seed}",
        f"interval:{first.level:.0%}",
        f"correction:holm over {len(result.tests)} tests",
    )


def rank_line(signature: str, ranking: Ranking) -> str:
    """The line under the tables of ranks and of pairs."""
    return _line(signature, f"systems:{len(ranking.systems)}", f"corpora:{ranking.corpora}", f"alpha:{ranking.alpha:g}")


def _line(*parts: str) -> str:
    """Parts as one line; published figures have no signature."""
    return "|".join(part for part in parts if part)


def p_value(p: float) -> str:
    """Two digits that matter.

    >>> p_value(0.0312), p_value(0.00000123)
    ('0.031', '1.2e-06')
    """
    return f"{p:.2g}" if p < 0.001 else f"{p:.3f}"


def _values(values: tuple[float, ...]) -> str:
    if len(values) == 1:
        return percent(values[0])
    summary = spread(values)
    return f"{percent(summary['mean'] or 0.0)} ±{100 * (summary['sd'] or 0.0):.2f} ({', '.join(map(percent, values))})"
