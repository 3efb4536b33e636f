"""transitions.json of a bundle: what heads with a conditional random field have learned about which tag follows which.

    {head: {"between": [[…]…], "first": […], "last": […]}}

`between[i][j]` is the score of label j after label i; `first` and `last` are those of a sentence that begins or ends with a label. A
mention's score is then the smallest of its tags' marginal probabilities: over all tag sequences that the scheme allows, given all
words. Transitions were learned beside logits as they are, so the temperature of such a head is 1.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine.bundle.strict_json import Fields, parse
from biomux.tasks.crf_decoding import Chained, Transitions
from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from biomux.tasks.task import Task

LARGEST_SCORE = 1e4
"""Far beyond what is learned, and far from what would drown the ban on sequences that the scheme does not allow."""


def to_json(tasks: Sequence[Task]) -> dict[str, Any]:
    """The content of transitions.json; nothing where no task is decoded with transitions."""
    return {
        task.name: {part.name: getattr(task.learned, part.name).tolist() for part in fields(task.learned)}
        for task in tasks
        if isinstance(task, Chained) and task.learned is not None
    }


def read(
    content: bytes, tasks: Sequence[Task], temperatures: Mapping[str, float], *, where: str = "transitions.json"
) -> tuple[Task, ...]:
    """The tasks with the transitions that the file has for them."""
    known = {task.name: task for task in tasks if isinstance(task, Tagging)}
    whole = Fields.of(parse(content, where), where=where, code="BX543")
    learned: dict[str, Transitions] = {}
    for head, value in whole.entries(most=len(known), longest=128):
        fields = Fields.of(value, where=f"{where} → {head}", code="BX543")
        if head not in known:
            fields.refuse("the bundle has no such head that tags")
        if temperatures[head] != 1.0:
            fields.refuse("a head with transitions has a temperature of 1")
        size = len(known[head].labels)
        between = [_row(fields, row, "between", size) for row in fields.several("between", most=size)]
        if len(between) != size:
            fields.refuse(f"'between' does not have {size} rows")
        ends = [_row(fields, fields.several(key, most=size), key, size) for key in ("first", "last")]
        fields.end()
        learned[head] = Transitions(np.stack(between), *ends)
    return tuple(
        Chained.of(task, learned[task.name]) if isinstance(task, Tagging) and task.name in learned else task
        for task in tasks
    )


def _row(fields: Fields, values: Any, key: str, size: int) -> NDArray[np.float32]:
    if not isinstance(values, list) or len(values) != size:
        fields.refuse(f"{key!r} does not have {size} numbers, as there are labels")
    if any(type(number) not in (int, float) or not -LARGEST_SCORE <= number <= LARGEST_SCORE for number in values):
        fields.refuse(f"{key!r} has what is no number from {-LARGEST_SCORE:g} to {LARGEST_SCORE:g}")
    return np.array(values, dtype=np.float32)
