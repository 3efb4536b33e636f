"""Does a score of 0.9 mean nine in ten? Measures of that, and of how well scores tell right from wrong.

`scores` are between 0 and 1; `right` says for each answer whether it was right. `biomux.scoring.temperature` calibrates scores.

>>> round(expected_error([0.9, 0.9, 0.6, 0.6], [True, True, True, False]), 3)
0.1
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError, UsageError
from biomux.scoring.significance import bootstrap_error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

BINS = 15


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers with a score from low to high: how many, their mean score, and the share that was right."""

    low: float
    high: float
    number: int
    score: float
    right: float


@dataclass(frozen=True, slots=True)
class Confidence:
    """How far the scores can be trusted."""

    number: int
    accuracy: float
    mean_score: float
    ece: float
    ece_error: float
    aurc: float
    aurc_error: float
    bins: tuple[Bin, ...]
    risks: tuple[tuple[float, float], ...] = ()
    """Points of the curve of risk and coverage: the share kept, surest first, and the share of it that is wrong."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


def confidence(
    scores: ArrayLike, right: ArrayLike, *, bins: int = BINS, samples: int = 200, seed: int = 0
) -> Confidence:
    """All measures at once; errors by the bootstrap, nan with `samples=0`."""
    confidences, hits = checked(scores, right)
    errors = [
        bootstrap_error(statistic, confidences, hits, samples=samples, seed=seed) if samples else float("nan")
        for statistic in (lambda s, r: expected_error(s, r, bins=bins), area_under_risk)
    ]
    return Confidence(
        len(confidences),
        float(hits.mean()),
        float(confidences.mean()),
        expected_error(confidences, hits, bins=bins),
        errors[0],
        area_under_risk(confidences, hits),
        errors[1],
        tuple(reliability(confidences, hits, bins=bins)),
        _thinned(*risk_coverage(confidences, hits)),
    )


def reliability(scores: ArrayLike, right: ArrayLike, *, bins: int = BINS, by: str = "width") -> list[Bin]:
    """The reliability diagram's bins, empty ones left out: of equal width, or (`by="number"`) of about equal number."""
    confidences, hits = checked(scores, right)
    if by == "width":
        edges = np.linspace(0, 1, bins + 1)
    elif by == "number":
        edges = np.unique(np.concatenate([[0.0], np.quantile(confidences, np.linspace(0, 1, bins + 1)[1:-1]), [1.0]]))
    else:
        raise UsageError("BX001", f"by must be 'width' or 'number', got {by!r}")
    places = np.clip(np.searchsorted(edges, confidences, side="left") - 1, 0, len(edges) - 2)
    numbers = np.bincount(places, minlength=len(edges) - 1)
    score_sums = np.bincount(places, weights=confidences, minlength=len(edges) - 1)
    hit_sums = np.bincount(places, weights=hits, minlength=len(edges) - 1)
    return [
        Bin(
            float(edges[place]),
            float(edges[place + 1]),
            int(numbers[place]),
            float(score_sums[place] / numbers[place]),
            float(hit_sums[place] / numbers[place]),
        )
        for place in np.flatnonzero(numbers)
    ]


def expected_error(scores: ArrayLike, right: ArrayLike, *, bins: int = BINS, by: str = "width") -> float:
    """ECE: the distance between score and share right, averaged over bins by their number."""
    bins_found = reliability(scores, right, bins=bins, by=by)
    return sum(bin_.number * abs(bin_.score - bin_.right) for bin_ in bins_found) / sum(
        bin_.number for bin_ in bins_found
    )


def risk_coverage(scores: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    """Coverage 1/n … 1, and the share wrong among the surest that many. Equal scores share their mistakes evenly."""
    confidences, hits = checked(scores, right)
    distinct, places, numbers = np.unique(-confidences, return_inverse=True, return_counts=True)
    share = np.bincount(places, weights=1 - hits, minlength=len(distinct)) / numbers
    answered = np.arange(1, len(confidences) + 1)
    return answered / len(confidences), np.cumsum(np.repeat(share, numbers)) / answered


def _thinned(coverage: Floats, risk: Floats, *, most: int = 40) -> tuple[tuple[float, float], ...]:
    """A limited number of points of the curve, at even steps of coverage; the last point is always included."""
    places = np.unique(np.ceil(np.linspace(0, len(coverage), min(most, len(coverage)) + 1)[1:]).astype(int) - 1)
    return tuple((round(float(coverage[place]), 4), round(float(risk[place]), 4)) for place in places)


def area_under_risk(scores: ArrayLike, right: ArrayLike) -> float:
    """AURC: the mean of the risk over all coverages; lower is better, 0 if nothing is wrong."""
    return float(risk_coverage(scores, right)[1].mean())


@dataclass(frozen=True, slots=True)
class Threshold:
    """Answers that score at least `score` are kept: then this is their precision, how many of the right ones they are, and their number."""

    score: float
    precision: float
    recall: float
    number: int


def thresholds(scores: ArrayLike, right: ArrayLike, *, missed: int = 0) -> list[Threshold]:
    """The table of all thresholds, highest first. `missed` counts right answers that were never given, for recall."""
    confidences, hits = checked(scores, right)
    distinct, places, numbers = np.unique(-confidences, return_inverse=True, return_counts=True)
    answered = np.cumsum(numbers)
    right_answered = np.cumsum(np.bincount(places, weights=hits, minlength=len(distinct)))
    all_right = max(1.0, float(hits.sum()) + missed)
    return [
        Threshold(float(-score), float(hit / number), float(hit / all_right), int(number))
        for score, hit, number in zip(distinct, right_answered, answered, strict=True)
    ]


def threshold_for(
    precision: float, scores: ArrayLike, right: ArrayLike, *, missed: int = 0, at_least: int = 20
) -> Threshold:
    """The lowest threshold that keeps the wanted precision, among those that keep `at_least` answers (fewer prove nothing)."""
    table = thresholds(scores, right, missed=missed)
    usable = [row for row in table if row.number >= at_least]
    fitting = [row for row in usable if row.precision >= precision]
    if fitting:
        return fitting[-1]
    best = max(usable, key=lambda row: row.precision, default=None)
    reached = (
        f"the best is {best.precision:.3f}, from score {best.score:.3f}" if best else f"there are {table[-1].number}"
    )
    raise ScoreError(
        "BX704",
        f"no threshold that keeps {at_least} answers has precision {precision}: {reached}",
        hint="ask for less precision, or bring more development data",
    )


def checked(scores: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays of the same length; ScoreError for anything else."""
    confidences, hits = np.asarray(scores, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if confidences.ndim != 1 or confidences.shape != hits.shape:
        raise ScoreError(
            "BX705",
            f"scores and judgements must be lists of the same length, got the shapes {confidences.shape} and {hits.shape}",
            hint="give one score and one judgement per answer",
        )
    if not len(confidences):
        raise ScoreError("BX704", "there must be at least one score", hint="predict on documents that have answers")
    if not ((confidences >= 0) & (confidences <= 1)).all():
        raise ScoreError("BX705", "scores must be between 0 and 1", hint="give probabilities, not logits")
    return confidences, hits
