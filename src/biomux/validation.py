"""What pydantic finds wrong, in our words: one sentence for each mistake, with its path and the key that was probably meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from biomux.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import ValidationError

OURS = ("Value error, ", "Assertion failed, ")
"""What pydantic puts before the messages of our own validators."""
_MEMBER = re.compile(r"constrained-\w+$|(tuple|list|dict|literal|nullable|function-\w+)\[.*\]$")
"""What pydantic calls the members of a union in a path: `tuple[str, ...]`. No key of ours."""


def mistakes(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One sentence for each mistake in what should have been a model."""
    sentences = []
    problems = error.errors()
    for problem in problems:
        inside = (other["loc"] for other in problems if len(other["loc"]) > len(problem["loc"]))
        if problem["type"] == "too_short" and any(loc[: len(problem["loc"])] == problem["loc"] for loc in inside):
            continue  # pydantic does not count the members that are wrong
        path = [str(part) for part in problem["loc"] if not _MEMBER.match(str(part))]
        if problem["type"] == "extra_forbidden":
            meant = nearest(path[-1], _keys(model, path[:-1]))
            message = "unknown key" + (f", did you mean {meant!r}?" if meant else "")
        else:
            message = _message(problem)
        sentences.append(f"{' → '.join(path) or model.__name__.lower()}: {message}")
    return sentences


def mistakes_of_value(error: ValidationError, name: str) -> list[str]:
    """One sentence for each mistake in the value of a setting."""
    sentences = []
    for problem in error.errors():
        inner = [str(part) for part in problem["loc"] if "[" not in str(part)]  # not the members of a union: list[int]
        sentences.append(f"{' → '.join([name, *inner])}: {_message(problem)}")
    return sentences


def _message(problem: Mapping[str, Any]) -> str:
    message: str = problem["msg"]
    if problem["type"] == "tuple_type":
        return "input should be a list"
    if problem["type"] == "too_short" and problem["ctx"]["field_type"] in ("Tuple", "List"):
        return f"the list must have at least {problem['ctx']['min_length']}, got {problem['ctx']['actual_length']}"
    for prefix in OURS:
        if message.startswith(prefix):
            return message.removeprefix(prefix)
    return message[0].lower() + message[1:]


def _keys(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The keys that the part at a path may have. Steps that are no field are keys of a mapping or places in a list."""
    for step in path:
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if step in fields:
            model = next(_models(fields[step].annotation), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models within an annotation such as `dict[str, Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)
