"""What tests of jobs share: what a folder holds, and a run that stops by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from biomux.annotate.run import PartReady


def contents(folder: Path) -> dict[str, bytes]:
    """Every file's bytes by its path below the folder, which may be a URL."""
    root = str(folder).rstrip("/")
    return {str(path)[len(root) + 1 :]: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Stopped(Exception):
    """What `stop_after` ends a run with."""


def stop_after(parts: int) -> Callable[[PartReady], None]:
    """A listener that ends a run when it has made so many parts."""
    left = [parts]

    def listen(step: PartReady) -> None:
        left[0] -= step.fresh
        if left[0] <= 0:
            raise Stopped

    return listen
