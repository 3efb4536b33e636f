"""Delay Ctrl-C until the end of a step: in the middle, it would leave weights that belong to neither step."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def held() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until the block has ended; then they take effect."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    delayed: list[tuple[int, Any]] = []
    before = {
        number: signal.signal(number, lambda number, frame: delayed.append((number, frame)))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if delayed:
            first, frame = delayed[0]
            handler = before[signal.Signals(first)]
            if callable(handler):
                handler(first, frame)
            else:
                signal.raise_signal(first)
