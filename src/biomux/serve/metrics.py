"""Metrics for Prometheus. With several workers, each counts for itself in files, and the one that is asked adds them up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from biomux.serve.job_queue import JobQueue

MEDIA = CONTENT_TYPE_LATEST
SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that makes prometheus_client share counts between processes."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
TOKENS = (16, 64, 256, 1024, 4096, 16384, 65536, 262144)


class Metrics:
    """Counts of one service."""

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        registry = self._own
        self.requests = Counter(
            "biomux_requests", "Requests by route and status.", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "biomux_request_seconds",
            "Time until a request was answered.",
            ["route"],
            buckets=SECONDS,
            registry=registry,
        )
        self.queue_seconds = Histogram(
            "biomux_queue_seconds",
            "Time that requests waited for their first batch.",
            buckets=SECONDS,
            registry=registry,
        )
        self.batch_seconds = Histogram("biomux_batch_seconds", "Time of a batch.", buckets=SECONDS, registry=registry)
        self.batch_tokens = Histogram("biomux_batch_tokens", "Tokens of a batch.", buckets=TOKENS, registry=registry)
        self.documents = Counter("biomux_documents", "Documents computed.", registry=registry)
        self.reloads = Counter("biomux_reloads", "Reloads of the bundle, by outcome.", ["outcome"], registry=registry)
        self._queued = Gauge("biomux_queue_tokens", "Tokens that wait.", registry=registry, multiprocess_mode="livesum")
        self._memory = Gauge(
            "biomux_resident_bytes", "Resident memory.", registry=registry, multiprocess_mode="livesum"
        )

    def batch(self, tokens: int, documents: int, seconds: float) -> None:
        """Count a batch."""
        self.batch_seconds.observe(seconds)
        self.batch_tokens.observe(tokens)
        self.documents.inc(documents)

    def observe(self, queue: JobQueue) -> None:
        """Record the current length of the queue and the memory."""
        self._queued.set(queue.tokens)
        self._memory.set(resident_bytes())

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        if SHARED not in os.environ:
            return generate_latest(self._own)
        from prometheus_client import multiprocess

        everybody = CollectorRegistry()
        multiprocess.MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)


def resident_bytes() -> int:
    """Resident memory of this process; 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
