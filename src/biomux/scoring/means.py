"""Means with their standard errors, that add up.

>>> mean = Mean.of(1.0) + Mean.of(0.0)
>>> mean.value, round(mean.error, 3)
(0.5, 0.5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of values seen so far; 0 of none."""

    number: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, value: float, *, times: int = 1) -> Mean:
        """The mean of one value, seen `times` times."""
        return cls(times, value * times, value * value * times)

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.number + other.number, self.total + other.total, self.squares + other.squares)

    @property
    def value(self) -> float:
        return self.total / self.number if self.number else 0.0

    @property
    def error(self) -> float:
        """The standard error of the mean, nan below two values."""
        if self.number < 2:
            return math.nan
        spread = max(0.0, self.squares - self.number * self.value**2)
        return math.sqrt(spread / (self.number - 1) / self.number)

    def to_json(self) -> dict[str, float | int | None]:
        """Value, error and number."""
        return {"value": self.value, "error": None if math.isnan(self.error) else self.error, "number": self.number}
