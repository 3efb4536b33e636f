"""Folders that several runs share: tokens of texts and outputs of teachers, computed once. One process fills a folder at a time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from biomux.errors import TrainingError
from biomux.files import InUseError, locked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def filling(folder: Path, *, busy: str, failure: str, hint: str) -> Iterator[None]:
    """Make a folder and hold its lock.

    `busy` is the message where another process holds the lock, `failure` that where the disk refuses (without the reason, which is added), and `hint` what to do then.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            yield
    except InUseError:
        raise TrainingError("BX405", busy, where=str(folder), hint="wait until it has finished, then resume") from None
    except OSError as error:
        raise TrainingError("BX402", f"{failure}: {error.strerror or error}", where=str(folder), hint=hint) from error
