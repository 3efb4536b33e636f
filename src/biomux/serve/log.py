"""The log: one JSON object per line on standard output, for requests and events. It never contains a text, a key or an address made up by a client."""

from __future__ import annotations

import json
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO


class Log:
    """Writes lines; safe for threads. `access`: requests too."""

    def __init__(self, *, access: bool = True, to: TextIO | None = None) -> None:
        self._access = access
        self._to = to
        self._lock = threading.Lock()

    def event(self, event: str, **fields: Any) -> None:
        """Log an event of the service."""
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": timestamp, "event": event, **fields}, ensure_ascii=False)
        stream = self._to or sys.stdout
        try:
            with self._lock:
                stream.write(line + "\n")  # in one piece: workers share the stream
                stream.flush()
        except (OSError, ValueError):  # the reader of the log has gone; the service keeps running
            self._access = False

    def request(self, **fields: Any) -> None:
        """Log an answered request."""
        if self._access:
            self.event("request", **fields)

    def bug(self, error: BaseException) -> None:
        """Log an unexpected error by its type and place, without its message, which may contain part of a text."""
        frames = traceback.extract_tb(error.__traceback__)[-8:]
        self.event("bug", kind=type(error).__name__, at=[f"{frame.filename}:{frame.lineno}" for frame in frames])
