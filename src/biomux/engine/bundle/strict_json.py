"""JSON from strangers: nothing twice, no numbers that are none, and every value asked for by its kind."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NoReturn

from biomux.errors import BundleError

HINT = "do not use this bundle; fetch it again"


def parse(content: bytes, name: str) -> Any:
    """The value of a JSON file; a key that stands twice, NaN and Infinity are refused."""
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        reason = "it nests too deep" if isinstance(error, RecursionError) else str(error)
        raise BundleError("BX506", f"not valid JSON: {reason}", where=name, hint=HINT) from None


@dataclass
class Fields:
    """An object of a JSON file, taken apart key by key; `end` refuses what nobody asked for. Faults have the code `code`."""

    values: dict[str, Any]
    where: str
    code: str
    _asked: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, value: Any, *, where: str, code: str) -> Fields:
        """The fields of a value that must be an object."""
        if not isinstance(value, dict):
            raise BundleError(code, "expected a JSON object", where=where, hint=HINT)
        return cls(value, where, code)

    def text(self, key: str, *, longest: int) -> str:
        """A text of printable characters, not empty."""
        value = self._take(key)
        if not isinstance(value, str) or not value or len(value) > longest or not value.isprintable():
            self.refuse(f"{key!r} is no plain text of at most {longest} characters")
        return value

    def whole(self, key: str, *, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self._take(key)
        if type(value) is not int or not low <= value <= high:
            self.refuse(f"{key!r} is no whole number from {low} to {high}")
        return value

    def number(self, key: str, *, low: float, high: float, code: str | None = None) -> float:
        """A number within bounds; one that is none is outside all."""
        value = self._take(key)
        if type(value) not in (int, float) or not low <= value <= high:
            self.refuse(f"{key!r} is no number from {low} to {high}", code=code)
        return float(value)

    def number_or_none(self, key: str, *, low: float, high: float) -> float | None:
        """A number within bounds, or null."""
        return None if self._take(key) is None else self.number(key, low=low, high=high)

    def several(self, key: str, *, most: int) -> list[Any]:
        """A list of limited length."""
        value = self._take(key)
        if not isinstance(value, list) or len(value) > most:
            self.refuse(f"{key!r} is no list of at most {most}")
        return value

    def object(self, key: str) -> Fields:
        """An object within this one."""
        return Fields.of(self._take(key), where=f"{self.where} → {key}", code=self.code)

    def entries(self, *, most: int, longest: int) -> list[tuple[str, Any]]:
        """All entries, where the keys are names."""
        if len(self.values) > most:
            self.refuse(f"there are more than {most} entries")
        if any(not key or len(key) > longest or not key.isprintable() for key in self.values):
            self.refuse(f"a name is no plain text of at most {longest} characters")
        return list(self.values.items())

    def end(self) -> None:
        """Refuse keys that were not asked for."""
        unknown = sorted(set(self.values) - self._asked)
        if unknown:
            self.refuse(f"unknown key {unknown[0][:80]!r}")

    def refuse(self, message: str, *, code: str | None = None) -> NoReturn:
        """Raise the error."""
        raise BundleError(code or self.code, message, where=self.where, hint=HINT)

    def _take(self, key: str) -> Any:
        self._asked.add(key)
        if key not in self.values:
            self.refuse(f"{key!r} is missing")
        return self.values[key]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
