"""Parts that other packages bring: a task, a head, an encoder, an objective, a regime, by entry points named as our tables are.

    [project.entry-points."biomux.heads"]
    my-head = "my_package.my_head:build"

Ours are looked at first: an installed package cannot change what a known recipe means.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

Group = Literal["tasks", "heads", "encoders", "objectives", "regimes"]
One = TypeVar("One")


def find(table: Mapping[str, One], name: str, group: Group) -> One | None:
    """The part of that name, ours or from outside; None if there is none."""
    if name in table:
        return table[name]
    entry = _entries(group).get(name)
    if entry is None:
        return None
    try:
        found: Any = entry.load()
    except Exception as error:
        raise UsageError(
            "BX003",
            f"cannot load {name!r} of the entry points biomux.{group}: {type(error).__name__}: {error}",
            where=entry.value,
            hint="fix or uninstall that package",
        ) from error
    return found  # type: ignore[no-any-return]


def names(table: Mapping[str, Any], group: Group) -> list[str]:
    """Every name that `find` knows, ours first."""
    return [*table, *sorted(set(_entries(group)) - set(table))]


@cache
def _entries(group: Group) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=f"biomux.{group}")}
