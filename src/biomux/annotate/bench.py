"""How fast a bundle is on this machine: words a second, latency of one text, cold start, memory, size.

Every figure is measured here and now: a busy machine gives the figures of a busy machine, and the report states the load. Cold start and memory
are those of new processes: what has run here before must not count.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux import formats
from biomux.document import Document
from biomux.engine import load, machine, runtimes
from biomux.engine import threads as all_threads
from biomux.engine.bundle.verify import TEXTS
from biomux.errors import AnnotateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AT_LEAST = 20
"""Documents that are annotated at once, however long that takes."""

# The peak is that of this program alone: what a parent had before it began this one is in ru_maxrss, but not in VmHWM.
PROGRAM = """
import json, sys
from biomux.cli import run
code = run(sys.argv[2:])
peak = None
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
except (OSError, StopIteration):
    try:
        import resource
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    except ImportError:
        pass
with open(sys.argv[1], "w") as out:
    json.dump(peak, out)
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class Times:
    """What was measured several times, in seconds."""

    runs: int
    best: float
    median: float
    p95: float


def times(seconds: Sequence[float]) -> Times:
    """The best, the middle and the value that 95 of 100 do not exceed (nearest rank).

    >>> times([3.0, 1.0, 2.0, 4.0])
    Times(runs=4, best=1.0, median=2.5, p95=4.0)
    """
    ordered = sorted(seconds)
    return Times(len(ordered), ordered[0], statistics.median(ordered), ordered[-1 - len(ordered) // 20])


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured; seconds and bytes throughout."""

    machine: dict[str, Any]
    threads: int
    runtime: str
    bundle: dict[str, Any]
    text: str
    latency: dict[str, Any]
    throughput: dict[str, Any]
    cold_start: dict[str, Any]
    memory: dict[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """What people want to know, line by line."""
        latency, throughput, start = self.latency, self.throughput, self.cold_start
        return [
            ("bundle", f"{self.bundle['name']}: {self.bundle['heads']} heads, {self.bundle['bytes'] / 1e6:.1f} MB"),
            ("words a second", f"{throughput['words_per_second']:,.0f} ({throughput['words']:,} words of {self.text})"),
            (
                "latency",
                f"median {latency['median'] * 1e3:.1f} ms, p95 {latency['p95'] * 1e3:.1f} ms "
                f"(one text of {latency['words']} words at a time, {latency['runs']} times)",
            ),
            (
                "cold start",
                f"best {start['best']:.2f} s, median {start['median']:.2f} s "
                f"(a process that annotates one sentence, {start['runs']} times)",
            ),
            (
                "peak memory",
                f"{_megabytes(self.memory['one_text'])} for one sentence, {_megabytes(self.memory['many'])} for all words",
            ),
            ("runtime", f"{self.runtime} {self.machine['versions'].get(self.runtime, '')}".rstrip()),
            ("machine", machine.line(self.machine)),
        ]


def measure(
    folder: Path,
    documents: Sequence[Document],
    *,
    text: str,
    seconds: float = 20.0,
    threads: int | None = None,
    starts: int = 5,
    runtime: str = "auto",
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Measure a bundle on documents; `text` says what they are, `starts` how many processes are started; `tell` hears what is being measured."""
    threads, runtime = all_threads.chosen(threads), runtimes.named(runtime)
    described = machine.describe(also=(runtime,))
    annotator = load.load(folder, threads=threads, runtime=runtime)
    tell("latency")
    middle = sorted(documents, key=lambda document: len(document.text))[len(documents) // 2].text
    latency = times(repeated(lambda: annotator(middle), seconds=seconds / 4))
    tell("words a second")
    some = enough(documents, latency.median / max(1, len(middle)), seconds=seconds / 4)
    words = sum(len(document.text.split()) for document in some)
    rounds = repeated(lambda: list(annotator.annotate(some)), seconds=seconds / 2, least=1)
    tell("cold start")
    sentence = ["--as-text", TEXTS[0]]
    in_process(folder, sentence, threads=threads, runtime=runtime)  # fills the system's cache of files
    cold = [in_process(folder, sentence, threads=threads, runtime=runtime) for _ in range(starts)]
    tell("memory")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "documents.jsonl")
        formats.write(some, path)
        _, memory = in_process(folder, [str(path)], threads=threads, runtime=runtime)
    return Report(
        machine=described,
        threads=threads,
        runtime=runtime,
        bundle={"name": folder.name, "bytes": size(folder), "heads": len(annotator.tasks)},
        text=text,
        latency={**asdict(latency), "words": len(middle.split())},
        throughput={"words": words, "rounds": len(rounds), "words_per_second": words * len(rounds) / sum(rounds)},
        cold_start=asdict(times([spent for spent, _ in cold])),
        memory={"one_text": max((peak for _, peak in cold if peak is not None), default=None), "many": memory},
    )


def sample(number: int = 2000, *, sentences: int = 8) -> list[Document]:
    """Documents of our own sentences, shuffled: for those who name no text."""
    noise = random.Random(0)
    return [Document(f"sample-{place}", " ".join(noise.choices(TEXTS, k=sentences))) for place in range(number)]


def repeated(call: Callable[[], object], *, seconds: float, least: int = 5, most: int = 2000) -> list[float]:
    """How long each of several calls took, after one that does not count."""
    call()
    spent: list[float] = []
    ends = time.perf_counter() + seconds
    while len(spent) < least or (len(spent) < most and time.perf_counter() < ends):
        begun = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begun)
    return spent


def enough(documents: Sequence[Document], per_character: float, *, seconds: float) -> list[Document]:
    """As many of the documents as take about that long, at least twenty and at most all."""
    chosen: list[Document] = []
    expected = 0.0
    for document in documents:
        if len(chosen) >= AT_LEAST and expected >= seconds:
            break
        chosen.append(document)
        expected += len(document.text) * per_character
    return chosen


def in_process(folder: Path, arguments: list[str], *, threads: int, runtime: str) -> tuple[float, float | None]:
    """The seconds that `biomux annotate` takes in a new process, and the most memory that it needs, or None where the system does not say."""
    with tempfile.TemporaryDirectory() as place:
        peak = Path(place) / "peak.json"
        options = ["--bundle", str(folder), "--threads", str(threads), "--runtime", runtime, "--format", "jsonl"]
        command = [sys.executable, "-c", PROGRAM, str(peak), "annotate", *options, *arguments]
        begun = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)  # noqa: S603
        spent = time.perf_counter() - begun
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise AnnotateError(
                "BX603",
                f"the annotating process ended with exit code {done.returncode}: {lines[-1] if lines else 'it wrote nothing'}",
            )
        needed = json.loads(peak.read_text())
    return spent, None if needed is None else float(needed)


def size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _megabytes(bytes: float | None) -> str:
    return "unknown" if bytes is None else f"{bytes / 1e6:,.0f} MB"
