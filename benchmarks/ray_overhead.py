"""What Ray costs: words a second with one worker on Ray against one without, in turns in one run; and the driver's share of time.

    python -m benchmarks.ray_overhead [--model BUNDLE] [--documents 3000] [--turns 3]

Both have one thread, which loads the model before the clock starts (a first job is not counted), and read the same files: invented abstracts in several files, so that
on Ray the worker reads them too. The driver's share is the processor time of the process that gives out tasks, over the time that passes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import ray_cluster
from biomux import formats
from biomux.annotate import inputs as reading
from biomux.annotate.inputs import Inputs
from biomux.annotate.job import goal
from biomux.annotate.on_ray import OnRay
from biomux.annotate.run import run
from biomux.annotate.settings import AnnotateSettings
from biomux.document import Document

if TYPE_CHECKING:
    from biomux.annotate.tally import JobTally

WORDS = [
    "aspirin",
    "ibuprofen",
    "metformin",
    "fever",
    "ulcer",
    "carcinoma",
    "asthma",
    "mice",
    "rats",
    "patients",
    "liver",
    "kidney",
    "expression",
    "of",
    "in",
    "the",
    "with",
    "and",
    "was",
    "were",
    "treated",
    "increased",
    "reduced",
    "TP53",
    "BRCA1",
    "interleukin-2",
    "kinase",
    "receptor",
    "dose",
    "response",
    "cells",
    "HeLa",
]


def abstract(number: int) -> Document:
    """An invented abstract of ten sentences of twenty words; the same for the same number."""
    chance = random.Random(number)
    sentences = [" ".join(chance.choices(WORDS, k=20)).capitalize() + "." for _ in range(10)]
    return Document(f"document-{number}", " ".join(sentences))


def measure(
    folder: Path, target: Path, settings: AnnotateSettings, cluster: OnRay | None
) -> tuple[JobTally, float, float]:
    """Annotate; the seconds that passed, and those of this process."""
    begun, own = time.perf_counter(), time.process_time()
    tally = run(
        Inputs([str(folder)]), goal(f"{target}/", None), settings, cluster=cluster, threads=1, part_size=100_000
    )
    return tally, time.perf_counter() - begun, time.process_time() - own


def main() -> None:
    """Take turns, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="else the bundle that comes with Biomux")
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    import ray

    reading.STRETCH = 400_000
    settings = AnnotateSettings(bundle=asked.model)
    rates: dict[str, list[float]] = {"plain": [], "ray": []}
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as place, ray_cluster.nodes(1) as cluster:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        folder = Path(place) / "in"
        few = Path(place) / "few"
        for where, number in ((folder, asked.documents), (few, 20)):
            where.mkdir()
            for start in range(0, number, 250):
                found = map(abstract, range(start, min(number, start + 250)))
                formats.write(found, where / f"{start:06d}.jsonl")
        turns: list[tuple[str, OnRay | None]] = [("plain", None), ("ray", OnRay())]
        for name, on in turns:
            measure(few, Path(place) / f"{name}-first", settings, on)
        for turn in range(asked.turns):
            for name, on in turns if turn % 2 == 0 else turns[::-1]:
                tally, seconds, own = measure(folder, Path(place) / f"{name}-{turn}", settings, on)
                rates[name].append(tally.words / seconds)
                if on:
                    shares.append(own / seconds)
                print(
                    f"{name}: {tally.words:,} words in {seconds:.1f} s, {tally.words / seconds:,.0f} a second",
                    flush=True,
                )
        ray.shutdown()
    plain, on_ray = (statistics.median(rates[name]) for name in ("plain", "ray"))
    print(
        f"median of {asked.turns}: plain {plain:,.0f}, Ray {on_ray:,.0f} words a second: {100 * on_ray / plain:.1f} % (goal: at least 90); "
        f"the driver's share of time {100 * statistics.median(shares):.1f} %"
    )


if __name__ == "__main__":
    main()
