"""From what heads say to the types that users ask for.

Several heads may tag one plain type: three corpora have genes. `types.json` of a bundle says which, and by which rule their mentions become
one layer:

    {"gene": {"sources": [["bc2gm", "GENE"], ["jnlpba", "protein"]], "rule": "union"}}

    union      every head's mentions
    primary    those of the first head that is listed; the others are left out
    vote:k     mentions that at least k heads agree on to the character; the score is the k-th highest of theirs
    mean       mentions in the average of what the heads say about each word (`biomux.tasks.averaged`); "outside" (1 unless given) multiplies the
               probability of being outside of one: below 1, fewer heads have to agree

Within a plain type mentions do not overlap: of two that do, `flat` (in `overlaps`) keeps the better. Mentions of different types may overlap, unless
`one_layer` is asked to resolve them: scores of different types do not mean the same, so the types' standings decide. A type's "level" (0 unless given) says
that it gives way to types of lower levels; "threshold" is the score from which on its mentions are given out by default, null for a type that was never
right on development data and is given out only if it is asked for. All functions here are pure. A threshold has the same effect before a rule as after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.document import Span
from biomux.engine.overlaps import DIGITS, Curve, flat, in_order
from biomux.errors import BundleError
from biomux.tasks.averaged import of_heads
from biomux.tasks.tagging import Tagging
from biomux.tasks.word_spans import Mention

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from biomux.document import Range
    from biomux.tasks.averaged import Averaged
    from biomux.tasks.task import SpanTask
    from biomux.tasks.word_spans import Found

Source = tuple[str, str]
"""A head, and a type of that head."""

MEAN = "mean"
"""A rule, and in answers the head of what it finds."""
HIGHEST_LEVEL = 9
LARGEST_OUTSIDE = 100


@dataclass(frozen=True, slots=True)
class Merge:
    """How one plain type is made of heads' types. `least` is the k of "vote:k", 1 otherwise; `outside` belongs to "mean".

    `threshold` is that of calls which give none; None keeps the type out of them. `level` is the type's in one layer.
    """

    type: str
    sources: tuple[Source, ...]
    rule: str = "union"
    least: int = 1
    threshold: float | None = 0.0
    curve: Curve = ()
    level: int = 0
    outside: float = 1.0

    @property
    def used(self) -> tuple[Source, ...]:
        """The sources that the rule looks at; of "mean" the one tagger that averages them."""
        if self.rule == MEAN:
            return ((f"mean:{self.type}:{self.outside:g}", self.type),)
        if self.rule != "primary":
            return self.sources
        return tuple(source for source in self.sources if source[0] == self.sources[0][0])

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads that the rule looks at, each once."""
        return tuple(dict.fromkeys(head for head, _ in self.used))


def averaged(rule: Merge, tasks: Iterable[SpanTask]) -> Averaged:
    """The tagger of a rule "mean". Refused if the heads cannot be averaged: some read other parts of the text, or have learned transitions."""
    by_name = {task.name: task for task in tasks}
    heads = [(by_name[head], type_) for head, type_ in rule.sources]
    taggers = tuple((task, type_) for task, type_ in heads if type(task) is Tagging)
    if len(taggers) < len(heads) or len({(task.longest, task.by) for task, _ in taggers}) > 1:
        raise _wrong(
            f"type {rule.type!r} averages heads that cannot be averaged: they must be plain taggers that read the same parts"
        )
    return of_heads(rule.used[0][0], rule.type, taggers, outside=rule.outside)


def parse(table: Mapping[str, Any], known: Iterable[Source]) -> dict[str, Merge]:
    """The rules of a bundle's `types.json`, checked against the heads and types that the bundle has."""
    available = set(known)
    return {name: _parse_one(name, entry, available) for name, entry in table.items()}


def merge(spans: Iterable[Found], merges: Iterable[Merge]) -> list[Span]:
    """The heads' mentions as mentions of plain types, in order, with scores of DIGITS digits. Each keeps the head that was surest of it; that of an average is "mean".

    >>> from biomux.document import Span
    >>> said = [Span(0, 4, "GENE", score=0.7, head="bc2gm"), Span(0, 4, "protein", score=0.9, head="jnlpba")]
    >>> gene = Merge("gene", (("bc2gm", "GENE"), ("jnlpba", "protein")))
    >>> [(span.type, span.score, span.head) for span in merge(said, [gene])]
    [('gene', 0.9, 'jnlpba')]
    """
    by_source: dict[Source, list[Found]] = {}
    for span in spans:
        by_source.setdefault((span.head or "", span.type), []).append(span)
    merged: list[Span] = []
    for rule in merges:
        candidates = [span for source in rule.used for span in by_source.get(source, ())]
        if candidates:
            merged += flat(_agreed(candidates, rule))
    return in_order(merged)


