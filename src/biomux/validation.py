"""What pydantic finds wrong, in our words: one sentence for each mistake, with its path and the key that was probably meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from biomux.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import ValidationError
    from yaml import YAMLError

OURS = ("Value error, ", "Assertion failed, ")
"""What pydantic puts before the messages of our own validators."""
LIMITS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
"""Pydantic's kind of mistake → the key of its limit, and how we name it."""
WANTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "a string",
    "tuple_type": "a list",
}
"""Pydantic's kind of mistake → what the value must be."""
MOST_SHOWN = 60
"""Characters of a wrong value that are shown."""
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
            message = "unknown key" + (f" (did you mean {meant!r}?)" if meant else "")
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


def yaml_mistake(error: YAMLError) -> str:
    """What is wrong with YAML text, and where, in a line: PyYAML draws a picture of it."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    if not problem or mark is None:
        return " ".join(str(error).split())
    return f"{problem} at line {mark.line + 1}, column {mark.column + 1}"


def demand(problem: Mapping[str, Any]) -> str | None:
    """What a value must be, and what it is: "must be at least 1, got 0". None for a mistake of another kind."""
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind in LIMITS:
        key, words = LIMITS[kind]
        limit = context[key]
        wanted = f"{words} {limit:g}" if isinstance(limit, float) else f"{words} {limit}"
    elif kind in ("literal_error", "enum"):
        wanted = context["expected"]
    elif kind in WANTED:
        wanted = WANTED[kind]
    else:
        return None
    if kind in LIMITS and isinstance(value, str):
        return f"must be {wanted}, got {value}"  # a number on a command line
    return f"must be {wanted}" + (f", got {_clipped(value)}" if _is_short(value) else "")


def _is_short(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _clipped(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…"


def _message(problem: Mapping[str, Any]) -> str:
    message: str = problem["msg"]
    if demanded := demand(problem):
        return demanded
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
