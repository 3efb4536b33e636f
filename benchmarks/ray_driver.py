"""How many cores one driver can feed: a cluster of up to thousands of workers, simulated; the driver's memory over a million documents; and an estimate for PubMed.

    python -m benchmarks.ray_driver [--workers 1000 10000 100000] [--seconds 30] [--million 1000000]

What a driver sees of N workers that take t seconds for a task is N/t tasks a second, and 2 N tasks in flight. So a few processes stand for N: their tasks sleep for so long that N/t of them
end in a second. Everything else is real: tasks are shares of files, parts and notes are written, and the driver does all it does in a job. The driver is saturated where the rate
no longer follows. t is measured: the words of a task over the words per second of one core.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import ray_cluster
from benchmarks.ray_overhead import abstract
from biomux import formats
from biomux.annotate import input_stretches
from biomux.annotate import inputs as reading
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.on_ray import OnRay
from biomux.annotate.parts import CHARACTERS
from biomux.annotate.run import PartReady, run
from biomux.annotate.settings import AnnotateSettings
from biomux.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from biomux.engine.annotator import Annotator
    from biomux.errors import BiomuxError

PROCESSES = 8
"""Processes that stand for all workers: they sleep, so there may be more than cores."""
PUBMED_WORDS = 7_000_000_000


@dataclass(frozen=True)
class Asleep(AnnotateSettings):
    """Settings whose annotator sleeps for each part, and finds nothing."""

    seconds: float = 0.0

    def annotator(self, *, threads: int | None = None, chunk: int | None = None) -> Annotator:
        del threads, chunk
        from biomux.engine import load

        return load.load(load.find(None), threads=1)

    def annotate(
        self,
        annotator: Annotator,
        documents: Iterable[Document],
        *,
        on_error: Callable[[Document, BiomuxError], None],
    ) -> Iterator[Document]:
        """The documents as they are, later."""
        del annotator, on_error
        time.sleep(self.seconds)
        return iter(documents)


def memory() -> float:
    """Megabytes that this process holds just now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def words_per_second(documents: int = 150) -> float:
    """Words that one core annotates in a second."""
    annotator = AnnotateSettings().annotator(threads=1)
    texts = [abstract(number) for number in range(documents)]
    list(annotator.annotate(texts[:10]))
    begun = time.perf_counter()
    list(annotator.annotate(texts))
    return sum(len(text.text.split()) for text in texts) / (time.perf_counter() - begun)


def simulate(place: Path, workers: int, task: float, seconds: float) -> tuple[float, float, float]:
    """Tasks a second that were wanted and that ended, and the driver's share of time."""
    wanted = workers / task
    number = min(40_000, max(4 * PROCESSES, round(wanted * seconds)))
    folder = place / f"in-{workers}"
    folder.mkdir()
    for index in range(number):
        formats.write([Document(f"{index}", f"text number {index}")], folder / f"{index:06d}.jsonl")
    ends: list[float] = []
    owns: list[float] = []

    def listen(_: PartReady) -> None:
        ends.append(time.perf_counter())
        owns.append(time.process_time())

    reading.STRETCH = 1
    run(
        Inputs([str(folder)]),
        goal(f"{place}/out-{workers}/", None),
        Asleep(seconds=PROCESSES / wanted),
        cluster=OnRay(in_flight=2 * workers),
        listen=listen,
    )
    first = len(ends) // 5  # processes and models have started by then
    passed = ends[-1] - ends[first]
    return wanted, (len(ends) - 1 - first) / passed, (owns[-1] - owns[first]) / passed


def million(place: Path, number: int) -> list[float]:
    """The driver's memory at each tenth of a job over small documents in one file, which it cuts."""
    source = place / "million.jsonl"
    formats.write((Document(f"{index}", f"aspirin number {index}") for index in range(number)), source)
    seen: Counter[str] = Counter()
    found: list[float] = []

    def listen(step: PartReady) -> None:
        seen["documents"] += step.done.tally.documents
        if seen["documents"] * 10 // number > len(found):
            found.append(memory())

    run(
        Inputs([str(source)]),
        goal(f"{place}/million/", None),
        Asleep(),
        cluster=OnRay(in_flight=2 * PROCESSES),
        part_size=40_000,
        listen=listen,
    )
    return found


def main() -> None:
    """Simulate, measure and estimate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="that each number of workers is simulated for, about"
    )
    parser.add_argument("--million", type=int, default=1_000_000, help="documents for the driver's memory; 0: none")
    asked = parser.parse_args()
    import ray

    speed = words_per_second()
    sample = abstract(0).text
    words = input_stretches.PARTS * CHARACTERS * len(sample.split()) / len(sample)
    task = words / speed
    print(f"one core: {speed:,.0f} words a second; a task of {words:,.0f} words takes {task:.0f} s", flush=True)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as name, ray_cluster.nodes(PROCESSES) as cluster:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        for workers in asked.workers:
            wanted, reached, share = simulate(Path(name), workers, task, asked.seconds)
            print(
                f"{workers:,} workers: {wanted:.2f} tasks a second wanted, {reached:.2f} reached ({100 * reached / wanted:.0f} %); "
                f"driver busy {100 * share:.1f} % of the time, {memory():.0f} MB",
                flush=True,
            )
        if asked.million:
            found = million(Path(name), asked.million)
            print(
                f"memory of the driver at each tenth of {asked.million:,} documents, MB: {', '.join(f'{one:.0f}' for one in found)}"
            )
        ray.shutdown()
    for cores in (10, 100, 1000):
        hours = PUBMED_WORDS / speed / cores / 3600
        print(
            f"estimate for PubMed ({PUBMED_WORDS:,} words) on {cores:,} such cores: {hours:,.1f} hours, without losses"
        )


if __name__ == "__main__":
    main()
