"""The settings of a part that is chosen by its kind: checked against the keyword arguments of what makes it, before it is made."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import sys
import typing
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from biomux.errors import RecipeError, did_you_mean
from biomux.validation import mistakes_of_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def checked(
    make: Callable[..., Any], settings: Mapping[str, Any], *, where: str, fields: type | None = None
) -> dict[str, Any]:
    """The settings as `make` wants them; an unknown one names its nearest neighbour, a bad value its path, all at once.

    With `fields`, those of a dataclass can be set too.

    >>> def plan(heads, *, exponent: float = 1.0): ...
    >>> checked(plan, {"exponent": 1}, where="regime")
    {'exponent': 1.0}
    """
    known, open_ended = _arguments(make)
    if fields is not None and is_dataclass(fields):
        known, open_ended = _fields(fields) | known, False
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for name, value in settings.items():
        if name not in known and not open_ended:
            wrong.append(f"{name}: unknown key, {did_you_mean(name, known)}")
            continue
        try:
            found[name] = known[name].validate_python(value) if name in known else value
        except ValidationError as error:
            wrong += mistakes_of_value(error, name)
    if wrong:
        raise RecipeError("BX306", "; ".join(wrong), where=f"{where} → settings", hint="see docs/reference/recipes.md")
    return found


def _arguments(make: Callable[..., Any]) -> tuple[dict[str, TypeAdapter[Any]], bool]:
    """What can be set, and whether anything else can."""
    base: Any = make.func if isinstance(make, functools.partial) else make
    base = getattr(base, "__func__", base)
    parameters = inspect.signature(base).parameters.values()
    names = vars(typing) | vars(collections.abc) | vars(sys.modules[base.__module__])
    found = {
        one.name: _adapter(one.annotation, names) for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY
    }
    found.pop("encoder", None)
    return found, any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)


def _fields(kind: Any) -> dict[str, TypeAdapter[Any]]:
    names = vars(typing) | vars(collections.abc) | vars(sys.modules[kind.__module__])
    return {one.name: _adapter(one.type, names) for one in dataclass_fields(kind) if one.name not in ("name", "kind")}


def _adapter(annotation: Any, names: dict[str, Any]) -> TypeAdapter[Any]:
    """What checks values of an annotation; one that cannot be looked up lets everything through."""
    try:
        kind = eval(annotation, names) if isinstance(annotation, str) else annotation  # noqa: S307 our own source text
        return TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))
    except (NameError, AttributeError, TypeError, PydanticSchemaGenerationError, PydanticUserError):
        return TypeAdapter(Any)
