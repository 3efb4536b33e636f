"""As `biomux bench`, with the time of each stage, the padding, the session against the machine's matrix peak, and the size of all packages."""

from __future__ import annotations

import io
import re
import tempfile
import threading
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import biomux
from benchmarks import operations, peak
from benchmarks.stage_report import STAGES, Report, Throughput
from biomux import formats
from biomux.annotate import bench
from biomux.engine import load, machine, runtimes
from biomux.engine import threads as all_threads
from biomux.engine.bundle import reader as bundles
from biomux.engine.bundle.verify import TEXTS
from biomux.engine.packing import pack
from biomux.tasks.text_inputs import cut_to_windows
from biomux.text import sentences
from biomux.text import tokens as text_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.operations import Operations
    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.packing import Batch
    from biomux.engine.session import Session


class TimedSession:
    """A session that keeps account of what runs through it. `seconds` is the time in which at least one batch was inside."""

    def __init__(self, session: Session, counted: Operations) -> None:
        self.session, self.counted = session, counted
        self.at_once: int = getattr(session, "at_once", 1)
        self.seconds = 0.0
        self.tokens = self.padded = self.batches = 0
        self.int8 = self.fp32 = 0.0
        self._lock = threading.Lock()
        self._inside = 0
        self._since = 0.0

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """What the session inside gives."""
        with self._lock:
            if not self._inside:
                self._since = time.perf_counter()
            self._inside += 1
        try:
            return self.session.run(batch)
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self.seconds += time.perf_counter() - self._since
                self.batches += 1
                self.tokens += int(batch.mask.sum())
                self.padded += batch.ids.size
                self.int8 += self.counted.int8(batch)
                self.fp32 += self.counted.fp32(batch)


def measure(
    folder: Path,
    documents: Sequence[Document],
    *,
    text: str,
    seconds: float = 20.0,
    threads: int | None = None,
    budget: int | None = None,
    starts: int = 5,
    runtime: str = "auto",
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Measure a bundle on documents; `text` says what they are, `starts` how many processes are started to see how long that takes.

    `tell` hears what is being measured.
    """
    threads = all_threads.chosen(threads)
    taken = runtimes.named(runtime)
    described = machine.describe(also=(taken,))
    found = bundles.read(folder)
    annotator = load.annotator(found, threads=threads, runtime=taken)
    annotator = replace(annotator, budget=budget or annotator.budget)
    tell("latency")
    middle = sorted(documents, key=lambda document: len(document.text))[len(documents) // 2]
    latency = bench.times(bench.repeated(lambda: annotator(middle.text), seconds=seconds / 5))
    some = bench.enough(documents, latency.median / max(1, len(middle.text)), seconds=seconds / 2)
    tell("throughput")
    done = throughput(annotator, some, operations.count(found.graph), seconds=seconds / 2)
    tell("matrix peak")
    peaks = tuple(peak.measure(one, threads=threads, seconds=max(0.3, seconds / 20)) for one in peak.PRECISIONS)
    tell("cold start")
    sentence = ["--as-text", TEXTS[0]]
    bench.in_process(folder, sentence, threads=threads, runtime=taken)
    cold = [bench.in_process(folder, sentence, threads=threads, runtime=taken) for _ in range(starts)]
    tell("memory")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "documents.jsonl")
        formats.write(some, path)
        _, many = bench.in_process(folder, [str(path)], threads=threads, runtime=taken)
    return Report(
        machine=described,
        bundle={"name": folder.name, "bytes": bench.size(folder), "heads": len(found.tasks)},
        threads=threads,
        runtime=taken,
        text=text,
        latency=latency,
        latency_words=len(middle.text.split()),
        throughput=done,
        cold_start=bench.times([spent for spent, _ in cold]),
        memory={
            "one_text": max((most for _, most in cold if most is not None), default=None),
            "many": many,
            "many_words": sum(len(one.text.split()) for one in some),
        },
        installed=installed(),
        peaks=peaks,
    )


def throughput(
    annotator: Annotator, documents: Sequence[Document], counted: Operations, *, seconds: float = 0.0
) -> Throughput:
    """Annotate and write the documents, again and again for so long, and take the time of each stage.

    The session is timed inside the whole. The stages before it are run once more by themselves; what then remains of the whole is decoding, as far as the
    session waits for it.
    """
    write = formats.get("jsonl").write
    session = TimedSession(annotator.session, counted)
    timed = replace(annotator, session=session)
    # A whole document first, untimed: the runtime allocates and packs on its first run.
    list(annotator.annotate(documents[:1]))
    spent = dict.fromkeys(STAGES, 0.0)
    rounds = 0
    ends = time.perf_counter() + seconds
    while not rounds or time.perf_counter() < ends:
        before = session.seconds
        begun = time.perf_counter()
        annotated = list(timed.annotate(documents))
        whole = time.perf_counter() - begun
        begun = time.perf_counter()
        if write is not None:
            write(iter(annotated), io.BytesIO(), on_loss=formats.ignore)
        spent["writing"] += time.perf_counter() - begun
        parts = _stages(annotator, documents)
        for stage, took in parts.items():
            spent[stage] += took
        spent["session"] += session.seconds - before
        spent["decoding"] += max(0.0, whole - (session.seconds - before) - sum(parts.values()))
        rounds += 1
    return Throughput(
        documents=rounds * len(documents),
        words=rounds * sum(len(document.text.split()) for document in documents),
        tokens=session.tokens,
        padded=session.padded,
        batches=session.batches,
        seconds=spent,
        int8=session.int8,
        fp32=session.fp32,
    )


def _stages(annotator: Annotator, documents: Sequence[Document]) -> dict[str, float]:
    """The stages before the session, each by itself."""
    begun = time.perf_counter()
    ranges = [sentences.of(document) for document in documents]
    split = time.perf_counter()
    found = [
        token
        for document, own in zip(documents, ranges, strict=True)
        for token in text_tokens.split(annotator.tokenizer, document.text, own)
    ]
    tokenized = time.perf_counter()
    cut = [one for tokens in found for one in cut_to_windows(tokens, (0, 0), 0, limit=annotator.limit)]
    for _ in pack(cut, specials=annotator.specials, budget=annotator.budget):
        pass
    packed = time.perf_counter()
    return {"sentences": split - begun, "tokenizing": tokenized - split, "packing": packed - tokenized}


def installed(name: str = "biomux") -> dict[str, int]:
    """Package → bytes on disk, for a package and all that it needs, extras left out."""
    found: dict[str, int] = {}
    waiting = [name]
    while waiting:
        one = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if one in found:
            continue
        try:
            package = metadata.distribution(one)
        except metadata.PackageNotFoundError:
            continue  # needed on other systems only
        found[one] = bench.size(Path(biomux.__file__).parent) if one == "biomux" else _bytes(package)
        for needed in package.requires or ():
            wanted, _, condition = needed.partition(";")
            if "extra" not in condition:
                waiting.append(re.split(r"[^A-Za-z0-9._-]", wanted.strip(), maxsplit=1)[0])
    return found


def _bytes(package: metadata.Distribution) -> int:
    places = (Path(str(package.locate_file(file))) for file in package.files or ())
    return sum(place.stat().st_size for place in places if place.is_file())
