"""Folders that several runs share: tokens of texts and outputs of teachers, computed once. One process fills a folder at a time; others wait for it."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from biomux.errors import TrainingError
from biomux.files import InUseError, locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAIT = 0.5
"""Seconds between two checks whether another process has finished."""


@contextmanager
def filling(folder: Path, *, busy: str, failure: str, hint: str, listen: Callable[[str], None]) -> Iterator[None]:
    """Make a folder and hold its lock, once another run or another process of this one has released it.

    `listen` gets `busy` while another process holds the lock; `failure` is the message if writing fails (the reason is added), and `hint` what to do then.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(locked(folder))
                    break
                except InUseError:
                    listen(f"{busy}: waiting for it")
                    listen = _unheard
                    time.sleep(WAIT)
            yield
    except OSError as error:
        raise TrainingError("BX402", f"{failure}: {error.strerror or error}", where=str(folder), hint=hint) from error


def _unheard(message: str) -> None:
    """Ignore a message that was already passed on."""
