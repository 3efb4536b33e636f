"""The service under load, on loopback: `python -m benchmarks.serve_load capacity|overload|hostile|kill`.

    capacity  throughput against Tagger.pipe on the same texts, in turns; latency at 1, 8 and 32 connections
    overload  requests at ten times that rate: statuses, latency of accepted ones, memory, and whether all accepted answers are right
    hostile   a client that vanishes, one that sends a byte a second, a thousand idle connections; and what others notice of it
    kill      kill -9 of a worker under load: what is lost, and when the worker is back

Every part is bounded in time and in connections, and ends the service that it started. Client and service share the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import biomux
from benchmarks import invented
from benchmarks.sockets import client_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TEXTS = 64
"""Different abstracts that are sent, again and again."""


@dataclass
class Served:
    """A running service."""

    process: subprocess.Popen[str]
    port: int
    events: list[dict[str, Any]] = field(default_factory=list)

    def memory(self) -> int:
        """Resident bytes of the service's process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def serving(*options: str) -> Iterator[Served]:
    """`biomux serve` on a free port, ready."""
    command = [sys.executable, "-m", "biomux", "serve", "--port", "0", "--no-access-log", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    served = Served(process, 0)
    try:
        wait_for(served, "listening")
        served.port = next(event["port"] for event in served.events if event["event"] == "listening")
        yield served
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(90)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def wait_for(served: Served, event: str, count: int = 1, seconds: float = 120) -> None:
    """Read the service's log until it tells an event that often."""
    assert served.process.stdout is not None
    end = time.monotonic() + seconds
    while sum(line["event"] == event for line in served.events) < count:
        if time.monotonic() > end or served.process.poll() is not None:
            raise SystemExit(f"the service did not tell {event!r}")
        line = served.process.stdout.readline()
        if line:
            served.events.append(json.loads(line))
        else:
            time.sleep(0.02)


@dataclass
class Counts:
    """What came of requests: seconds of those with a right answer, statuses, connections that broke, answers that were wrong."""

    seconds: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)
    """Seconds of the same requests within the service, by its own word: without waiting for a connection, or for a busy client."""
    statuses: dict[int, int] = field(default_factory=dict)
    broken: int = 0
    broken_ports: list[int] = field(default_factory=list)
    """The client's port of each connection that broke, if it had been made."""
    wrong: int = 0
    unsent: int = 0

    def add(self, status: int, content: bytes, right: bytes, seconds: float, inside: float = 0.0) -> None:
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status == 200:
            self.seconds.append(seconds)
            self.inside.append(inside)
            self.wrong += content != right

    def told(self) -> dict[str, Any]:
        return {
            "statuses": dict(sorted(self.statuses.items())),
            "connections that broke": self.broken,
            "wrong answers": self.wrong,
            **percentiles(self.seconds),
        }


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds."""
    if len(seconds) < 2:
        return {}
    points = statistics.quantiles(seconds, n=100)
    return {f"p{point} ms": round(points[point - 1] * 1000, 1) for point in (50, 95, 99)}


class Connection:
    """HTTP/1.1 with as little work as possible: client and service share the cores."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.inside = 0.0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.port: int | None = None
        """This side's port, once connected."""

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and content of the answer."""
        if self._streams is None:
            self.port = None
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            self.port = self._streams[1].get_extra_info("sockname")[1]
        reader, writer = self._streams
        writer.write(request)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        timing = re.search(rb"total;dur=([0-9.]+)", head)
        self.inside = float(timing.group(1)) / 1000 if timing else 0.0
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        content = await reader.readexactly(length)
        if b"connection: close" in head:
            self.close()
        return int(head[9:12]), content

    def close(self) -> None:
        """Leave."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def requests(texts: Sequence[str]) -> list[bytes]:
    """A request for each text."""
    bodies = [json.dumps({"text": text, "format": "jsonl"}).encode() for text in texts]
    head = "POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    return [head.format(len(body)).encode() + body for body in bodies]


async def closed_loop(
    port: int, texts: Sequence[str], right: Sequence[bytes], *, connections: int, seconds: float
) -> Counts:
    """That many clients, each with one request at a time."""
    counts, asked, end = Counts(), requests(texts), time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection, place = Connection(port), number
        while time.perf_counter() < end:
            which = place % len(asked)
            place += connections
            begun = time.perf_counter()
            try:
                status, content = await connection.ask(asked[which])
            except (OSError, asyncio.IncompleteReadError):
                counts.broken += 1
                if connection.port is not None:
                    counts.broken_ports.append(connection.port)
                connection.close()
                await asyncio.sleep(0.05)
                continue
            counts.add(status, content, right[which], time.perf_counter() - begun)
        connection.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    return counts


