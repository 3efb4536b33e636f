"""Which tasks a query asks a model for, and which of the heads' answers are given out.

Users name what they want, and not heads' kinds of tasks:

| name | what is found | heads |
|---|---|---|
| entities | spans | taggers |
| relations | links between spans | relations |
| classes | labels of a document or its sentences | classification of these |
| pairs | labels of a text and its pair | classification of pairs, similarity |
| questions | answers to the document's questions | answers |

A task that another package brings goes by its own kind. What needs a second text (a pair, a question) is asked for by name only; what serves training alone never.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from biomux.document import Label, Relation
from biomux.engine import overlaps
from biomux.engine.thresholds import NEVER, default_floors, is_everything, lowest, must_be_share
from biomux.errors import AnnotateError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from biomux.document import Answer, Document, Question
    from biomux.engine.overlaps import Curve
    from biomux.engine.query import Query
    from biomux.engine.type_merging import Source
    from biomux.tasks.task import Task

ENTITIES, RELATIONS, CLASSES, PAIRS, QUESTIONS = "entities", "relations", "classes", "pairs", "questions"

_GROUPS: dict[str, str] = {
    "relation": RELATIONS,
    "classification": CLASSES,
    "similarity": PAIRS,
    "answers": QUESTIONS,
}
_Said = TypeVar("_Said", Relation, Label)


@dataclass(frozen=True, slots=True)
class AskedTasks:
    """What a call asks for: whether entities are found (else documents keep their own), and the other heads.

    `thresholds` are those of relation types and classes by name, `default` that of all others, `floors` the model's own by head. `left_out` are relation types and classes that
    are never as precise as is asked for.
    """

    entities: bool = True
    others: tuple[Task, ...] = ()
    thresholds: Mapping[str, float] | None = None
    default: float = 0.0
    floors: Mapping[Source, float] | None = None
    left_out: tuple[str, ...] = ()

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the heads that do not tag."""
        return tuple(task.name for task in self.others)

    @property
    def reads_pairs(self) -> bool:
        """Whether a head reads a second text."""
        return any(group_of(task) == PAIRS for task in self.others)

    def must_fit(self, document: Document) -> None:
        """An error if a document lacks the second text that a head needs."""
        for task in self.others:
            group = group_of(task)
            if group == PAIRS and document.pair is None:
                raise AnnotateError(
                    "BX611",
                    f"there is no second text for head {task.name!r}",
                    where=f"document {document.id!r}",
                    hint="give pairs of texts; --text and --pair name their columns",
                )
            if group == QUESTIONS and not document.questions:
                raise AnnotateError(
                    "BX612",
                    f"there is no question for head {task.name!r}",
                    where=f"document {document.id!r}",
                    hint='ask one with `biomux ask "…?" FILE`, or give documents with questions',
                )

    def bare(self, document: Document) -> Document:
        """The document without what these heads said of it before."""
        heads = set(self.heads)
        return replace(
            document,
            relations=tuple(relation for relation in document.relations if relation.head not in heads),
            labels=tuple(label for label in document.labels if label.head not in heads),
            questions=tuple(
                _answered(question, (a for a in question.answers if a.head not in heads))
                for question in document.questions
            ),
        )

    def kept(self, document: Document) -> Document:
        """The document with those answers that reach their thresholds, their scores rounded as entities' are."""
        return replace(
            document,
            relations=tuple(self._kept((relation, relation.type) for relation in document.relations)),
            labels=tuple(self._kept((label, label.name) for label in document.labels)),
            questions=tuple(_answered(question, self._kept_answers(question)) for question in document.questions),
        )

    def _kept(self, answers: Iterable[tuple[_Said, str]]) -> list[_Said]:
        heads = set(self.heads)
        chosen = []
        for answer, name in answers:
            if answer.head not in heads:
                chosen.append(answer)
            elif answer.score is None or round(answer.score, overlaps.DIGITS) >= self._threshold(
                answer.head or "", name
            ):
                chosen.append(_rounded(answer))
        return chosen

    def _kept_answers(self, question: Question) -> Iterable[Answer]:
        heads = set(self.heads)
        for answer in question.answers:
            score = answer.score or 0.0
            if answer.head not in heads:
                yield answer
            elif round(score, overlaps.DIGITS) >= self._threshold(answer.head or "", ""):
                yield replace(answer, score=round(score, overlaps.DIGITS))

    def _threshold(self, head: str, name: str) -> float:
        return max((self.floors or {}).get((head, name), 0.0), (self.thresholds or {}).get(name, self.default))


