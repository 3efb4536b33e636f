"""The command as a process: it ends without losing a request, loads again under load, and brings killed workers back."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from serving import Client, LostError, Reply, command, shipped

from benchmarks.sockets import client_ports
from biomux import cli
from biomux.engine import load
from biomux.serve import server

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "Aspirin inhibits COX-2 in mice.",
    "TP53 mutations in breast cancer.",
    "Cisplatin lowered BRCA1 in HeLa cells.",
]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")


class Load:
    """Clients that ask one after the other until told to stop; every answer and every failure is kept."""

    def __init__(self, client: Client, clients: int = 4) -> None:
        self._client = client
        self._stop = threading.Event()
        self.replies: list[tuple[str, Reply]] = []
        self.lost: list[int | None] = []
        """The client's port of each request that got no answer."""
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int) -> None:
        while not self._stop.is_set():
            text = TEXTS[number % len(TEXTS)]
            try:
                self.replies.append((text, self._client.annotate(text=text, format="hf")))
            except LostError as error:
                self.lost.append(error.port)

    def wait_for(self, more: int) -> None:
        goal, end = len(self.replies) + more, time.monotonic() + 60
        while len(self.replies) < goal and time.monotonic() < end:
            time.sleep(0.01)
        assert len(self.replies) >= goal

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)


def right() -> dict[str, Any]:
    return {text: shipped().annotator(text).to_hf() for text in TEXTS}


def test_a_signal_finishes_what_has_come_and_ends_with_0() -> None:
    with command() as served:
        body = json.dumps({"text": "Aspirin inhibits COX-2 in mice. " * 600}).encode()
        head = f"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", served.client.port), timeout=60) as connection:
            connection.sendall(head.encode() + body)
            time.sleep(0.3)
            served.signal(signal.SIGTERM)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert served.process.wait(60) == 0
        served.until("stopped")
        with pytest.raises(OSError):
            served.client.get("/health")


def test_a_reload_under_load_loses_no_request_and_a_bad_bundle_changes_nothing(tmp_path: Path) -> None:
    bundle = tmp_path / "mine"
    shutil.copytree(load.find(None), bundle)
    keys = tmp_path / "keys.txt"
    keys.write_text("first-key-0123456789\n")
    with command(str(bundle), "--api-key-file", str(keys)) as served:
        served.client.headers["Authorization"] = "Bearer first-key-0123456789"
        asking = Load(served.client)
        try:
            asking.wait_for(5)
            served.signal(signal.SIGHUP)
            assert served.until("reloaded")["model"].startswith("mine@")
            asking.wait_for(10)
            (bundle / "graph.onnx").write_bytes(b"damaged")
            served.signal(signal.SIGHUP)
            assert "BX503" in served.until("reload failed")["error"]
            asking.wait_for(10)
        finally:
            asking.end()
        assert not asking.lost
        expected = right()
        assert all(reply.status == 200 and reply.json == expected[text] for text, reply in asking.replies)


@pytest.mark.skipif(sys.platform != "linux", reason="which connections a process holds is read from /proc")
def test_a_killed_worker_comes_back_and_harms_no_other() -> None:
    with command("--workers", "2") as served:
        served.until("listening", 2)
        asking = Load(served.client)
        try:
            asking.wait_for(10)
            victim = served.until("worker started")["pid"]
            os.kill(victim, signal.SIGSTOP)  # from here on it takes no connection that is not seen
            held = client_ports(victim, served.client.port)
            os.kill(victim, signal.SIGKILL)
            assert served.until("worker ended")["status"] == -signal.SIGKILL
            served.until("listening", 3)
            asking.wait_for(10)
        finally:
            asking.end()
        expected = right()
        assert set(asking.lost) <= held  # none but those that the killed worker was answering
        assert all(reply.status == 200 and reply.json == expected[text] for text, reply in asking.replies)
        text = served.client.get("/metrics").content.decode()
        counted = sum(
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith('biomux_requests_total{route="/annotate"')
        )
        # Both workers' and the dead one's, but for what it had sent in its last moment.
        assert counted >= len(asking.replies) - len(held)
        served.signal(signal.SIGTERM)
        assert served.process.wait(60) == 0


def test_every_option_is_an_environment_variable() -> None:
    with command(BIOMUX_SERVE_MAX_DOCUMENTS="2", BIOMUX_SERVE_BUNDLE="default") as served:
        assert served.client.get("/info").json["limits"]["max_documents"] == 2
        assert served.client.annotate(texts=["a", "b", "c"]).code == "BX803"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["no-such-bundle"], "BX501"),
        (["--api-key-file", "/nowhere/keys"], "BX813"),
        (["--host", "host.invalid"], "BX812"),
        (["--host", "203.0.113.7"], "BX812"),
        (["no-such-bundle", "--workers", "2"], "BX501"),
        (["--model", "no-such-bundle"], "BX501"),
        (["default", "--model", "default"], "BX001"),
    ],
)
def test_what_cannot_start_says_why(options: list[str], code: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["serve", "--port", "0", *options]) == 2
    assert f"{code}:" in capfd.readouterr().err


def test_a_port_in_use_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert cli.run(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "BX812: cannot listen on 127.0.0.1:" in capfd.readouterr().err


class Allocator:
    """A C library that counts how often memory was given back."""

    def __init__(self) -> None:
        self.trims = 0

    def malloc_trim(self, pad: int) -> int:
        assert pad == 0
        self.trims += 1
        return 1


def test_freed_memory_is_given_back_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = Allocator()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: allocator)
    monkeypatch.setattr(server, "TRIM_SECONDS", 0.001)

    async def some_of_them() -> None:
        task = asyncio.create_task(server._give_back_memory())
        while allocator.trims < 3:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(asyncio.wait_for(some_of_them(), 10))
    assert allocator.trims >= 3


def test_a_system_without_malloc_trim_serves_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    asyncio.run(asyncio.wait_for(server._give_back_memory(), 10))
