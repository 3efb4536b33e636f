"""Check the settings of a part that is chosen by its kind against the keyword arguments of its constructor, before it is made."""

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
    """The settings as `make` expects them. All mistakes are reported at once: unknown keys with the nearest known one, bad values with their paths.

    With `fields`, the fields of that dataclass can be set too.

    >>> def plan(heads, *, exponent: float = 1.0): ...
    >>> checked(plan, {"exponent": 1}, where="regime")
    {'exponent': 1.0}
    """
    validators, open_ended = _arguments(make)
    if fields is not None and is_dataclass(fields):
        validators, open_ended = _fields(fields) | validators, False
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for name, value in settings.items():
        if name not in validators and not open_ended:
            wrong.append(f"{name}: unknown key ({did_you_mean(name, validators)})")
            continue
        try:
            values[name] = validators[name].validate_python(value) if name in validators else value
        except ValidationError as error:
            wrong += mistakes_of_value(error, name)
    if wrong:
        raise RecipeError("BX306", "; ".join(wrong), where=f"{where} → settings", hint="see docs/reference/recipes.md")
    return values


def _arguments(make: Callable[..., Any]) -> tuple[dict[str, TypeAdapter[Any]], bool]:
    """The settings that `make` takes by keyword, and whether it takes any others."""
    base: Any = make.func if isinstance(make, functools.partial) else make
    base = getattr(base, "__func__", base)
    parameters = inspect.signature(base).parameters.values()
    names = vars(typing) | vars(collections.abc) | vars(sys.modules[base.__module__])
    validators = {
        parameter.name: _adapter(parameter.annotation, names)
        for parameter in parameters
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    validators.pop("encoder", None)
    return validators, any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def _fields(kind: Any) -> dict[str, TypeAdapter[Any]]:
    names = vars(typing) | vars(collections.abc) | vars(sys.modules[kind.__module__])
    return {
        field.name: _adapter(field.type, names)
        for field in dataclass_fields(kind)
        if field.name not in ("name", "kind")
    }


def _adapter(annotation: Any, names: dict[str, Any]) -> TypeAdapter[Any]:
    """A validator for values of an annotation; an annotation that cannot be resolved accepts everything."""
    try:
        kind = eval(annotation, names) if isinstance(annotation, str) else annotation  # noqa: S307 our own source text
        return TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))
    except (NameError, AttributeError, TypeError, PydanticSchemaGenerationError, PydanticUserError):
        return TypeAdapter(Any)