def group_of(task: Task) -> str | None:
    """What users call what a task finds; None if it serves training alone."""
    if getattr(task, "for_training", False):
        return None
    return PAIRS if getattr(task, "of", None) == "pair" else _GROUPS.get(task.kind, task.kind)


def groups(asking: Sequence[Task], *, tags: bool) -> dict[str, tuple[str, ...]]:
    """What can be asked for, each with its heads: entities first, if the model tags."""
    by_group: dict[str, tuple[str, ...]] = {ENTITIES: ()} if tags else {}
    for task in asking:
        group = group_of(task)
        if group is not None:
            by_group[group] = (*by_group.get(group, ()), task.name)
    return by_group


def of_group(group: str, heads: Sequence[str] | str | None) -> tuple[str, ...]:
    """The names of tasks that ask a group's heads: all, or those named, each of which must be of the group.

    >>> of_group("pairs", None), of_group("pairs", ["biosses"])
    (('pairs',), ('pairs:biosses',))
    """
    named = (heads,) if isinstance(heads, str) else heads
    return (group,) if not named else tuple(f"{group}:{head}" for head in named)


def finds_entities(query: Query) -> bool:
    """Whether a query may find entities, whatever the model.

    >>> from biomux.engine.query import Query
    >>> finds_entities(Query()), finds_entities(Query(tasks=["classes", "pairs:biosses"]))
    (True, False)
    """
    others = (CLASSES, PAIRS, QUESTIONS)
    return query.tasks is None or any(name.partition(":")[0] not in others for name in query.tasks)


def describe(asking: Sequence[Task], types: Sequence[str]) -> str:
    """What a model finds, in words, for the error that it lacks something else.

    >>> describe((), ("gene", "chemical"))
    'entities (gene, chemical)'
    """
    parts = [
        f"{group} ({_listed(types if group == ENTITIES else heads)})"
        for group, heads in groups(asking, tags=bool(types)).items()
    ]
    return ", ".join(parts) or "nothing that can be asked for"


def resolved(
    query: Query,
    asking: Sequence[Task],
    *,
    types: Sequence[str],
    own: Sequence[str],
    curves: Mapping[Source, Curve],
    defaults: Mapping[Source, float | None] | None = None,
) -> tuple[AskedTasks, Query]:
    """What a query asks of a model, and the query that is left for its taggers.

    `types` are the entity types that the model finds (none if it does not tag), `own` those of the taggers themselves: a threshold may be given for either.
    """
    entities, others = _chosen(query, asking, types)
    if not entities and (query.types is not None or query.heads is not None):
        name = "types" if query.types is not None else "heads"
        raise UsageError(
            "BX001",
            f"cannot use {name} without finding entities",
            hint=f"leave {name} out, or add entities to the tasks",
        )
    if query.keep_entities and not others:
        raise UsageError(
            "BX001",
            "with the input's own entities kept there is nothing to find: nothing but entities was asked for",
            hint="leave keep_entities out, or use a model with a head for relations or classes",
        )
    thresholds_asked = query.thresholds
    names = {name for task in others for name in names_of(task)}
    spans = tuple(dict.fromkeys((*types, *own))) if entities else ()
    _must_be_known(thresholds_asked, names, spans)
    thresholds = {name: value for name, value in (thresholds_asked or {}).items() if name in names}
    floors, left_out = _by_precision(query.precision, others, curves)
    if query.precision is None:
        wanted = {task.name for task in others}
        mine = {source: score for source, score in (defaults or {}).items() if source[0] in wanted}
        floors = default_floors(mine, thresholds_asked, tuple(thresholds), everything=is_everything(thresholds_asked))
    asked = AskedTasks(entities, others, thresholds, (thresholds_asked or {}).get("*", 0.0), floors, left_out)
    rest = {name: value for name, value in (thresholds_asked or {}).items() if name == "*" or name in spans}
    return asked, replace(query, threshold=rest or None)


