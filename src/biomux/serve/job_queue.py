"""The queue: waiting requests, counted in tokens, handed out in batches that are fair to all of them.

A request is a `Job` of documents. A batch takes documents of jobs that ask for the same, in turn, so that a request with a thousand documents
does not block one with a single sentence. A document longer than a whole batch runs alone, and one lane always stays free of long documents.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from biomux.errors import BiomuxError, ServeError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from biomux.document import Document
    from biomux.serve.served_model import ServedModel
    from biomux.serve.work import Work


@dataclass(eq=False)
class Job:
    """One request: its documents, what to do with them, and the results. `on_done` is called once, from whichever thread ends it."""

    model: ServedModel
    work: Work
    documents: Sequence[Document]
    tokens: Sequence[int]
    on_done: Callable[[Job], None]
    done: list[Any] = field(init=False)
    error: BaseException | None = None
    entered: float = 0.0
    started: float | None = None
    ended: float | None = None
    _taken: int = 0
    _finished: int = 0
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.done = [None] * len(self.documents)

    @property
    def key(self) -> Hashable:
        """Jobs with the same key may share a batch."""
        return (id(self.model), self.work)

    @property
    def left(self) -> int:
        """Documents that no batch has taken yet."""
        return 0 if self._ended else len(self.documents) - self._taken

    @property
    def waiting(self) -> int:
        """Tokens of the documents that are left."""
        return sum(self.tokens[self._taken :])

    @property
    def queued(self) -> float:
        """Seconds until its first document was taken."""
        return (self.started or time.perf_counter()) - self.entered

    @property
    def computed(self) -> float:
        """Seconds from then until the job ended."""
        return 0.0 if self.started is None else (self.ended or time.perf_counter()) - self.started

    @property
    def next_tokens(self) -> int:
        """Tokens of its next document."""
        return self.tokens[self._taken]

    def take(self) -> int:
        """The place of its next document, which now belongs to a batch."""
        self._taken += 1
        return self._taken - 1

    def put(self, place: int, found: Any) -> None:
        """Store the answer about one document; the last one ends the job."""
        with self._lock:
            self.done[place] = found
            self._finished += 1
            complete = self._finished == len(self.documents)
        if complete:
            self.end()

    def end(self, error: BaseException | None = None) -> None:
        """End the job: all documents are done, one failed, or nobody is waiting for it any more."""
        with self._lock:
            if self._ended:
                return
            self._ended, self.error, self.ended = True, error, time.perf_counter()
        self.on_done(self)


class JobQueue:
    """Jobs in order of arrival, at most `limit` tokens of them, and no more once the queue would take `longest_wait` seconds. Thread-safe."""

    def __init__(self, limit: int, *, batch: int, long_at_once: int = 1, longest_wait: float = math.inf) -> None:
        self.limit = limit
        self.batch = batch
        self.tokens = 0
        self.rate: float | None = None
        """Tokens per second computed recently, as far as is known."""
        self._longest_wait = longest_wait
        self._jobs: deque[Job] = deque()
        self._long_free = long_at_once
        self._closed = False
        self._changed = threading.Condition()

    def __len__(self) -> int:
        return len(self._jobs)

    def full(self, tokens: int = 1) -> BiomuxError | None:
        """Why that many tokens cannot be accepted now; None if they can."""
        if self._closed:
            return ServeError("BX810", "the service is stopping", hint="send the request again")
        if tokens > self.limit:
            return ServeError(
                "BX803",
                f"the texts have more than {self.limit:,} tokens, which is all that the queue holds",
                hint="send several smaller requests, or start the service with a higher --queue-tokens",
            )
        if self.tokens + tokens > self.limit or self.wait > self._longest_wait:
            return ServeError("BX809", "the service is busy: its queue is full", hint="send the request again later")
        return None

    @property
    def wait(self) -> float:
        """Seconds until the current queue will have been computed, at the recent rate."""
        return self.tokens / self.rate if self.rate else 0.0

    def put(self, job: Job) -> None:
        """Accept a job, or raise the reason why not."""
        with self._changed:
            if refusal := self.full(sum(job.tokens)):
                raise refusal
            job.entered = time.perf_counter()
            if job.documents:
                self._jobs.append(job)
                self.tokens += sum(job.tokens)
                self._changed.notify()
                return
        job.end()

    def discard(self, job: Job, error: BaseException | None = None) -> None:
        """End a job that nobody waits for; answers about its documents that are being computed are dropped."""
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self.tokens -= job.waiting
        job.end(error)

    def take(self) -> list[tuple[Job, int]]:
        """The next batch: places of documents, all of one key. Waits until there is one; empty once the queue is closed and has run out."""
        with self._changed:
            while True:
                if batch := self._next_batch():
                    return batch
                if self._closed and not self._jobs:
                    return []
                self._changed.wait()

    def finished(self, batch: Sequence[tuple[Job, int]]) -> None:
        """Note that a batch is computed: another long document may be taken."""
        if any(job.tokens[place] > self.batch for job, place in batch):
            with self._changed:
                self._long_free += 1
                self._changed.notify_all()

    def close(self) -> None:
        """Accept nothing more. Waiting jobs are still handed out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _next_batch(self) -> list[tuple[Job, int]]:
        for first in self._jobs:
            if batch := self._batch_of([job for job in self._jobs if job.key == first.key]):
                self._after(batch)
                return batch
        return []

    def _batch_of(self, jobs: list[Job]) -> list[tuple[Job, int]]:
        """Documents of these jobs in turn, as many as fit in a batch; a long one only alone, and only if a lane may take it."""
        batch: list[tuple[Job, int]] = []
        room = self.batch
        while jobs:
            more = []
            for job in jobs:
                if not job.left:
                    continue
                size = job.next_tokens
                long = size > self.batch
                if (batch and size > room) or (long and not self._long_free):
                    continue
                batch.append((job, job.take()))
                self.tokens -= size
                room -= size
                if long:
                    self._long_free -= 1
                    return batch
                more.append(job)
            jobs = more
        return batch

    def _after(self, batch: list[tuple[Job, int]]) -> None:
        """Move the jobs that were served behind those that were not."""
        served_at = time.perf_counter()
        served = dict.fromkeys(job for job, _ in batch)
        for job in served:
            job.started = job.started or served_at
        waiting = [job for job in self._jobs if job not in served]
        self._jobs = deque([*waiting, *(job for job in served if job.left)])
