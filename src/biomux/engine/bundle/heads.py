"""heads.json, types.json and calibration.json of a bundle: what its columns mean. Checked to the last value.

heads.json     {"heads": [{"name", "types", "scheme", "kind", "columns": [begin, end], "temperature", "corpus", "longest", "thresholds"}…], "specials": {"pad", "before", "after"}, "limit"}
               "longest" is there where sentences of more words than that are split before they are read; "corpus" for `biomux evaluate`;
               "thresholds" {type: score, or null if never right} are those of calls which give none; bundles of Biomux 0.1.0 have none
types.json     {plain name: {"sources": [[head, type]…], "rule", "threshold", "calibration", "level"}}: see `biomux.engine.entity_types`
calibration.json {head: {type: [[score, precision]…]}}: the scores rise; the precision is that of development data from each on
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.engine import entity_types
from biomux.engine.bundle.strict_json import HINT, Fields, parse
from biomux.engine.packing import Specials, padded
from biomux.errors import BundleError
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.engine.bundle.onnx_check import GraphFacts
    from biomux.engine.entity_types import Curve, Merge

MOST_HEADS = 256
MOST_TYPES = 128
"""Types of one head."""
MOST_PLAIN_TYPES = 1024
MOST_WORDS = 1 << 20
"""Words of a sentence that is read as a whole."""
MOST_THRESHOLDS = 128
LONGEST_NAME = 128
SHORTEST_LIMIT, LONGEST_LIMIT = 8, 1 << 20
COLDEST, HOTTEST = 0.01, 100.0
"""Temperatures lie within these."""


@dataclass(frozen=True, slots=True)
class HeadTable:
    """What the columns of the graph mean, and how long its windows are."""

    tasks: tuple[Tagging, ...]
    columns: dict[str, tuple[int, int]]
    temperatures: dict[str, float]
    specials: Specials
    limit: int
    thresholds: dict[entity_types.Source, float | None]


def heads(content: bytes, facts: GraphFacts, *, where: str = "heads.json") -> HeadTable:
    """The table of heads, where it fits the graph."""
    table = Fields.of(parse(content, where), where=where, code="BX511")
    tasks, columns, temperatures = [], {}, {}
    thresholds: dict[entity_types.Source, float | None] = {}
    at = 0
    for index, value in enumerate(table.several("heads", most=MOST_HEADS)):
        head = Fields.of(value, where=f"{where} → heads → {index}", code="BX511")
        task = _task(head)
        if task.name in columns:
            head.refuse(f"two heads are called {task.name!r}")
        temperatures[task.name] = head.number("temperature", low=COLDEST, high=HOTTEST, code="BX513")
        if "thresholds" in head.values:
            thresholds |= _thresholds(head.object("thresholds"), task)
        stated = head.several("columns", most=2)
        if "corpus" in head.values:  # for `biomux evaluate`; the engine does without
            head.text("corpus", longest=LONGEST_NAME)
        head.end()
        if [type(edge) for edge in stated] != [int, int] or stated != [at, at + len(task.labels)]:
            head.refuse(
                f"the columns {str(stated)[:40]!r} are not {[at, at + len(task.labels)]}, as its labels ask",
                code="BX512",
            )
        columns[task.name] = (at, at + len(task.labels))
        at += len(task.labels)
        tasks.append(task)
    if not tasks:
        table.refuse("there are no heads")
    if at != facts.labels:
        table.refuse(f"the heads have {at} labels and the graph {facts.labels} columns", code="BX512")
    specials = _specials(table.object("specials"), facts)
    limit = table.whole("limit", low=SHORTEST_LIMIT, high=LONGEST_LIMIT)
    table.end()
    if padded(limit + 2) > facts.positions:
        table.refuse(f"windows of {limit} tokens do not fit the encoder's {facts.positions} positions", code="BX514")
    return HeadTable(tuple(tasks), columns, temperatures, specials, limit, thresholds)


def _task(head: Fields) -> Tagging:
    name = head.text("name", longest=LONGEST_NAME)
    own = head.several("types", most=MOST_TYPES)
    for type_ in own:
        if not isinstance(type_, str) or not type_ or len(type_) > LONGEST_NAME or not type_.isprintable():
            head.refuse("a type is no plain text")
    if not own or len(set(own)) != len(own):
        head.refuse("there are no types, or one stands twice")
    scheme, kind = head.text("scheme", longest=16), head.text("kind", longest=16)
    if scheme not in ("bio", "bioes") or kind != "tagging":
        head.refuse(f"heads of kind {kind!r} and scheme {scheme!r} are not known to this version")
    longest = head.whole("longest", low=1, high=MOST_WORDS) if "longest" in head.values else None
    return Tagging(name, tuple(own), "bio" if scheme == "bio" else "bioes", longest=longest)


def _thresholds(fields: Fields, task: Tagging) -> dict[entity_types.Source, float | None]:
    found = fields.entries(most=MOST_TYPES, longest=LONGEST_NAME)
    for type_, score in found:
        if type_ not in task.types:
            fields.refuse(f"the head has no type {type_!r}")
        if score is not None:
            fields.number(type_, low=0, high=1, code="BX513")
    return {(task.name, type_): None if score is None else float(score) for type_, score in found}


def _specials(fields: Fields, facts: GraphFacts) -> Specials:
    values = [fields.whole(name, low=0, high=1 << 31) for name in ("pad", "before", "after")]
    fields.end()
    if max(values) >= facts.vocabulary:
        fields.refuse(f"a special token lies outside the {facts.vocabulary} of the encoder", code="BX518")
    return Specials(*values)


def plain_types(content: bytes, tasks: Sequence[Tagging], *, where: str = "types.json") -> dict[str, Merge]:
    """Plain name → how it is made of heads' types; what the parts mean stands in `biomux.engine.entity_types`."""
    whole = Fields.of(parse(content, where), where=where, code="BX515")
    for plain, value in whole.entries(most=MOST_PLAIN_TYPES, longest=LONGEST_NAME):
        entry = Fields.of(value, where=f"{where} → {plain}", code="BX515")
        entry.several("sources", most=MOST_HEADS * 8)
        if "rule" in entry.values:
            entry.text("rule", longest=16)
        if "threshold" in entry.values:
            entry.number_or_none("threshold", low=0, high=1)
        if "level" in entry.values:
            entry.whole("level", low=0, high=entity_types.HIGHEST_LEVEL)
        if "calibration" in entry.values:
            _curve(entry.several("calibration", most=MOST_THRESHOLDS), entry.where)
        entry.end()
    return entity_types.parse(whole.values, [(task.name, type_) for task in tasks for type_ in task.types])