def names_of(task: Task) -> tuple[str, ...]:
    """The relation types or classes that a task gives out, for which a threshold may be given: not that there is none."""
    group = group_of(task)
    if group == QUESTIONS or task.objective == "mean-squared-error":
        return ()
    return task.labels[1:] if group == RELATIONS else task.labels


def _chosen(query: Query, asking: Sequence[Task], types: Sequence[str]) -> tuple[bool, tuple[Task, ...]]:
    """Whether entities are found, and the other heads: those that are named, or all that need no second text."""
    tags = bool(types)
    known = groups(asking, tags=tags)
    wanted: Sequence[str]
    if query.tasks is not None:
        wanted = query.tasks
    elif query.heads is not None:
        wanted = (ENTITIES,)
    else:
        wanted = [group for group in known if group not in (PAIRS, QUESTIONS)]
    by_name = {task.name: task for task in asking if group_of(task) is not None}
    for name in wanted:
        group, _, head = name.rpartition(":")
        if group in known and head not in known[group]:
            hint = did_you_mean(head, known[group])
            raise UsageError("BX001", f"no head for {group} is called {head!r}", hint=hint)
        if group not in known and name not in known and name not in by_name:
            raise _missing(group or name, known, by_name, describe(asking, types))
    wanted = [name.rpartition(":")[2] for name in wanted]
    others = tuple(task for task in by_name.values() if task.name in wanted or group_of(task) in wanted)
    needed = ENTITIES in wanted or any(group_of(task) == RELATIONS for task in others)
    return tags and needed and not query.keep_entities, others


def _missing(name: str, known: Iterable[str], heads: Iterable[str], has: str) -> UsageError:
    if name in (ENTITIES, RELATIONS, CLASSES, PAIRS, QUESTIONS):
        return UsageError(
            "BX610", f"the model has no head for {name}; it has: {has}", hint="name another model with --model"
        )
    return UsageError("BX001", f"unknown task {name!r}", hint=did_you_mean(name, [*known, *heads]))


def _must_be_known(thresholds: Mapping[str, float] | None, names: Iterable[str], types: Sequence[str]) -> None:
    known = list(dict.fromkeys([*types, *sorted(names)]))
    for name, value in (thresholds or {}).items():
        if name != "*" and name not in known:
            raise UsageError("BX001", f"unknown type {name!r}", hint=did_you_mean(name, known))
        must_be_share("threshold", value)


def _by_precision(
    precision: float | None, others: Sequence[Task], curves: Mapping[Source, Curve]
) -> tuple[dict[Source, float], tuple[str, ...]]:
    """Thresholds that reached a precision on development data. A type that never did, or was not measured, is left out."""
    floors: dict[Source, float] = {}
    left_out: list[str] = []
    for task in others if precision is not None else ():
        for name in names_of(task):
            floor = floors[task.name, name] = lowest(curves.get((task.name, name), ()), precision or 0.0)
            if floor == NEVER:
                left_out.append(f"{name} ({task.name})")
    return floors, tuple(left_out)


def _rounded(answer: _Said) -> _Said:
    score = None if answer.score is None else round(answer.score, overlaps.DIGITS)
    if isinstance(answer, Label) and answer.value is not None:
        return replace(answer, score=score, value=round(answer.value, overlaps.DIGITS))
    return replace(answer, score=score)


def _answered(question: Question, answers: Iterable[Answer]) -> Question:
    return replace(question, answers=tuple(answers))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
