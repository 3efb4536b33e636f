"""The lanes: threads that take batches from the queue and compute them. While one decodes, another keeps the cores busy."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from biomux.errors import BiomuxError, ServeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from biomux.document import Document
    from biomux.serve.job_queue import Job, JobQueue

LANES = 2
"""Enough that a long document does not block short ones; more would only share the same cores."""


class Lanes:
    """Threads around a queue. `on_batch` gets the tokens, documents and seconds of each batch; `on_bug` any unexpected error."""

    def __init__(
        self,
        queue: JobQueue,
        *,
        on_batch: Callable[[int, int, float], None],
        on_bug: Callable[[BaseException], None],
    ) -> None:
        self._queue = queue
        self._on_batch = on_batch
        self._on_bug = on_bug
        self._threads = [
            threading.Thread(target=self._work, name=f"biomux-lane-{number}", daemon=True)
            for number in range(1, LANES + 1)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Whether every thread runs."""
        return all(thread.is_alive() for thread in self._threads)

    def retry_after(self) -> int:
        """Whole seconds after which about half of the queue should be done: from 1 to 30."""
        return max(1, min(30, round(self._queue.wait / 2)))

    def join(self, timeout: float) -> None:
        """Wait for the threads, which end once the queue is closed and empty."""
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while batch := self._queue.take():
            started = time.perf_counter()
            try:
                self._compute(batch)
                self._measure(batch, time.perf_counter() - started)
            except BaseException as error:  # whatever it is, the lane must keep running and nobody may wait for ever
                self._on_bug(error)
                for job, _ in batch:
                    self._queue.discard(job, _failed())
            finally:
                self._queue.finished(batch)

    def _measure(self, batch: Sequence[tuple[Job, int]], seconds: float) -> None:
        tokens = sum(job.tokens[place] for job, place in batch)
        rate = LANES * tokens / max(seconds, 1e-6)
        before = self._queue.rate
        self._queue.rate = rate if before is None else 0.8 * before + 0.2 * rate
        self._on_batch(tokens, len(batch), seconds)

    def _compute(self, batch: Sequence[tuple[Job, int]]) -> None:
        """Compute a batch; if it fails as a whole, document by document, so that only the ones at fault fail."""
        first = batch[0][0]
        documents = [job.documents[place] for job, place in batch]
        failed: list[tuple[Document, BiomuxError]] = []
        try:
            done = list(first.work.run(first.model.annotator, documents, lambda *failure: failed.append(failure)))
        except Exception as error:
            if len(batch) > 1:
                return self._one_by_one(batch)
            if not isinstance(error, BiomuxError):
                self._on_bug(error)
            return self._queue.discard(first, error if isinstance(error, BiomuxError) else _failed())
        if failed and len(batch) == 1:
            return self._queue.discard(first, failed[0][1])
        errors = {id(document): error for document, error in failed}
        unfailed = [(job, place) for job, place in batch if id(job.documents[place]) not in errors]
        if len(unfailed) != len(done):  # a failure was reported for another object
            return self._one_by_one(batch)
        for (job, place), answer in zip(unfailed, done, strict=True):
            job.put(place, answer)
        for job, place in batch:
            if refusal := errors.get(id(job.documents[place])):
                self._queue.discard(job, refusal)
        return None

    def _one_by_one(self, batch: Sequence[tuple[Job, int]]) -> None:
        for pair in batch:
            self._compute([pair])


def _failed() -> ServeError:
    return ServeError("BX811", "the service failed", hint="please report it, with the log line of this request id")
