"""A task from what a bundle says about it: plain values, each of the kind that the task's own field is of.

A kind is one of ours or one that an installed package brings (`biomux.tasks`); a bundle can name it, and give it values, nothing more.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from biomux import plugins
from biomux.tasks import TASKS

if TYPE_CHECKING:
    from biomux.engine.bundle.strict_json import Fields
    from biomux.tasks.task import Task

MOST_VALUES = 1024
"""Values of a list."""
LONGEST_VALUE = 256
DEEPEST = 3
"""Lists within lists."""
OWN = ("name", "kind", "learned")
"""Fields that stand elsewhere in a bundle."""


def to_json(task: Task) -> dict[str, Any]:
    """The settings of a task, every one of them."""
    values: Any = task
    return {field.name: getattr(task, field.name) for field in dataclasses.fields(values) if field.name not in OWN}


def restored(fields: Fields, name: str, kind: str) -> Task:
    """The task of a kind with these settings; refused if it is not known here, or has no such settings."""
    from pydantic import PydanticUserError, TypeAdapter, ValidationError

    made = plugins.find(TASKS, kind, "tasks")
    if made is None or not dataclasses.is_dataclass(made):
        fields.refuse(f"tasks of kind {kind!r} are not known here: install the package that brings them", code="BX545")
    known = {field.name for field in dataclasses.fields(made) if field.init and field.name not in OWN}
    unknown = sorted(set(fields.values) - known)
    if unknown:
        fields.refuse(f"unknown key {unknown[0][:80]!r}")
    if not all(_plain(value, DEEPEST) for value in fields.values.values()):
        fields.refuse(
            f"a value is no text of at most {LONGEST_VALUE} characters, number, or list of at most {MOST_VALUES}"
        )
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(made)
        task: Task = adapter.validate_json(json.dumps({"name": name, **fields.values}), strict=True)
        labels = task.labels
    except (ValidationError, PydanticUserError, TypeError, ValueError, NameError, AttributeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        place = error.errors()[0]["loc"] if isinstance(error, ValidationError) else ()
        fields.refuse(f"{' → '.join(map(str, place)) or kind}: {' '.join(reason.split())[:200]}")
    if not labels or len(labels) > MOST_VALUES or len(set(labels)) != len(labels):
        fields.refuse("there are no labels, too many, or one stands twice")
    return task


def _plain(value: Any, depth: int) -> bool:
    if isinstance(value, list):
        return depth > 0 and len(value) <= MOST_VALUES and all(_plain(part, depth - 1) for part in value)
    if isinstance(value, str):
        return len(value) <= LONGEST_VALUE and (not value or value.isprintable())
    return value is None or isinstance(value, bool | int | float)
