"""Is a difference real? Resampling over documents, from per-document counts.

Documents that have the same counts are interchangeable, so resampling draws how often each distinct row of counts comes up (a multinomial),
not documents one by one. The distribution is exactly that of drawing documents; a corpus of a hundred thousand sentences has a few
hundred distinct rows, and a thousand samples take milliseconds.

>>> counts = [[2, 0, 0], [1, 1, 0], [0, 0, 2], [3, 0, 1]]
>>> interval(counts, samples=200, seed=1).value
0.75
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.errors import ScoreError, UsageError
from biomux.scoring.document_counts import same_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from biomux.scoring.document_counts import DocumentCounts

    Floats = NDArray[np.float64]

Statistic = Callable[["Floats"], "Floats"]
"""Sums of rows (the last axes are one row's) → a figure for each."""

CHUNK = 1 << 22
"""Numbers held at once while drawing."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, its standard error and its percentile interval, from resampled documents."""

    value: float
    error: float
    low: float
    high: float
    level: float
    samples: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same documents: `difference` is `first` minus `second`.

    `low`, `high` and `error` are of the difference, from the paired bootstrap. `p_bootstrap` is twice the smaller share of samples on either
    side of 0; `p_randomisation` the share of random exchanges with a difference at least as large. Both are two-sided, with one added to
    numerator and denominator, so never 0.
    """

    first: float
    second: float
    difference: float
    error: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float
    level: float
    samples: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def figure(sums: Floats, *, metric: str = "f1") -> Floats:
    """Precision, recall or F1 of (…, 3) sums; of (…, types, 3) sums micro, or "macro-f1" and so on. 0/0 is 0."""
    name = metric.removeprefix("macro-")
    if name not in {"precision", "recall", "f1"}:
        raise UsageError("BX001", f"unknown metric {metric!r}", hint="choose from precision, recall, f1, macro-…")
    tp, fp, fn = sums[..., 0], sums[..., 1], sums[..., 2]
    whole = {"precision": tp + fp, "recall": tp + fn, "f1": tp + (fp + fn) / 2}[name]
    values: Floats = np.divide(tp, whole, out=np.zeros_like(whole, dtype=np.float64), where=whole > 0)
    if metric == name:
        return values
    seen = (tp + fp + fn) > 0
    return np.asarray((values * seen).sum(axis=-1) / np.maximum(seen.sum(axis=-1), 1))


def statistic_of(metric: str, width: tuple[int, ...]) -> Statistic:
    """The figure of rows of this shape: (3,), or (types, 3)."""
    if metric.startswith("macro-") and len(width) == 2:
        return lambda sums: figure(sums, metric=metric)
    if metric.startswith("macro-"):
        raise UsageError(
            "BX001", "a macro average needs counts by type", hint="give counts of shape (documents, types, 3)"
        )
    if len(width) == 2:
        return lambda sums: figure(sums.sum(axis=-2), metric=metric)
    return lambda sums: figure(sums, metric=metric)


def mean_of(sums: Floats) -> Floats:
    """The statistic of rows (value, 1): their mean."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def interval(
    counts: ArrayLike, *, metric: str = "f1", samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """The bootstrap interval of one system, from its (documents, 3) or (documents, types, 3) counts."""
    rows = _rows(counts)
    return _interval(rows, statistic_of(metric, rows.shape[1:]), samples, seed, level)


def compare(
    first: ArrayLike, second: ArrayLike, *, metric: str = "f1", samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Comparison:
    """Paired bootstrap and approximate randomisation of two systems' counts on the same documents, in the same order."""
    first_rows, second_rows = _rows(first), _rows(second)
    _check_same(first_rows, second_rows)
    return _compare(first_rows, second_rows, statistic_of(metric, first_rows.shape[1:]), samples, seed, level)


def compare_means(
    first: ArrayLike, second: ArrayLike, *, samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Comparison:
    """Like `compare`, for the mean of one value per document."""
    first_rows, second_rows = _with_ones(first), _with_ones(second)
    _check_same(first_rows, second_rows)
    return _compare(first_rows, second_rows, mean_of, samples, seed, level)


def compare_by(
    statistic: Statistic,
    first: ArrayLike,
    second: ArrayLike,
    *,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison:
    """Like `compare`, for any figure that is computed from sums over rows, one row per document."""
    first_rows, second_rows = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if not len(first_rows):
        raise ScoreError("BX704", "there are no documents to resample", hint="score at least one document")
    _check_same(first_rows, second_rows)
    return _compare(first_rows, second_rows, statistic, samples, seed, level)


def compare_documents(
    first: DocumentCounts, second: DocumentCounts, *, metric: str = "f1", samples: int = 1000, seed: int = 0
) -> Comparison:
    """Compare two systems on the same documents by paired bootstrap and approximate randomisation. Documents are paired by id and types by name."""
    return compare(*same_documents(first, second), metric=metric, samples=samples, seed=seed)


def bootstrap_error(statistic: Callable[..., float], *arrays: ArrayLike, samples: int = 1000, seed: int = 0) -> float:
    """The standard error of any statistic of arrays whose rows are drawn together; for those that are not made of sums."""
    columns = [np.asarray(array) for array in arrays]
    random = np.random.default_rng(seed)
    size = len(columns[0])
    if size < 2:
        return float("nan")
    values = [statistic(*(array[chosen] for array in columns)) for chosen in _choices(random, size, samples)]
    known = np.array([value for value in values if not np.isnan(value)])
    return float(known.std(ddof=1)) if len(known) > 1 else float("nan")


def _choices(random: np.random.Generator, size: int, samples: int) -> Iterable[NDArray[np.int64]]:
    return (random.integers(size, size=size) for _ in range(samples))


def _rows(counts: ArrayLike) -> Floats:
    rows = np.asarray(counts, dtype=np.float64)
    if rows.ndim not in {2, 3} or rows.shape[-1] != 3:
        raise ScoreError(
            "BX705",
            f"counts must have the shape (documents, 3) or (documents, types, 3), got {rows.shape}",
            hint="give tp, fp and fn for each document",
        )
    if not len(rows):
        raise ScoreError("BX704", "there are no documents to resample", hint="score at least one document")
    return rows


def _with_ones(values: ArrayLike) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not len(column):
        raise ScoreError("BX705", f"values must be one number per document, got the shape {column.shape}")
    return np.stack([column, np.ones_like(column)], axis=1)


def _check_same(first: Floats, second: Floats) -> None:
    if first.shape != second.shape:
        raise ScoreError(
            "BX705",
            f"both systems must have counts of the same shape, got {first.shape} and {second.shape}",
            hint="score both on the same documents, in the same order, with the same types",
        )


def _distinct(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Distinct rows, and how often each comes up."""
    flat, numbers = np.unique(rows.reshape(len(rows), -1), axis=0, return_counts=True)
    return flat.reshape(-1, *rows.shape[1:]), numbers


def _drawn(rows: Floats, samples: int, seed: int) -> Floats:
    """Sums of rows of resampled documents, one a sample."""
    distinct, numbers = _distinct(rows)
    random = np.random.default_rng(seed)
    size = int(numbers.sum())
    flat = distinct.reshape(len(distinct), -1)
    sums = np.empty((samples, flat.shape[1]))
    step = max(1, CHUNK // len(distinct))
    for start in range(0, samples, step):
        part = min(step, samples - start)
        sums[start : start + part] = random.multinomial(size, numbers / size, size=part) @ flat
    return sums.reshape(samples, *rows.shape[1:])


def _interval(rows: Floats, statistic: Statistic, samples: int, seed: int, level: float) -> Interval:
    values = statistic(_drawn(rows, samples, seed))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    value = float(statistic(rows.sum(axis=0)))
    return Interval(value, float(values.std(ddof=1)), float(low), float(high), level, samples, seed)


def _compare(
    first_rows: Floats, second_rows: Floats, statistic: Statistic, samples: int, seed: int, level: float
) -> Comparison:
    both = np.stack([first_rows, second_rows], axis=1)
    first, second = (float(value) for value in statistic(both.sum(axis=0)))
    difference = first - second
    figures = statistic(_drawn(both, samples, seed))
    drawn = figures[:, 0] - figures[:, 1]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    tiny = 1e-12
    below, above = int((drawn <= tiny).sum()), int((drawn >= -tiny).sum())
    exchanged = statistic(_exchanged(both, samples, seed))
    as_large = int((np.abs(exchanged[:, 0] - exchanged[:, 1]) >= abs(difference) - tiny).sum())
    return Comparison(
        first,
        second,
        difference,
        float(drawn.std(ddof=1)),
        float(low),
        float(high),
        min(1.0, 2 * (min(below, above) + 1) / (samples + 1)),
        (as_large + 1) / (samples + 1),
        level,
        samples,
        seed,
    )


def _exchanged(both: Floats, samples: int, seed: int) -> Floats:
    """Sums of both systems after each document's outputs were exchanged with probability one half."""
    distinct, numbers = _distinct(both)
    random = np.random.default_rng([seed, 1])
    total = np.tensordot(numbers, distinct, axes=1)
    gap = (distinct[:, 1] - distinct[:, 0]).reshape(len(distinct), -1)
    moved = np.empty((samples, gap.shape[1]))
    step = max(1, CHUNK // len(distinct))
    for start in range(0, samples, step):
        part = min(step, samples - start)
        moved[start : start + part] = random.binomial(numbers, 0.5, size=(part, len(numbers))) @ gap
    shift = moved.reshape(samples, *total.shape[1:])
    return np.stack([total[0] + shift, total[1] - shift], axis=1)


def enough(samples: int, *, tests: int, alpha: float = 0.05) -> int:
    """At least `samples`, and enough for the smallest p of `tests` tests to stay below alpha after Holm's correction.

    >>> enough(1000, tests=3), enough(1000, tests=60)
    (1000, 2400)
    """
    return max(samples, math.ceil(2 * tests / alpha))


def holm(p: Sequence[float]) -> list[float]:
    """p values of several tests, with Holm's correction for multiple tests.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=lambda place: p[place])
    corrected = [0.0] * len(p)
    reached = 0.0
    for number, place in enumerate(order):
        reached = max(reached, min(1.0, (len(p) - number) * p[place]))
        corrected[place] = reached
    return corrected
