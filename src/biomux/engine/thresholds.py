"""Which score is enough: the thresholds that a call gives, those of the bundle, and those that reached a precision on development data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from biomux.engine.overlaps import Curve
    from biomux.engine.type_merging import Source

NEVER = 2.0
"""A threshold that no score reaches."""


def of_types(
    threshold: Mapping[str, float] | None, type_thresholds: Mapping[str, float], names: Iterable[str]
) -> tuple[dict[str, float], float]:
    """Each type's threshold, and that of types not named: what the call says, else what the bundle says, else none."""
    if threshold is None:
        return dict(type_thresholds), 0.0
    must_be_known("type", [name for name in threshold if name != "*"], sorted(names))
    for value in threshold.values():
        must_be_share("threshold", value)
    rest = {} if "*" in threshold else dict(type_thresholds)
    return rest | {name: value for name, value in threshold.items() if name != "*"}, threshold.get("*", 0.0)


def is_everything(threshold: Mapping[str, float] | None) -> bool:
    """Whether a threshold of 0 is that of all types that are not named."""
    return threshold is not None and threshold.get("*") == 0


def default_floors(
    defaults: Mapping[Source, float | None],
    threshold: Mapping[str, float] | None,
    asked: Sequence[str],
    *,
    everything: bool,
) -> dict[Source, float]:
    """The bundle's thresholds of heads' types, where the call has none of its own."""
    floors: dict[Source, float] = {}
    for source, score in defaults.items():
        if score is None:
            if not everything and source[1] not in asked:
                floors[source] = NEVER
        elif threshold is None or (threshold and "*" not in threshold and source[1] not in threshold):
            floors[source] = score
    return floors


def lowest(curve: Curve, precision: float) -> float:
    """The lowest score of a calibration curve that reached a precision; NEVER if none did.

    >>> lowest(((0.5, 0.8), (0.9, 0.97)), 0.95)
    0.9
    """
    return next((score for score, reached in curve if reached >= precision), NEVER)


def for_precision(name: str, curve: Curve, precision: float) -> float:
    """The lowest threshold from which on a type was at least that precise on development data."""
    if (threshold := lowest(curve, precision)) != NEVER:
        return threshold
    if not curve:
        raise UsageError(
            "BX001",
            f"cannot choose a threshold by precision for {name!r}: the bundle has no calibration for it",
            hint="use --threshold instead of --precision, or leave this type out with --types",
        )
    best = max(reached for _, reached in curve)
    raise UsageError(
        "BX001",
        f"{name!r} cannot reach a precision of {precision:g}: its best is {best:.3f}",
        hint="lower --precision, or leave this type out with --types",
    )


def of_sources(
    name: str, sources: Sequence[Source], curves: Mapping[Source, Curve], precision: float
) -> dict[Source, float]:
    """For a plain type that was not measured itself: the threshold of each source. One that is never so precise is left out."""
    known = [source for source in sources if curves.get(source)]
    best = max(known, key=lambda source: max(reached for _, reached in curves[source]), default=None)
    for_precision(name, curves[best] if best else (), precision)  # says so if no source is
    return {source: lowest(curves.get(source, ()), precision) for source in sources}


def must_be_known(noun: str, asked: Sequence[str], known: Sequence[str]) -> None:
    """An error, with the nearest name, unless all names are known."""
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise UsageError("BX001", f"unknown {noun} {unknown[0]!r}", hint=did_you_mean(unknown[0], known))


def must_be_share(what: str, value: object) -> None:
    """An error unless a value is a number from 0 to 1."""
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        shown = f"{value:g}" if isinstance(value, int | float) else repr(value)
        raise UsageError("BX001", f"{what} must be a number from 0 to 1, got {shown}")