def above(spans: Iterable[Span], thresholds: Mapping[str, float], *, default: float = 0.0) -> list[Span]:
    """The mentions whose score is at least their type's threshold. Those without a score stay."""
    return [span for span in spans if span.score is None or span.score >= thresholds.get(span.type, default)]


def rounded(spans: Iterable[Found]) -> list[Span]:
    """The mentions with scores of DIGITS digits."""
    return [_copy(span, span.type, _rounded(span.score), span.head) for span in spans]


def curve_of(value: object, where: str) -> Curve:
    """A calibration table as a bundle writes it: [[threshold, precision], ...] with rising thresholds."""
    try:
        curve = tuple((float(threshold), float(precision)) for threshold, precision in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise _wrong(f"the calibration of {where} is not a list of thresholds and precisions") from None
    if any(not 0 <= number <= 1 for pair in curve for number in pair) or list(curve) != sorted(curve):
        raise _wrong(f"the calibration of {where} does not rise from 0 to 1")
    return curve


def _copy(span: Found, type_: str, score: float | None, head: str | None) -> Span:
    """A mention with another type, score and head: `dataclasses.replace` takes six times as long, and this is for every mention of every head."""
    if isinstance(span, Mention):
        return Span(span.start, span.end, type_, score, head)
    return Span(span.start, span.end, type_, score, head, span.identifiers, span.fragments, span.id, span.extra)


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, DIGITS)


def _agreed(spans: Iterable[Found], rule: Merge) -> list[Span]:
    """Each place once: with its surest head, and the score at which enough heads agree."""
    places: dict[Range, dict[str, Found]] = {}
    for span in spans:
        votes = places.setdefault((span.start, span.end), {})
        head = span.head or ""
        if head not in votes or _doubt(span) < _doubt(votes[head]):
            votes[head] = span
    agreed = []
    for votes in places.values():
        if len(votes) >= rule.least:
            ranked = [*votes] if len(votes) == 1 else sorted(votes, key=lambda name: (_doubt(votes[name]), name))
            surest, last = votes[ranked[0]], votes[ranked[rule.least - 1]]
            named = MEAN if rule.rule == MEAN else surest.head
            agreed.append(_copy(surest, rule.type, _rounded(last.score), named))
    return agreed


def _doubt(span: Found) -> float:
    """Less for a surer mention; one without a score is as sure as can be."""
    return -1.0 if span.score is None else -round(span.score, DIGITS)


def _parse_one(name: str, entry: object, available: set[Source]) -> Merge:
    if not isinstance(entry, dict) or not isinstance(entry.get("sources"), list) or not entry["sources"]:
        raise _wrong(f"type {name!r} has no sources")
    sources = []
    for pair in entry["sources"]:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise _wrong(f"a source of type {name!r} is not a head and one of its types")
        if (pair[0], pair[1]) not in available:
            raise _wrong(f"type {name!r} needs {pair[1]!r} of head {pair[0]!r}, which the bundle does not have")
        sources.append((pair[0], pair[1]))
    rule = entry.get("rule", "union")
    least = 1
    if isinstance(rule, str) and rule.startswith("vote:") and rule[5:].isdecimal():
        least = int(rule[5:])
    elif rule not in ("union", "primary", MEAN):
        raise _wrong(f"type {name!r} has the rule {rule!r}, which is none of union, primary, vote:k, mean")
    if not 1 <= least <= len({head for head, _ in sources}):
        raise _wrong(f"type {name!r} wants {least} heads to agree and has {len({head for head, _ in sources})}")
    threshold = entry.get("threshold", 0.0)
    if threshold is not None and (not isinstance(threshold, int | float) or not 0 <= threshold <= 1):
        raise _wrong(f"the threshold of type {name!r} is neither a number from 0 to 1 nor null")
    level = entry.get("level", 0)
    if type(level) is not int or not 0 <= level <= HIGHEST_LEVEL:
        raise _wrong(f"the level of type {name!r} is not a whole number from 0 to {HIGHEST_LEVEL}")
    outside = entry.get("outside", 1.0)
    if isinstance(outside, bool) or not isinstance(outside, int | float) or not 0 < outside <= LARGEST_OUTSIDE:
        raise _wrong(f"'outside' of type {name!r} is not a number above 0, at most {LARGEST_OUTSIDE}")
    if "outside" in entry and rule != MEAN:
        raise _wrong(f"'outside' of type {name!r} belongs to the rule mean, and its rule is {rule!r}")
    curve = curve_of(entry.get("calibration", []), f"type {name!r}")
    limit = None if threshold is None else float(threshold)
    return Merge(name, tuple(sources), str(rule), least, limit, curve, level, float(outside))


def _wrong(message: str) -> BundleError:
    return BundleError("BX515", message, where="types.json", hint="export the bundle again")
