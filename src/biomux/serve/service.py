"""The service without HTTP: the model in use, the queue, the lanes; documents in, answers out."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from biomux.errors import BiomuxError, ServeError
from biomux.serve.bodies import BodyReader
from biomux.serve.job_queue import Job, JobQueue
from biomux.serve.keys import Keys
from biomux.serve.lanes import LANES, Lanes
from biomux.serve.log import Log
from biomux.serve.metrics import Metrics
from biomux.serve.served_model import ServedModel, open_model

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from biomux.document import Document
    from biomux.serve.settings import ServeSettings
    from biomux.serve.work import Work


class ClientLeftError(Exception):
    """Nobody is waiting for the answer any more."""


class Service:
    """Everything that requests share. `stopping` is set once no new request is accepted."""

    def __init__(self, settings: ServeSettings, *, model: ServedModel | None = None, log: Log | None = None) -> None:
        self.settings = settings
        self.log = log or Log(access=settings.access_log)
        self.keys = Keys(settings.api_key_file)
        self.model = model or open_model(settings)
        self.metrics = Metrics()
        self.bodies = BodyReader(settings)
        self.queue = JobQueue(
            settings.queue_tokens,
            batch=settings.batch_tokens,
            long_at_once=LANES - 1,
            longest_wait=settings.timeout / 2,
        )
        self.lanes = Lanes(self.queue, on_batch=self.metrics.batch, on_bug=self.log.bug)
        self.stopping = False

    @property
    def ready(self) -> bool:
        """Whether a request would be answered: the model has read its probe, every lane runs, and the service is not stopping."""
        return not self.stopping and self.lanes.alive

    def reload(self) -> None:
        """Reload the bundle and the keys. Requests that have arrived keep the old model; if the new one fails, all do."""
        try:
            self.keys.reload()
            self.model = open_model(self.settings)
        except BiomuxError as error:
            self.metrics.reloads.labels("failed").inc()
            self.log.event("reload failed", error=str(error))
        else:
            self.metrics.reloads.labels("done").inc()
            self.log.event("reloaded", model=self.model.version)

    async def ask(
        self,
        model: ServedModel,
        work: Work,
        documents: Sequence[Document],
        tokens: Sequence[int],
        gone: Callable[[], Awaitable[None]],
    ) -> Job:
        """Let the lanes do the work, and return the finished job. The awaitable of `gone` ends when the client has disconnected: then nothing more is computed for it."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not ended.done():
                ended.set_result(None)

        def on_done(_: Job) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(wake)

        job = Job(model, work, documents, tokens, on_done)
        self.queue.put(job)
        disconnected = asyncio.ensure_future(gone())
        try:
            await asyncio.wait(
                {ended, disconnected}, timeout=self.settings.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not ended.done():
                late = ServeError(
                    "BX810",
                    f"the request was not answered within {self.settings.timeout:g} seconds",
                    hint="send it again later, or with fewer texts",
                )
                self.queue.discard(job, ClientLeftError() if disconnected.done() else late)
        except asyncio.CancelledError:
            self.queue.discard(job, ClientLeftError())
            raise
        finally:
            disconnected.cancel()
        self.metrics.queue_seconds.observe(job.queued)
        if job.error is not None:
            raise job.error
        return job

    def stop_taking(self) -> None:
        """Refuse new requests from now on."""
        self.stopping = True

    def close(self) -> None:
        """Let the lanes finish the queue, and end."""
        self.stopping = True
        self.queue.close()
        self.lanes.join(self.settings.drain_timeout)
