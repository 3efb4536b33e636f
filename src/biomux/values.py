"""What the fields of a document and its parts may hold, and what is made of values that are nearly that.

Numbers of numpy and pandas become Python's, an id that is a whole number becomes its string, lists become tuples. Anything else of a wrong
type is a DocumentError. The classes in `biomux.document` look themselves whether all is as it should be, since that is quick, and come here if not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from biomux.errors import DocumentError

Check = Callable[[Any], Any]
"""Gives the value as it should be, or raises TypeError with what it must be."""


def settle(part: Any, **checks: Check) -> None:
    """Put the values of a part right, field by field, or say which one is wrong."""
    for name, check in checks.items():
        value = getattr(part, name)
        try:
            right = check(value)
        except TypeError as error:
            raise DocumentError(
                "BX104",
                f"{name} must be {error.args[0]}, got {value!r:.60} ({type(value).__name__})",
                where=_place(part),
                hint="convert it before you make the document",
            ) from None
        if right is not value:
            object.__setattr__(part, name, right)


def are(group: Any, kind: type) -> bool:
    """Whether this is a tuple of instances of exactly that class, quickly."""
    return type(group) is tuple and {*map(type, group)} <= {kind}


def text(value: Any) -> str:
    """A string; one of a subclass (numpy's) becomes a plain one."""
    if not isinstance(value, str):
        raise TypeError("a string")
    return value if type(value) is str else str(value)


def name(value: Any) -> str:
    """An id: a string, or a whole number that becomes one.

    >>> name(12345)
    '12345'
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError("a string or a whole number")
    return str(int(value))


def offset(value: Any) -> int:
    """A whole number, and no truth value."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError("a whole number")
    return int(value)


def number(value: Any) -> float:
    """A number, and no truth value."""
    if type(value) is float:
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("a number")
    return float(value)


def truth(value: Any) -> bool:
    """True or False; numpy's become Python's."""
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
        return bool(value)
    raise TypeError("True or False")


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, as it is."""
    if not isinstance(value, Mapping):
        raise TypeError("a mapping")
    return value


def maybe(check: Check) -> Check:
    """None, or what the check says."""

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return check(value)
        except TypeError as error:
            raise TypeError(f"{error.args[0]} or None") from None

    return checked


def several(check: Check, what: str) -> Check:
    """A tuple or list of what the check takes; `what` names that."""

    def checked(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise TypeError(f"a tuple of {what}")
        try:
            settled = tuple([check(one) for one in value])
        except TypeError as error:
            raise TypeError(f"a tuple of {what}, each of them {error.args[0]}") from None
        if type(value) is tuple and all(left is right for left, right in zip(value, settled, strict=True)):
            return value
        return settled

    return checked


def one_of(kind: type) -> Check:
    """An instance of a class."""

    def checked(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}")
        return value

    return checked


def pair(value: Any) -> tuple[int, int]:
    """A start and an end."""
    if type(value) is tuple and len(value) == 2 and type(value[0]) is int and type(value[1]) is int:
        return value
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError("a start and an end")
    try:
        return offset(value[0]), offset(value[1])
    except TypeError:
        raise TypeError("a start and an end in whole numbers") from None


ranges = several(pair, "ranges")


def _place(part: Any) -> str:
    """What a reader can find the part by: its class, and its id, type or name."""
    label = next((getattr(part, one) for one in ("id", "type", "name", "role", "kind") if getattr(part, one, None)), "")
    return f"{type(part).__name__}{f' {label!r:.60}' if isinstance(label, str | int) and label else ''}"