MOST = 4_000
"""Requests under way at once, beyond which a flood holds back."""


async def open_loop(
    served: Served, texts: Sequence[str], right: Sequence[bytes], *, rate: float, seconds: float
) -> tuple[Counts, list[int]]:
    """Requests at a rate, whatever comes of them, each on a connection of its own; memory of the service each second."""
    counts, asked = Counts(), requests(texts)
    memory: list[int] = []
    running: set[asyncio.Task[None]] = set()

    async def one(which: int) -> None:
        connection, begun = Connection(served.port), time.perf_counter()
        try:
            status, content = await asyncio.wait_for(connection.ask(asked[which]), 120)
            counts.add(status, content, right[which], time.perf_counter() - begun, connection.inside)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            counts.broken += 1
        finally:
            connection.close()

    begun, sent = time.perf_counter(), 0
    while (now := time.perf_counter() - begun) < seconds:
        for _ in range(min(int(now * rate) - sent, 500)):
            if len(running) >= MOST:  # a client without bounds would end before the service does
                sent += 1
                counts.unsent += 1
                continue
            task = asyncio.create_task(one(sent % len(asked)))
            running.add(task)
            task.add_done_callback(running.discard)
            sent += 1
        if len(memory) <= now:
            memory.append(served.memory())
        await asyncio.sleep(0.005)
    await asyncio.gather(*running)
    return counts, memory


def slope(values: Sequence[float]) -> float:
    """Least-squares rise per step."""
    mean_x, mean_y = (len(values) - 1) / 2, statistics.fmean(values)
    over = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values))
    return over / max(1e-9, sum((x - mean_x) ** 2 for x in range(len(values))))


def answers(texts: Sequence[str]) -> list[bytes]:
    """What the engine answers for each text by itself."""
    import io

    from biomux import formats
    from biomux.document import Document
    from biomux.engine import load
    from biomux.engine.query import Query

    annotator, write = load.load(), formats.get("jsonl").write
    assert write is not None
    found = []
    for text in texts:
        stream = io.BytesIO()
        write(annotator.annotate_query([Document("text", text)], Query()), stream, on_loss=formats.ignore)
        found.append(stream.getvalue())
    return found


def capacity(texts: list[str], right: list[bytes], seconds: float) -> dict[str, Any]:
    """Throughput in turns, then latency."""
    tagger = biomux.load()
    words = sum(len(text.split()) for text in texts) / len(texts)
    ours: list[float] = []
    served_rates: list[float] = []
    latency: dict[str, Any] = {}
    with serving() as served:
        asyncio.run(closed_loop(served.port, texts, right, connections=8, seconds=min(5, seconds)))
        for _ in range(3):
            begun, done = time.perf_counter(), 0
            while time.perf_counter() - begun < seconds:
                done += sum(1 for _ in tagger.pipe(texts))
            ours.append(done / (time.perf_counter() - begun))
            begun = time.perf_counter()
            counts = asyncio.run(closed_loop(served.port, texts, right, connections=32, seconds=seconds))
            served_rates.append(len(counts.seconds) / (time.perf_counter() - begun))
            assert not counts.wrong
            latency["32"] = counts.told()
        for connections in (1, 8):
            counts = asyncio.run(closed_loop(served.port, texts, right, connections=connections, seconds=seconds))
            latency[str(connections)] = counts.told()
        memory = served.memory()
    pipe, service = statistics.median(ours), statistics.median(served_rates)
    return {
        "words per text": round(words),
        "texts per second, pipe": round(pipe, 2),
        "texts per second, service at 32 connections": round(service, 2),
        "share": round(service / pipe, 3),
        "latency by connections": latency,
        "resident MB after": round(memory / 1e6),
    }


