"""heads.json, types.json and calibration.json of a bundle: what its columns mean. Checked to the last value.

heads.json     {"version": 2, "heads": [{"name", "kind", "settings", "output", "columns": [begin, end], "temperature", "corpus", "thresholds"}…], "specials": {"pad", "before", "after"}, "limit"}
               "settings" are the task's own fields; "output" names where in the graphs its columns stand; "corpus" is for `biomux evaluate`;
               "thresholds" {type or label: score, or null if never right} are those of calls which give none.
               Version 1 (Biomux 0.1.0, no "version") has taggers only, with "types", "scheme" and "longest" in place of settings, all in one output
types.json     {plain name: {"sources": [[head, type]…], "rule", "threshold", "calibration", "level"}}: see `biomux.engine.type_merging`
calibration.json {head: {type or label: [[score, precision]…]}}: the scores rise; the precision is that of development data from each on
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux.engine import type_merging
from biomux.engine.bundle import task_settings
from biomux.engine.bundle.strict_json import HINT, Fields, parse
from biomux.engine.graph_session import Place
from biomux.engine.packing import Specials, padded
from biomux.errors import BundleError
from biomux.tasks.tagging import Tagging
from biomux.tasks.task import finds_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.engine.bundle.onnx_check import GraphFacts, PairFacts
    from biomux.engine.overlaps import Curve
    from biomux.engine.type_merging import Merge
    from biomux.tasks.task import SpanTask, Task

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


VERSION = 2
UNITS = {
    "logits": "word",
    "answers": "answer",
    "windows": "window",
    "pooled": "window",
    "tokens.logits": "token",
}
"""Output of the encoder's graph → what its heads speak about; heads of pairs have outputs of their own."""


@dataclass(frozen=True, slots=True)
class HeadTable:
    """What the columns of the graphs mean, and how long their windows are."""

    tasks: tuple[Task, ...]
    places: dict[str, Place]
    temperatures: dict[str, float]
    specials: Specials
    limit: int
    thresholds: dict[type_merging.Source, float | None]

    @property
    def taggers(self) -> tuple[SpanTask, ...]:
        """The tasks that find entities."""
        return tuple(task for task in self.tasks if finds_spans(task))


def heads(content: bytes, facts: GraphFacts, pairs: PairFacts | None = None, *, where: str = "heads.json") -> HeadTable:
    """The table of heads, where it fits the graphs."""
    table = Fields.of(parse(content, where), where=where, code="BX511")
    version = table.whole("version", low=VERSION, high=VERSION) if "version" in table.values else 1
    tasks: list[Task] = []
    places: dict[str, Place] = {}
    temperatures: dict[str, float] = {}
    thresholds: dict[type_merging.Source, float | None] = {}
    for index, value in enumerate(table.several("heads", most=MOST_HEADS)):
        head = Fields.of(value, where=f"{where} → heads → {index}", code="BX511")
        task = _first_version(head) if version == 1 else _task(head)
        if task.name in places:
            head.refuse(f"two heads are called {task.name!r}")
        temperatures[task.name] = head.number("temperature", low=COLDEST, high=HOTTEST, code="BX513")
        if "thresholds" in head.values:
            thresholds |= _thresholds(head.object("thresholds"), task)
        places[task.name] = _place(head, task, "logits" if version == 1 else head.text("output", longest=32))
        if "corpus" in head.values:  # for `biomux evaluate`; the engine does without
            head.text("corpus", longest=LONGEST_NAME)
        head.end()
        tasks.append(task)
    if not tasks:
        table.refuse("there are no heads")
    _fit(table, places, facts, pairs)
    specials = _specials(table.object("specials"), facts)
    limit = table.whole("limit", low=SHORTEST_LIMIT, high=LONGEST_LIMIT)
    table.end()
    if facts.positions is not None and padded(limit + 2) > facts.positions:
        table.refuse(f"windows of {limit} tokens do not fit the encoder's {facts.positions} positions", code="BX514")
    return HeadTable(tuple(tasks), places, temperatures, specials, limit, thresholds)


