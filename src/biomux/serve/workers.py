"""Several worker processes behind one port: this process opens the socket, starts them, and replaces any that ends.

The workers share the socket, so a connection that waits when one is killed goes to another. SIGHUP is passed on to all; SIGTERM and Ctrl-C
let them finish.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from biomux.errors import ServeError
from biomux.serve.log import Log
from biomux.serve.metrics import SHARED

if TYPE_CHECKING:
    import socket
    from types import FrameType

    from biomux.serve.settings import ServeSettings

SETTINGS = "_BIOMUX_SERVE_SETTINGS"
SOCKET = "_BIOMUX_SERVE_SOCKET"

SOONEST = 1.0
"""Seconds between two starts of the same worker: one that fails at once must not keep the machine busy."""

EARLY = 5
"""Number of workers in a row that may end within seconds of their start before the whole service gives up."""


class Workers:
    """The processes of a service."""

    def __init__(self, settings: ServeSettings, listening: socket.socket) -> None:
        self._settings = settings
        self._listening = listening
        self._log = Log()
        self._stopping = False
        self._reload = False
        self._early = 0
        self._running: dict[int, tuple[subprocess.Popen[bytes], float]] = {}

    def run(self) -> None:
        """Keep all workers running until a signal ends the service."""
        self._listening.listen(1024)
        with tempfile.TemporaryDirectory(prefix="biomux-metrics-") as metrics:
            for name in ("SIGTERM", "SIGINT", "SIGHUP"):
                if hasattr(signal, name):
                    signal.signal(getattr(signal, name), self._on_signal)
            try:
                while not self._stopping:
                    self._tend(metrics)
                    time.sleep(0.1)
            finally:
                self._end()
        self._log.event("stopped")

    def _tend(self, metrics: str) -> None:
        for place in range(self._settings.workers):
            process, started = self._running.get(place, (None, 0.0))
            if process is not None and process.poll() is not None:
                self._gone(process, started)
                process = None
            if process is None and time.monotonic() - started >= SOONEST:
                self._running[place] = (self._start(metrics), time.monotonic())
            elif process is not None and self._reload:
                process.send_signal(signal.SIGHUP)
        self._reload = False

    def _gone(self, process: subprocess.Popen[bytes], started: float) -> None:
        if os.environ.get(SHARED):
            from prometheus_client import multiprocess

            multiprocess.mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
        self._log.event("worker ended", pid=process.pid, status=process.returncode)
        self._early = self._early + 1 if time.monotonic() - started < 10 * SOONEST else 0
        if self._early >= EARLY * self._settings.workers:
            raise ServeError(
                "BX810", "the workers end as soon as they start", hint="start the service with --workers 1 to see why"
            )

    def _start(self, metrics: str) -> subprocess.Popen[bytes]:
        os.environ[SHARED] = metrics
        variables = {SETTINGS: self._settings.to_json(), SOCKET: str(self._listening.fileno())}
        process = subprocess.Popen(
            [sys.executable, "-m", "biomux.serve.worker"],
            env={**os.environ, **variables},
            pass_fds=[self._listening.fileno()],
            start_new_session=True,  # Ctrl-C reaches only this process, which passes it on
        )
        self._log.event("worker started", pid=process.pid)
        return process

    def _end(self) -> None:
        processes = [process for process, _ in self._running.values()]
        for process in processes:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + self._settings.drain_timeout + 5
        for process in processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number == getattr(signal, "SIGHUP", None):
            self._reload = True
        else:
            self._stopping = True