def calibration(
    content: bytes, tasks: Sequence[Tagging], *, where: str = "calibration.json"
) -> dict[tuple[str, str], Curve]:
    """Head and type → thresholds, rising, with the precision from each on."""
    known = {task.name: set(task.types) for task in tasks}
    found: dict[tuple[str, str], Curve] = {}
    whole = Fields.of(parse(content, where), where=where, code="BX513")
    for head, value in whole.entries(most=MOST_HEADS, longest=LONGEST_NAME):
        fields = Fields.of(value, where=f"{where} → {head}", code="BX513")
        if head not in known or not set(fields.values) <= known[head]:
            fields.refuse("the bundle has no such head, or the head no such type")
        for type_ in fields.values:
            found[head, type_] = _curve(fields.several(type_, most=MOST_THRESHOLDS), fields.where)
    return found


def _curve(rows: list[Any], where: str) -> Curve:
    for row in rows:
        if not isinstance(row, list) or len(row) != 2 or any(type(one) not in (int, float) for one in row):
            raise BundleError("BX513", "a threshold must be a score with a precision", where=where, hint=HINT)
        if not all(0 <= one <= 1 for one in row):
            raise BundleError("BX513", "thresholds and precisions must lie between 0 and 1", where=where, hint=HINT)
    if rows != sorted(rows):
        raise BundleError("BX513", "thresholds must be in rising order", where=where, hint=HINT)
    return tuple((float(score), float(precision)) for score, precision in rows)
