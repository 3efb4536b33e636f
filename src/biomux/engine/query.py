"""What a call asks for (`Query`), and what that means for one bundle (`ResolvedQuery`): heads to read, how to merge their entities, which to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.engine import consistency, overlaps
from biomux.engine import type_merging as plain
from biomux.engine.overlaps import Standing
from biomux.engine.thresholds import (
    default_floors,
    for_precision,
    is_everything,
    must_be_known,
    must_be_share,
    of_sources,
    of_types,
)
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from biomux.document import Range, Span
    from biomux.engine.asked_tasks import AskedTasks
    from biomux.engine.overlaps import Curve
    from biomux.engine.type_merging import Merge, Source
    from biomux.tasks.task import SpanTask
    from biomux.tasks.word_spans import Found

UNKNOWN = Standing()


@dataclass(frozen=True, slots=True)
class Query:
    """What a call asks for, whatever the bundle; `Annotator.annotate` says what each option does.

    Names and thresholds become tuples, so that equal queries compare equal and travel between processes. A single threshold becomes that of "*", which stands for all types that are not named.

    >>> Query(types="gene", threshold=0.5) == Query(types=["gene"], threshold={"*": 0.5})
    True
    """

    types: Sequence[str] | None = None
    heads: Sequence[str] | None = None
    threshold: float | Mapping[str, float] | tuple[tuple[str, float], ...] | None = None
    precision: float | None = None
    resolve: bool = False
    abbreviations: bool = False
    consistent: bool | None = None
    tasks: Sequence[str] | None = None
    keep_entities: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tasks", _names("tasks", self.tasks))
        object.__setattr__(self, "types", _names("types", self.types))
        object.__setattr__(self, "heads", _names("heads", self.heads))
        object.__setattr__(self, "threshold", _pairs(self.threshold))

    @property
    def thresholds(self) -> dict[str, float] | None:
        """The threshold of each type that is named, and of all others under "*"."""
        return None if self.threshold is None else dict(self.threshold)  # type: ignore[arg-type]  # pairs, since __post_init__

    def to_json(self) -> dict[str, Any]:
        """As JSON values: queries that ask for the same give the same value."""
        return {
            "types": None if self.types is None else sorted(self.types),
            "heads": None if self.heads is None else sorted(self.heads),
            "threshold": None if self.thresholds is None else dict(sorted(self.thresholds.items())),
            "precision": self.precision,
            "resolve": self.resolve,
            "abbreviations": self.abbreviations,
            "consistent": self.consistent,
            **({} if self.tasks is None else {"tasks": sorted(self.tasks)}),
            **({"keep-entities": True} if self.keep_entities else {}),
        }


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """The heads to decode (`tasks`), the plain types to make of them (`merges`; None: the heads' own), and what is kept.

    `floors` are thresholds of heads' types, before merging; `thresholds` those of the types that are given out. `left_out` are types
    that are never as precise as is asked for. `standings` of plain types, or of heads' own, say which of two that overlap stays in one layer.
    `consistent`: names are voted on. `abbreviations`: a long form's types are carried to its short form. `asked` is what else is found.
    """

    tasks: tuple[SpanTask, ...]
    merges: tuple[Merge, ...] | None
    types: frozenset[str]
    thresholds: Mapping[str, float]
    default: float
    resolve: bool
    floors: Mapping[Source, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    standings: Mapping[Source, Standing] = field(default_factory=dict)
    consistent: bool = False
    abbreviations: bool = False
    asked: AskedTasks | None = None

    def merged(self, spans: Iterable[Found], *, text: str, read: Sequence[Range]) -> list[Span]:
        """What the heads said about a text, as the types that were asked for, above their thresholds."""
        if self.merges is None:
            entities = plain.rounded(spans)
        else:
            entities = plain.merge(self._above_floors(plain.rounded(spans)) if self.floors else spans, self.merges)
        entities = [span for span in entities if span.type in self.types]
        if self.consistent:
            entities = consistency.agreed(text, read, entities, self._threshold, by_head=self.merges is None)
        if self.merges is None:
            entities = self._above_floors(entities)
        return overlaps.in_order(plain.above(entities, self.thresholds, default=self.default))

    def _above_floors(self, spans: list[Span]) -> list[Span]:
        if not self.floors:
            return spans
        return [span for span in spans if (span.score or 0.0) >= self.floors.get((span.head or "", span.type), 0.0)]

    def _threshold(self, source: Source) -> float:
        return max(self.floors.get(source, 0.0), self.thresholds.get(source[1], self.default))

    def final(self, spans: Iterable[Span]) -> list[Span]:
        """The layers as they are given out: as they stand, or resolved to one."""
        return overlaps.one_layer(spans, self._standing) if self.resolve else overlaps.in_order(spans)

    def _standing(self, span: Span) -> Standing:
        return self.standings.get(("" if self.merges is not None else span.head or "", span.type), UNKNOWN)


def resolved(
    query: Query,
    tasks: Sequence[SpanTask],
    merges: Mapping[str, Merge] | None,
    curves: Mapping[Source, Curve],
    *,
    defaults: Mapping[Source, float | None] | None = None,
) -> ResolvedQuery:
    """Check what is asked for against what the bundle has. `defaults` are the thresholds of heads' types, None of those that were never right.

    A type that is asked for by name and is never as precise as `precision` is an error; where all types are asked for it is left out. So are types
    that were never right on development data, unless they are named or a threshold of 0 asks for everything. Names are made `consistent` unless
    heads are asked for what they say themselves, for everything, or for a precision, which was measured without.
    """
    types, heads, threshold, precision = query.types, query.heads, query.thresholds, query.precision
    if heads is not None:
        must_be_known("head", heads, [task.name for task in tasks])
    if threshold is not None and precision is not None:
        raise UsageError("BX001", "cannot use both a threshold and a precision", hint="give one of them")
    asked = _asked_for(types, threshold)
    everything = precision is not None or is_everything(threshold)
    voted = (bool(merges) and heads is None and not everything) if query.consistent is None else query.consistent
    floors: dict[Source, float] = {}
    if merges and heads is None:
        must_be_known("type", asked, list(merges))
        rules = tuple(
            rule
            for name, rule in merges.items()
            if (name in types if types is not None else everything or rule.threshold is not None or name in asked)
        )
        used = {head for rule in rules for head in rule.heads}
        averages = (plain.averaged(rule, tasks) for rule in rules if rule.rule == plain.MEAN)
        read = (*(task for task in tasks if task.name in used), *averages)
        type_thresholds = {rule.type: rule.threshold or 0.0 for rule in rules}
        points = {rule.type: rule.curve for rule in rules}
        names = frozenset(type_thresholds)
        standings = {
            ("", name): Standing(rule.level, rule.curve, place) for place, (name, rule) in enumerate(merges.items())
        }
    else:
        rules = None
        read = tuple(task for task in tasks if heads is None or task.name in heads)
        known = list(dict.fromkeys(name for task in read for name in task.types))
        must_be_known("type", types or (), known)
        names = frozenset(known if types is None else types)
        type_thresholds = {}
        points = _alone(read, curves, names)
        standings = {source: Standing(0, curve) for source, curve in curves.items()}
        if precision is None:
            floors = default_floors(defaults or {}, threshold, asked, everything=everything)
    limits, default = of_types(threshold, type_thresholds, names)
    if precision is None:
        return ResolvedQuery(
            read, rules, names, limits, default, query.resolve, floors, (), standings, voted, query.abbreviations
        )
    must_be_share("precision", precision)
    behind = {rule.type: rule.used for rule in rules or () if not rule.curve}
    limits, refused = {}, {}
    for name in sorted(names):
        try:
            if name in behind:
                floors |= of_sources(name, behind[name], curves, precision)
            else:
                limits[name] = for_precision(name, points.get(name, ()), precision)
        except UsageError as error:
            refused[name] = error
    if refused and (types is not None or len(refused) == len(names)):
        raise next(iter(refused.values()))
    precise_rules = None if rules is None else tuple(rule for rule in rules if rule.type not in refused)
    left_out = tuple(refused)
    names -= set(refused)
    return ResolvedQuery(
        read,
        precise_rules,
        names,
        limits,
        default,
        query.resolve,
        floors,
        left_out,
        standings,
        voted,
        query.abbreviations,
    )


def _names(option: str, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names that are asked for. A lone name is one, not its letters; none at all are no question."""
    if isinstance(names, str):
        return (names,)
    if names is not None and not names:
        raise UsageError(
            "BX001",
            f"{option} must name at least one {option.removesuffix('s')}",
            hint=f"leave it out for all {option}",
        )
    return None if names is None else tuple(names)


def _pairs(
    threshold: float | Mapping[str, float] | tuple[tuple[str, float], ...] | None,
) -> tuple[tuple[str, float], ...] | None:
    if threshold is None:
        return None
    if isinstance(threshold, Mapping):
        return tuple(threshold.items())
    if isinstance(threshold, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in threshold):
        return threshold
    return (("*", threshold),)  # type: ignore[return-value]  # checked when the query is resolved


def _asked_for(types: Sequence[str] | None, threshold: Mapping[str, float] | None) -> tuple[str, ...]:
    """The types that a call names."""
    return tuple(types) if types is not None else tuple(name for name in threshold or () if name != "*")


def _alone(tasks: Sequence[SpanTask], curves: Mapping[Source, Curve], names: Iterable[str]) -> dict[str, Curve]:
    """The calibration of each type where several heads may have a type of that name: usable if one head alone has it."""
    owners = {name: [task.name for task in tasks if name in task.types] for name in names}
    return {name: curves.get((heads[0], name), ()) for name, heads in owners.items() if len(heads) == 1}
