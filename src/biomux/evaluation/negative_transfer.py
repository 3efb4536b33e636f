"""Negative transfer: does a model of many tasks fall behind one that learned a task alone?

Every column that the model shares with a baseline is compared, document by document, by approximate randomisation, with Holm's correction
over all of them. A significant drop raises an alarm. Without rows of documents (a run's development scores) a drop is reported, but not
tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.errors import ScoreError
from biomux.evaluation.compare import compare_columns, figure_of, remarks_on, spread
from biomux.evaluation.comparison_tables import p_value
from biomux.scoring.significance import enough, holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.evaluation.compare import ComparedSystem
    from biomux.evaluation.score_tables import Table
    from biomux.scoring.significance import Comparison


@dataclass(frozen=True, slots=True)
class Contrast:
    """A column of a model against a baseline. `found` and `p` are None where there was nothing to test with."""

    column: str
    model: str
    baseline: str
    value: float
    alone: float
    found: Comparison | None
    p: float | None
    alpha: float

    @property
    def difference(self) -> float:
        """What the model gains over the baseline; negative if it falls behind."""
        return self.value - self.alone

    @property
    def alarm(self) -> bool:
        """Whether the model is significantly below the baseline."""
        return self.difference < 0 and self.p is not None and self.p < self.alpha

    @property
    def verdict(self) -> str:
        """One word or two: what the test says."""
        if self.p is None:
            return "not tested"
        if self.p >= self.alpha:
            return "no difference shown"
        return "hurts" if self.difference < 0 else "helps"

    def sentence(self) -> str:
        """What an alarm says."""
        p = "" if self.p is None else f", p = {p_value(self.p)} (Holm)"
        return (
            f"{self.model} is {-100 * self.difference:.2f} points below {self.baseline} on {self.column} "
            f"({100 * self.value:.2f} against {100 * self.alone:.2f}{p}): training together hurts this task"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "column": self.column,
            "model": self.model,
            "baseline": self.baseline,
            "value": self.value,
            "alone": self.alone,
            "p_holm": self.p,
            "verdict": self.verdict,
            "alarm": self.alarm,
        }


def contrasts(
    models: Sequence[ComparedSystem],
    baselines: Sequence[ComparedSystem],
    *,
    matching: str = "strict",
    metric: str | None = None,
    samples: int = 1000,
    seed: int = 0,
    alpha: float = 0.05,
) -> list[Contrast]:
    """Every model against every baseline on every column that both have, in the order of the models' columns.

    A baseline that shares no column with any model is an error: it was meant to be compared. More than `samples` are drawn if
    so few could show nothing significant.
    """
    for baseline in baselines:
        if not any(baseline.columns() & model.columns() for model in models):
            raise ScoreError(
                "BX704",
                f"baseline {baseline.name!r} has no column in common with {', '.join(model.name for model in models)}",
                hint="score both on the same corpora",
            )
    pairs = [
        (column, model, baseline)
        for model in models
        for column in model.seeds[0].columns
        if column in model.columns()
        for baseline in baselines
        if column in baseline.columns()
    ]
    # With fewer samples the correction would leave no p that can be significant, and no alarm could ever sound.
    samples = enough(samples, tests=len(pairs), alpha=alpha)
    compared: list[tuple[str, ComparedSystem, ComparedSystem, Comparison | None]] = []
    for column, model, baseline in pairs:
        remarks_on([model, baseline], [column])  # refuses figures of other documents
        comparison = compare_columns(
            model, baseline, column, matching=matching, metric=metric, samples=samples, seed=seed
        )
        compared.append((column, model, baseline, comparison))
    corrected = iter(holm([comparison.p_randomisation for _, _, _, comparison in compared if comparison]))

    def mean(system: ComparedSystem, column: str) -> float:
        values = [figure_of(scores.columns[column], matching=matching, metric=metric) for scores in system.seeds]
        return float(spread(values)["mean"] or 0.0)

    return [
        Contrast(
            column,
            model.name,
            baseline.name,
            mean(model, column),
            mean(baseline, column),
            comparison,
            next(corrected) if comparison else None,
            alpha,
        )
        for column, model, baseline, comparison in compared
    ]


def contrast_table(found: Sequence[Contrast]) -> Table:
    """One row per comparison, alarms first."""
    rows: list[tuple[str, ...]] = [
        (
            contrast.column,
            contrast.model,
            contrast.baseline,
            f"{100 * contrast.value:.2f}",
            f"{100 * contrast.alone:.2f}",
            f"{100 * contrast.difference:+.2f}",
            f"{100 * contrast.found.low:+.2f} to {100 * contrast.found.high:+.2f}" if contrast.found else "",
            "" if contrast.p is None else p_value(contrast.p),
            contrast.verdict,
        )
        for contrast in sorted(found, key=lambda contrast: not contrast.alarm)
    ]
    return ["corpus", "model", "alone", "together F1", "alone F1", "difference", "interval", "p Holm", "verdict"], rows


def contrast_line(found: Sequence[Contrast]) -> str:
    """The line under that table; empty if nothing could be tested."""
    tested = [contrast for contrast in found if contrast.found is not None]
    if not tested or tested[0].found is None:
        return ""
    first = tested[0].found
    return (
        f"approximate randomisation over documents|samples:{first.samples}|seed:{first.seed}|interval:{first.level:.0%}"
        f"|correction:holm over {len(tested)} tests|alpha:{found[0].alpha:g}"
    )
