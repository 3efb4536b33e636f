"""How many threads a session takes."""

from __future__ import annotations

import os

from biomux.errors import UsageError


def usable_cores() -> int:
    """The cores that this process may use; all of them where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chosen(asked: int | None = None) -> int:
    """As many as are asked for, but no more than there are cores: more only wait for each other, and very many never end.

    >>> chosen(1), chosen(100_000) == chosen() == usable_cores()
    (1, True)
    """
    if asked is not None and (not isinstance(asked, int) or asked < 1):
        raise UsageError("BX001", f"threads must be at least 1, got {asked!r}", hint="leave it out to use all cores")
    return min(asked or usable_cores(), usable_cores())