def overload(texts: list[str], right: list[bytes], seconds: float) -> dict[str, Any]:
    """Ten times what the service can do."""
    with serving() as served:
        counts = asyncio.run(closed_loop(served.port, texts, right, connections=32, seconds=min(10, seconds)))
        rate = len(counts.seconds) / min(10, seconds)
        before = served.memory()
        flood, memory = asyncio.run(open_loop(served, texts, right, rate=10 * rate, seconds=seconds))
        later = memory[len(memory) // 2 :]
        after = asyncio.run(closed_loop(served.port, texts, right, connections=1, seconds=2))
    return {
        "capacity, texts per second": round(rate, 2),
        "sent per second": round(10 * rate, 2),
        "seconds": seconds,
        **flood.told(),
        "within the service": percentiles(flood.inside),
        "not sent, since too many waited": flood.unsent,
        "5xx other than 503": sum(
            number for status, number in flood.statuses.items() if status >= 500 and status != 503
        ),
        "resident MB before, highest": [round(before / 1e6), round(max(memory) / 1e6)],
        "MB per minute in the second half": round(slope(later) * 60 / 1e6, 2),
        "answered afterwards": len(after.seconds),
    }


def hostile(texts: list[str], right: list[bytes], seconds: float) -> dict[str, Any]:
    """Bad clients beside good ones."""

    async def main(port: int) -> tuple[Counts, dict[str, Any]]:
        found: dict[str, Any] = {}
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(1_000)]
        slow_reader, slow = await asyncio.open_connection("127.0.0.1", port)
        slow.write(
            b"POST /annotate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
        )

        async def drip() -> None:
            begun = time.perf_counter()
            while not slow_reader.at_eof():
                try:
                    slow.write(b" ")
                    await slow.drain()
                    reply = await asyncio.wait_for(slow_reader.read(100), 1)
                    if reply:
                        found["a byte a second"] = f"{reply[9:12].decode()} after {time.perf_counter() - begun:.0f} s"
                        return
                except TimeoutError:
                    continue
                except OSError:
                    return

        async def vanish() -> None:
            for place in range(50):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(requests(texts)[place % len(texts)])
                await writer.drain()
                writer.transport.abort()
            found["clients that vanished"] = 50

        dripping = asyncio.create_task(drip())
        await vanish()
        counts = await closed_loop(port, texts, right, connections=8, seconds=seconds)
        await dripping
        for _, writer in (*idle, (slow_reader, slow)):
            writer.close()
        found["idle connections"] = len(idle)
        return counts, found

    with serving("--body-timeout", "5", "--header-timeout", str(seconds + 60)) as served:
        alone = asyncio.run(closed_loop(served.port, texts, right, connections=8, seconds=seconds))
        counts, found = asyncio.run(main(served.port))
        memory = served.memory()
    return {
        **found,
        "good clients alone": alone.told(),
        "good clients beside them": counts.told(),
        "resident MB": round(memory / 1e6),
    }


def kill(texts: list[str], right: list[bytes], seconds: float) -> dict[str, Any]:
    """A worker is killed three times."""
    back: list[float] = []
    killed_ports: list[set[int]] = []

    async def main(served: Served) -> Counts:
        loading = asyncio.create_task(closed_loop(served.port, texts, right, connections=8, seconds=seconds))
        for number in range(1, 4):
            await asyncio.sleep(seconds / 5)
            started = [event["pid"] for event in served.events if event["event"] == "worker started"]
            ended = {event["pid"] for event in served.events if event["event"] == "worker ended"}
            victim = next(pid for pid in started if pid not in ended)
            os.kill(victim, signal.SIGSTOP)  # from here on it takes no connection that is not seen
            killed_ports.append(client_ports(victim, served.port))
            os.kill(victim, signal.SIGKILL)
            begun = time.perf_counter()
            await asyncio.to_thread(wait_for, served, "listening", 2 + number)
            back.append(round(time.perf_counter() - begun, 2))
        return await loading

    with serving("--workers", "2") as served:
        wait_for(served, "listening", 2)
        counts = asyncio.run(main(served))
    theirs = set().union(*killed_ports)
    return {
        "workers": 2,
        "killed": 3,
        "seconds until back": back,
        "connections that the killed workers held": [len(ports) for ports in killed_ports],
        "broken connections of other workers": sum(port not in theirs for port in counts.broken_ports),
        "refused connections": counts.broken - len(counts.broken_ports),
        **counts.told(),
    }


PARTS = {"capacity": (capacity, 20.0), "overload": (overload, 60.0), "hostile": (hostile, 10.0), "kill": (kill, 30.0)}


def main() -> None:
    """Run one part, print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seconds", type=float, help="of each measurement (at most 300)")
    parser.add_argument("--texts", type=int, default=TEXTS, help="different texts")
    given = parser.parse_args()
    run, usual = PARTS[given.part]
    seconds = min(300.0, given.seconds or usual)
    texts = [invented.abstract(seed) for seed in range(given.texts)]
    found = {"part": given.part, "load": os.getloadavg()[0], "biomux": biomux.__version__, "cores": os.cpu_count()}
    print(json.dumps({**found, **run(texts, answers(texts), seconds)}, indent=2))


if __name__ == "__main__":
    main()
