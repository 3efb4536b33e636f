"""A run's folder is used by one process at a time: a file `lock` says by which. One that its process has left behind is taken over."""

from __future__ import annotations

import json
import os
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder."""
    place = folder / "lock"
    own = {"pid": os.getpid(), "host": socket.gethostname(), "begun": _begun(os.getpid())}
    for _ in range(2):
        try:
            with place.open("x", encoding="utf-8") as stream:
                json.dump(own, stream)
            break
        except FileExistsError:
            holder = read(folder)
            if holder is not None and alive(holder):
                raise TrainingError(
                    "BX405",
                    f"process {holder.get('pid')} on {holder.get('host')} is using the folder",
                    where=str(folder),
                    hint=f"wait for it, name another folder with --run, or, if it is gone, remove {place}",
                ) from None
            place.unlink(missing_ok=True)
    else:
        raise TrainingError(
            "BX405", "another process has just taken the folder", where=str(folder), hint="wait for it"
        ) from None
    try:
        yield
    finally:
        if read(folder) == own:
            place.unlink(missing_ok=True)


def read(folder: Path) -> dict[str, Any] | None:
    """Who holds the lock; None for nobody. A lock that was cut short while it was written holds nothing."""
    try:
        holder = json.loads((folder / "lock").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return holder if isinstance(holder, dict) else None


def alive(holder: dict[str, Any]) -> bool:
    """Whether the process that holds a lock is still there. One on another host cannot be asked, so it counts as there."""
    if holder.get("host") != socket.gethostname():
        return True
    pid = holder.get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return holder.get("begun") is None or holder["begun"] == _begun(pid)


def _begun(pid: int) -> str | None:
    """When a process began, where the system tells: another process may have got a dead one's number."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return told.rpartition(")")[2].split()[19]
