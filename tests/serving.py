"""A service to talk to in tests: in a thread of this process, or as the command in a process of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

from biomux.serve.log import Log
from biomux.serve.served_model import ServedModel, open_model
from biomux.serve.server import HttpServer, bind
from biomux.serve.service import Service
from biomux.serve.settings import ServeSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        code: str = self.json["code"]
        return code


class LostError(OSError):
    """A request that got no answer. `port` is this side's, if a connection was made."""

    def __init__(self, port: int | None) -> None:
        super().__init__(f"no answer at port {port}")
        self.port = port


@dataclass
class Client:
    port: int
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own = None
        try:
            connection.connect()
            own = connection.sock.getsockname()[1]
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            found = connection.getresponse()
            return Reply(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        except (OSError, http.client.HTTPException) as error:
            raise LostError(own) from error
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, value: Any, headers: Mapping[str, str] | None = None) -> Reply:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.ask("POST", path, body, {"Content-Type": "application/json", **(headers or {})})

    def annotate(self, headers: Mapping[str, str] | None = None, **fields: Any) -> Reply:
        return self.post("/annotate", fields, headers)

    def raw(self, sent: bytes, *, timeout: float = 30) -> bytes:
        """What comes back for bytes that need not be HTTP, until the service closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(sent)
            return b"".join(iter(lambda: connection.recv(65536), b""))


@cache
def shipped() -> ServedModel:
    """The bundle that comes with Biomux, loaded once."""
    return open_model(ServeSettings(threads=1))


@contextmanager
def serving(
    *, model: ServedModel | None = None, log: TextIO | None = None, **settings: Any
) -> Iterator[tuple[Client, Service]]:
    """A service in a thread."""
    chosen = ServeSettings(**{"port": 0, "threads": 1, "access_log": log is not None, **settings})
    service = Service(chosen, model=model or shipped(), log=Log(access=log is not None, to=log or _nowhere()))
    listening = bind(chosen)
    listening.listen(128)
    client = Client(listening.getsockname()[1])
    started: list[tuple[asyncio.AbstractEventLoop, HttpServer]] = []
    ready = threading.Event()

    async def main() -> None:
        server = HttpServer(service, listening)
        started.append((asyncio.get_running_loop(), server))
        ready.set()
        await server.serve()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    try:
        ready.wait(30)
        yield client, service
    finally:
        loop, server = started[0]
        loop.call_soon_threadsafe(server.stop)
        thread.join(60)
        listening.close()
    assert not thread.is_alive()


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def _nowhere() -> TextIO:
    return _Nowhere()  # type: ignore[return-value]


@dataclass
class Process:
    """`biomux serve` in a process of its own. `events` are the lines of its log so far."""

    process: subprocess.Popen[str]
    client: Client
    events: list[dict[str, Any]]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def until(self, event: str, count: int = 1, seconds: float = 30) -> dict[str, Any]:
        """The line of the log that tells the event for the count-th time, once it is there."""
        import time

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [line for line in list(self.events) if line["event"] == event]
            if len(found) >= count:
                return found[count - 1]
            time.sleep(0.02)
        raise AssertionError(f"no {event!r} among {[line['event'] for line in self.events]}")


@contextmanager
def command(*options: str, **environment: str) -> Iterator[Process]:
    """The command, listening; it is ended with SIGTERM unless it has ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "biomux", "serve", "--port", "0", "--threads", "1", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    )
    events: list[dict[str, Any]] = []

    def follow() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            events.append(json.loads(line))  # noqa: PERF401 - others look at the list meanwhile

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    running = Process(process, Client(0), events)
    try:
        running.client.port = running.until("listening")["port"]
        yield running
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            reader.join(10)
            assert process.stdout is not None
            process.stdout.close()
