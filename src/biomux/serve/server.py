"""One serving process: an event loop, signals, and a shutdown that loses no request.

SIGTERM and Ctrl-C stop accepting connections, finish the requests that have arrived, and end; SIGHUP reloads the bundle and the keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from biomux.errors import ServeError
from biomux.serve.app import build
from biomux.serve.protocol import protocol
from biomux.serve.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from biomux.serve.settings import ServeSettings

BACKLOG = 1024
"""Connections that the system holds until they are accepted."""

LARGEST_HEAD = 64 * 1024
"""Maximum bytes of a request's first line and headers."""

TRIM_SECONDS = 5.0
"""Seconds between two returns of freed memory to the system."""


def bind(settings: ServeSettings) -> socket.socket:
    """The socket that a service listens on: opened first, so that an address in use is reported before anything is loaded."""
    listening: socket.socket | None = None
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
    except (OSError, OverflowError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ServeError(
            "BX812",
            f"cannot listen on {settings.host}:{settings.port}: {reason}",
            hint="choose another --port or --host",
        ) from None
    listening.set_inheritable(True)
    return listening


def run(
    settings: ServeSettings, listening: socket.socket, *, on_start: Callable[[Service], None] | None = None
) -> None:
    """Serve until a signal ends it."""
    _allow_many_files()
    service = Service(settings)
    listening.listen(BACKLOG)  # from here on no connection is refused, though the first may wait a moment
    if on_start is not None:
        on_start(service)
    asyncio.run(_serve(service, listening))


async def _serve(service: Service, listening: socket.socket) -> None:
    server = HttpServer(service, listening)
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = loop.create_task(asyncio.to_thread(service.reload))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    _on_signal(loop, "SIGTERM", server.stop)
    _on_signal(loop, "SIGINT", server.stop)
    _on_signal(loop, "SIGHUP", reload)
    trimming = loop.create_task(_give_back_memory())
    try:
        await server.serve()
    finally:
        trimming.cancel()


class HttpServer:
    """A service on a socket, on the running event loop."""

    def __init__(self, service: Service, listening: socket.socket) -> None:
        settings = service.settings
        self._service = service
        self._listening = listening
        self._server = _Server(
            uvicorn.Config(
                build(service),
                http=protocol(settings),
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                backlog=BACKLOG,
                h11_max_incomplete_event_size=LARGEST_HEAD,
                limit_concurrency=settings.max_connections,
                timeout_keep_alive=round(settings.keep_alive),
                timeout_graceful_shutdown=round(settings.drain_timeout),
            )
        )
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)

    async def serve(self) -> None:
        """Serve until `stop` is called, and finish the requests that have arrived by then."""
        log, model = self._service.log, self._service.model
        self._listening.listen(BACKLOG)
        host, port = self._listening.getsockname()[:2]
        log.event("listening", host=host, port=port, model=model.version)
        await self._server.serve(sockets=[self._listening])
        log.event("stopped")

    def stop(self) -> None:
        """Accept no more connections. A second call does not wait for the requests that have arrived."""
        if not self._server.should_exit:
            self._service.log.event("stopping", waiting=len(self._service.queue))
        self._service.stop_taking()
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: it would raise the signals again at the end, as if the command had been killed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _on_signal(loop: asyncio.AbstractEventLoop, name: str, handler: Callable[[], None]) -> None:
    number = getattr(signal, name, None)
    if number is None:
        return
    try:
        loop.add_signal_handler(number, handler)
    except NotImplementedError:  # Windows
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(handler))


def _allow_many_files() -> None:
    """Raise the limit of open files as far as the system allows: every connection is a file."""
    try:
        import resource
    except ImportError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _give_back_memory() -> None:
    """Return freed pages to the system every few seconds (with glibc; elsewhere nothing happens).

    glibc gives each thread its own heap. What a thread frees there is not used by the others, so under a long flood of requests, whose bodies are
    allocated by one thread and freed by another, memory grew although no more objects were alive. One heap for all would not grow, but threads wait for
    each other there: docs/explanation/performance.md says what each way costs.
    """
    import ctypes

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return
    while True:
        await asyncio.sleep(TRIM_SECONDS)
        await asyncio.to_thread(trim, 0)