def entry(
    task: Task,
    place: Place,
    *,
    temperature: float,
    corpus: str,
    thresholds: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """What the table says of a head; of a tagger only what it needs to decode."""
    settings = task_settings.to_json(task)
    if isinstance(task, Tagging):
        longest = {} if task.longest is None else {"longest": task.longest}
        by = {} if task.by == "sentence" else {"by": task.by}
        settings = {"types": list(task.types), "scheme": task.scheme, **longest, **by}
    return {
        "name": task.name,
        "kind": task.kind,
        "settings": settings,
        "output": place.output,
        "columns": [place.begin, place.end],
        "temperature": temperature,
        "corpus": corpus,
        **({} if thresholds is None else {"thresholds": dict(thresholds)}),
    }


def upgraded(table: dict[str, Any]) -> dict[str, Any]:
    """A table of the first version, which has been read without fault, as one of today's."""
    if "version" in table:
        return table
    settings = ("types", "scheme", "longest")
    heads = [
        {
            **{key: value for key, value in head.items() if key not in settings},
            "settings": {key: head[key] for key in settings if key in head},
            "output": "logits",
        }
        for head in table["heads"]
    ]
    return {"version": VERSION, **table, "heads": heads}


def names(task: Task) -> tuple[str, ...]:
    """What a task's answers are called: types of entities or relations, classes. A number has no name, nor has an answer."""
    if task.unit == "answer" or len(task.labels) < 2:
        return ()
    types: tuple[str, ...] = getattr(task, "types", None) or task.labels
    return types


def _place(head: Fields, task: Task, output: str) -> Place:
    stated = head.several("columns", most=2)
    size = len(task.labels)
    unit = "pair" if output.startswith("pairs.") else UNITS.get(output)
    if unit != task.unit:
        head.refuse(f"a head that speaks about a {task.unit} has no columns in {output[:40]!r}", code="BX512")
    if [type(edge) for edge in stated] != [int, int] or stated[0] < 0 or stated[1] - stated[0] != size:
        head.refuse(f"the columns {str(stated)[:40]!r} are not {size}, as its labels ask", code="BX512")
    return Place(output, stated[0], stated[1])


def _fit(table: Fields, places: Mapping[str, Place], facts: GraphFacts, pairs: PairFacts | None) -> None:
    """The heads' columns stand side by side, as many as each output has; every output is a head's."""
    known = {name: size for name, size in facts.outputs.items() if name != "states"}
    known |= {} if pairs is None else pairs.outputs
    by_output: dict[str, list[Place]] = {name: [] for name in known}
    for place in places.values():
        if place.output not in known:
            table.refuse(f"the graphs have no output {place.output[:40]!r}", code="BX512")
        by_output[place.output].append(place)
    for name, columns in by_output.items():
        at = 0
        for place in sorted(columns, key=lambda place: place.begin):
            if place.begin != at:
                table.refuse(f"the columns of {name!r} do not stand side by side", code="BX512")
            at = place.end
        if at != known[name]:
            table.refuse(f"the heads have {at} labels and {name!r} {known[name]} columns", code="BX512")
    states = facts.outputs.get("states")
    if states != (None if pairs is None else pairs.states):
        table.refuse("the graph of pairs does not read the states that the encoder's graph gives", code="BX512")


def _first_version(head: Fields) -> Tagging:
    name = head.text("name", longest=LONGEST_NAME)
    scheme, kind = head.text("scheme", longest=16), head.text("kind", longest=16)
    if kind != "tagging":
        head.refuse(f"heads of kind {kind!r} are not known to this version")
    return _tagging(head, name, scheme)


def _task(head: Fields) -> Task:
    name, kind = head.text("name", longest=LONGEST_NAME), head.text("kind", longest=LONGEST_NAME)
    settings = head.object("settings")
    if kind == "tagging":
        task = _tagging(settings, name, settings.text("scheme", longest=16))
        settings.end()
        return task
    return task_settings.restored(settings, name, kind)


def _tagging(fields: Fields, name: str, scheme: str) -> Tagging:
    types = fields.several("types", most=MOST_TYPES)
    for type_ in types:
        if not isinstance(type_, str) or not type_ or len(type_) > LONGEST_NAME or not type_.isprintable():
            fields.refuse("a type is no plain text")
    if not types or len(set(types)) != len(types):
        fields.refuse("there are no types, or one stands twice")
    if scheme not in ("bio", "bioes"):
        fields.refuse(f"the scheme {scheme!r} is not known to this version")
    longest = fields.whole("longest", low=1, high=MOST_WORDS) if "longest" in fields.values else None
    by = fields.text("by", longest=16) if "by" in fields.values else "sentence"
    if by not in ("sentence", "passage"):
        fields.refuse(f"reading by {by!r} is not known to this version")
    return Tagging(
        name,
        tuple(types),
        "bio" if scheme == "bio" else "bioes",
        longest=longest,
        by="passage" if by == "passage" else "sentence",
    )


def _thresholds(fields: Fields, task: Task) -> dict[type_merging.Source, float | None]:
    entries = fields.entries(most=MOST_TYPES, longest=LONGEST_NAME)
    for name, score in entries:
        if name not in names(task):
            fields.refuse(f"the head has no type {name!r}")
        if score is not None:
            fields.number(name, low=0, high=1, code="BX513")
    return {(task.name, name): None if score is None else float(score) for name, score in entries}


def _specials(fields: Fields, facts: GraphFacts) -> Specials:
    values = [fields.whole(name, low=0, high=1 << 31) for name in ("pad", "before", "after")]
    if facts.width is not None:
        if values != [0, 1, 2]:
            fields.refuse("the special tokens of a word-level encoder are not 0, 1 and 2", code="BX515")
        fields.end()
        return Specials(*values)
    fields.end()
    if max(values) >= facts.vocabulary:
        fields.refuse(f"a special token lies outside the {facts.vocabulary} of the encoder", code="BX518")
    return Specials(*values)


def plain_types(content: bytes, tasks: Sequence[SpanTask], *, where: str = "types.json") -> dict[str, Merge]:
    """Plain name → how it is made of heads' types; what the parts mean stands in `biomux.engine.type_merging`."""
    whole = Fields.of(parse(content, where), where=where, code="BX515")
    for plain, value in whole.entries(most=MOST_PLAIN_TYPES, longest=LONGEST_NAME):
        entry = Fields.of(value, where=f"{where} → {plain}", code="BX515")
        entry.several("sources", most=MOST_HEADS * 8)
        if "rule" in entry.values:
            entry.text("rule", longest=16)
        if "threshold" in entry.values:
            entry.number_or_none("threshold", low=0, high=1)
        if "outside" in entry.values:
            entry.number("outside", low=0, high=type_merging.LARGEST_OUTSIDE)
        if "level" in entry.values:
            entry.whole("level", low=0, high=type_merging.HIGHEST_LEVEL)
        if "calibration" in entry.values:
            _curve(entry.several("calibration", most=MOST_THRESHOLDS), entry.where)
        entry.end()
    merges = type_merging.parse(whole.values, [(task.name, type_) for task in tasks for type_ in task.types])
    for rule in merges.values():
        if rule.rule == type_merging.MEAN:
            type_merging.averaged(rule, tasks)
    return merges


def calibration(
    content: bytes, tasks: Sequence[Task], *, where: str = "calibration.json"
) -> dict[tuple[str, str], Curve]:
    """Head and type (or label) → thresholds, rising, with the precision from each on."""
    known = {task.name: set(names(task)) for task in tasks}
    curves: dict[tuple[str, str], Curve] = {}
    whole = Fields.of(parse(content, where), where=where, code="BX513")
    for head, value in whole.entries(most=MOST_HEADS, longest=LONGEST_NAME):
        fields = Fields.of(value, where=f"{where} → {head}", code="BX513")
        if head not in known or not set(fields.values) <= known[head]:
            fields.refuse("the bundle has no such head, or the head no such type")
        for type_ in fields.values:
            curves[head, type_] = _curve(fields.several(type_, most=MOST_THRESHOLDS), fields.where)
    return curves


def _curve(rows: list[Any], where: str) -> Curve:
    for row in rows:
        if not isinstance(row, list) or len(row) != 2 or any(type(number) not in (int, float) for number in row):
            raise BundleError("BX513", "a threshold must be a score with a precision", where=where, hint=HINT)
        if not all(0 <= number <= 1 for number in row):
            raise BundleError("BX513", "thresholds and precisions must lie between 0 and 1", where=where, hint=HINT)
    if rows != sorted(rows):
        raise BundleError("BX513", "thresholds must be in rising order", where=where, hint=HINT)
    return tuple((float(score), float(precision)) for score, precision in rows)
