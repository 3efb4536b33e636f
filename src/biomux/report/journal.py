"""Read a run's journal: losses and development scores along the way, how long it took, how it ended.

A journal may be in the middle of being written, or cut short: lines that cannot be read are skipped and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class History:
    """The course of a run. Points are (step, value): losses by task, development scores by task in percent, and their mean; of pre-training, held-out perplexities."""

    losses: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    scores: Mapping[str, tuple[Point, ...]] = field(default_factory=dict)
    means: tuple[Point, ...] = ()
    step: int = 0
    steps: int = 0
    seconds: float = 0.0
    scoring_seconds: float = 0.0
    tokens: int = 0
    begun: int = 0
    state: str = "stopped"
    unread: int = 0
    perplexities: tuple[Point, ...] = ()


def history(events: Iterable[dict[str, Any] | None]) -> History:
    """Collect the history in one pass; an event that is None is a line that could not be read."""
    losses: dict[str, list[Point]] = {}
    scores: dict[str, list[Point]] = {}
    means: list[Point] = []
    perplexities: list[Point] = []
    last: dict[str, Any] = {}
    scoring = 0.0
    starts = unread = 0
    state = "stopped"
    for event in events:
        kind = None if event is None else event.get("event")
        try:
            if event is None:
                unread += 1
            elif kind == "step":
                last |= event
                state = "unfinished"
                for task, loss in event.get("losses", {}).items():
                    losses.setdefault(task, []).append((float(event["step"]), float(loss)))
            elif kind == "scores":
                step = float(last.get("step", 0))
                scoring += float(event.get("seconds", 0.0))
                means.append((step, float(event["mean"])))
                for task, value in (event.get("scores") or event.get("f1") or {}).items():
                    scores.setdefault(task, []).append((step, float(value)))
            elif kind == "perplexity":
                scoring += float(event.get("seconds", 0.0))
                perplexities.append((float(event["step"]), float(event["perplexity"])))
            elif kind == "end":
                last |= event
                state = "done"
            elif kind in ("failed", "stopped"):
                state = kind
            elif kind == "start":
                starts += 1
                state = "unfinished"
        except (KeyError, TypeError, ValueError, AttributeError):
            unread += 1
    return History(
        {task: tuple(points) for task, points in losses.items()},
        {task: tuple(points) for task, points in scores.items()},
        tuple(means),
        _whole(last.get("step")),
        _whole(last.get("total")),
        _number(last.get("seconds")),
        scoring,
        _whole(last.get("tokens")),
        starts,
        state,
        unread,
        tuple(perplexities),
    )


def thinned(points: Sequence[Point], *, most: int = 80) -> list[Point]:
    """At most `most` points: means of neighbours.

    >>> thinned([(1, 4.0), (2, 2.0), (3, 1.0), (4, 1.0)], most=2)
    [(1.5, 3.0), (3.5, 1.0)]
    """
    if len(points) <= most:
        return list(points)
    edges = [round(place * len(points) / most) for place in range(most + 1)]
    groups = [points[begin:end] for begin, end in pairwise(edges)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _whole(value: object) -> int:
    return int(_number(value))
