"""How fast a bundle is on this machine, in memory, time and space. Nothing beyond the base install is needed.

    measure(find("first"), documents)  →  Report  →  to_json(), rows()

Every figure is measured here and now: a busy machine gives the figures of a busy machine (the report states the load).
"""

from __future__ import annotations

import io
import math
import re
import time
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux.annotate import fresh
from biomux.engine import bundle as bundles
from biomux.engine import load, machine, operations, peak
from biomux.engine.packing import pack
from biomux.text import pieces as text_pieces
from biomux.text import sentences
from biomux.text.windows import windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from biomux.document import Document
    from biomux.engine.annotator import Annotator
    from biomux.engine.operations import Operations
    from biomux.engine.packing import Batch
    from biomux.engine.session import Session
    from biomux.text.pieces import Pieces

STAGES = ("session", "sentences", "tokenizing", "packing", "decoding", "writing")
"""Where time goes; decoding holds all that is not one of the others: probabilities, spans, merging, documents."""


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
    if not ordered:
        return Times(0, math.nan, math.nan, math.nan)
    half = len(ordered) // 2
    median = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    return Times(len(ordered), ordered[0], median, ordered[max(0, math.ceil(0.95 * len(ordered)) - 1)])


class TimedSession:
    """A session that keeps account of what runs through it."""

    def __init__(self, session: Session, counted: Operations) -> None:
        self.session, self.counted = session, counted
        self.seconds = 0.0
        self.pieces = self.padded = self.batches = 0
        self.int8 = self.fp32 = 0.0

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """What the session inside gives."""
        begun = time.perf_counter()
        found = self.session.run(batch)
        self.seconds += time.perf_counter() - begun
        self.batches += 1
        self.pieces += int(batch.mask.sum())
        self.padded += batch.ids.size
        self.int8 += self.counted.int8(batch)
        self.fp32 += self.counted.fp32(batch)
        return found


@dataclass(frozen=True, slots=True)
class Throughput:
    """What was annotated in how long, end to end from texts to written documents; `seconds` by stage."""

    documents: int
    words: int
    pieces: int
    padded: int
    batches: int
    seconds: dict[str, float]
    int8: float
    fp32: float

    @property
    def total(self) -> float:
        """All seconds."""
        return sum(self.seconds.values())

    @property
    def shares(self) -> dict[str, float]:
        """Each stage's share of the time."""
        return {stage: spent / self.total if self.total else 0.0 for stage, spent in self.seconds.items()}

    @property
    def padding(self) -> float:
        """The share of what the session read that was padding."""
        return 1 - self.pieces / self.padded if self.padded else 0.0

    @property
    def gops(self) -> float:
        """Billions of operations a second in the session."""
        spent = self.seconds["session"]
        return (self.int8 + self.fp32) / spent / 1e9 if spent else 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured."""

    machine: dict[str, Any]
    bundle: dict[str, Any]
    threads: int
    text: str
    latency: Times
    latency_words: int
    throughput: Throughput
    cold_start: Times
    memory: dict[str, float | None]
    installed: dict[str, int]
    peaks: tuple[peak.Peak, ...]

    @property
    def of_peak(self) -> dict[str, float | None]:
        """The session against the peaks: all its operations as if in int8, and each at the precision that it has."""
        best = {one.precision: one.gops for one in self.peaks}
        int8, fp32 = best.get("int8"), best.get("fp32")
        spent = self.throughput.seconds["session"]
        if not int8 or not fp32 or not spent:
            return {"int8": None, "attainable": None}
        ideal = self.throughput.int8 / int8 + self.throughput.fp32 / fp32
        return {"int8": self.throughput.gops / int8, "attainable": ideal / 1e9 / spent}

    def to_json(self) -> dict[str, Any]:
        """As JSON values; seconds, bytes and shares of 1 throughout."""
        done = self.throughput
        return {
            "machine": self.machine,
            "threads": self.threads,
            "bundle": self.bundle,
            "text": self.text,
            "latency": {**asdict(self.latency), "words": self.latency_words},
            "throughput": {
                "documents": done.documents,
                "words": done.words,
                "pieces": done.pieces,
                "batches": done.batches,
                "seconds": done.total,
                "documents_per_second": done.documents / done.total if done.total else 0.0,
                "words_per_second": done.words / done.total if done.total else 0.0,
                "pieces_per_second": done.pieces / done.total if done.total else 0.0,
                "session_pieces_per_second": done.pieces / done.seconds["session"] if done.seconds["session"] else 0.0,
            },
            "shares": done.shares,
            "padding": done.padding,
            "session": {"gops": done.gops, "of_peak": self.of_peak},
            "peak": {
                one.precision: {
                    "gops": one.gops,
                    "by_shape": {"×".join(map(str, shape)): rate for shape, rate in one.by_shape.items()},
                    "why_not": one.why_not,
                }
                for one in self.peaks
            },
            "cold_start": asdict(self.cold_start),
            "memory": self.memory,
            "installed": self.installed,
        }

    def rows(self) -> list[tuple[str, str]]:
        """What people want to know, line by line."""
        told = self.to_json()
        speed, best = told["throughput"], {one.precision: one for one in self.peaks}
        outside = 1 - done if (done := self.throughput.shares["session"]) else 1.0
        of_int8, attainable = self.of_peak["int8"], self.of_peak["attainable"]
        peaks = ", ".join(f"{name} {_gops(one)}" for name, one in best.items())
        largest = sorted(self.installed.items(), key=lambda item: -item[1])[:4]
        return [
            ("bundle", f"{self.bundle['name']}: {self.bundle['heads']} heads, {self.bundle['bytes'] / 1e6:.1f} MB"),
            (
                "latency",
                f"median {self.latency.median * 1e3:.1f} ms, p95 {self.latency.p95 * 1e3:.1f} ms "
                f"(one text of {self.latency_words} words at a time, {self.latency.runs} times)",
            ),
            (
                "throughput",
                f"{speed['words_per_second']:,.0f} words, {speed['documents_per_second']:,.1f} abstracts a second "
                f"({speed['words']:,} words of {self.text})",
            ),
            ("time goes to", ", ".join(f"{stage} {share:.0%}" for stage, share in self.throughput.shares.items())),
            ("outside the session", f"{outside:.1%}"),
            ("padding", f"{self.throughput.padding:.1%}"),
            (
                "session",
                f"{speed['session_pieces_per_second']:,.0f} pieces a second, {self.throughput.gops:,.0f} GOP/s"
                + ("" if of_int8 is None else f", {of_int8:.0%} of the int8 peak")
                + ("" if attainable is None else f", {attainable:.0%} of what its mix of precisions allows"),
            ),
            ("matrix peak, GOP/s", f"{peaks} (onnxruntime, {self.threads} threads)"),
            (
                "cold start",
                f"best {self.cold_start.best:.2f} s, median {self.cold_start.median:.2f} s "
                f"(a process that annotates one sentence, {self.cold_start.runs} times)",
            ),
            (
                "peak memory",
                f"{_megabytes(self.memory['one_text'])} for one sentence, {_megabytes(self.memory['many'])} for {self.memory['many_words']:,.0f} words",
            ),
            (
                "installed",
                f"{sum(self.installed.values()) / 1e6:,.0f} MB with all that it needs, the bundle not counted (largest: "
                + ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
                + ")",
            ),
            ("machine", machine.line(self.machine)),
        ]


def measure(
    folder: Path,
    documents: Sequence[Document],
    *,
    text: str,
    seconds: float = 20.0,
    threads: int | None = None,
    budget: int | None = None,
    starts: int = 5,
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Measure a bundle on documents; `text` says what they are, `starts` how many processes are started to see how long that takes."""
    described = machine.describe()
    threads = threads or machine.usable_cores()
    found = bundles.read(folder)
    annotator = load.annotator(found, threads=threads)
    annotator = replace(annotator, budget=budget or annotator.budget)
    tell("latency")
    middle = sorted(documents, key=lambda document: len(document.text))[len(documents) // 2]
    latency = times(repeated(lambda: annotator(middle.text), seconds=seconds / 5))
    some = enough(documents, latency.median / max(1, len(middle.text)), seconds=seconds / 2)
    tell("throughput")
    done = throughput(annotator, some, operations.count(found.graph), seconds=seconds / 2)
    tell("matrix peak")
    peaks = tuple(peak.measure(one, threads=threads, seconds=max(0.3, seconds / 20)) for one in peak.PRECISIONS)
    tell("cold start")
    began, one_text = fresh.starts(folder, number=starts, threads=threads)
    tell("memory")
    many = fresh.peak_memory(folder, some, threads=threads)
    return Report(
        machine=described,
        bundle={"name": folder.name, "bytes": disk(folder), "heads": len(found.tasks)},
        threads=threads,
        text=text,
        latency=latency,
        latency_words=len(middle.text.split()),
        throughput=done,
        cold_start=times(began),
        memory={"one_text": one_text, "many": many, "many_words": sum(len(one.text.split()) for one in some)},
        installed=installed(),
        peaks=peaks,
    )


def repeated(call: Callable[[], object], *, seconds: float, least: int = 5, most: int = 2000) -> list[float]:
    """How long each of several calls took, after two that do not count."""
    call()
    call()
    spent: list[float] = []
    ends = time.perf_counter() + seconds
    while len(spent) < least or (len(spent) < most and time.perf_counter() < ends):
        begun = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begun)
    return spent


def enough(documents: Sequence[Document], per_character: float, *, seconds: float) -> list[Document]:
    """As many of the documents as take about that long, at least 20 and at most all."""
    chosen: list[Document] = []
    expected = 0.0
    for document in documents:
        if len(chosen) >= 20 and expected >= seconds:
            break
        chosen.append(document)
        expected += len(document.text) * per_character
    return chosen


def throughput(
    annotator: Annotator, documents: Sequence[Document], counted: Operations, *, seconds: float = 0.0
) -> Throughput:
    """Annotate and write the documents, again and again for so long, and take the time of each stage.

    The session is timed inside the whole. The stages before it are run once more by themselves; what then remains of the whole is decoding.
    """
    from biomux import formats

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
        pieces=session.pieces,
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
        piece
        for document, own in zip(documents, ranges, strict=True)
        for piece in text_pieces.split(annotator.tokenizer, document.text, own)
    ]
    tokenized = time.perf_counter()
    cut: list[Pieces] = [
        piece if window.end - window.start == len(piece) else piece.window(window.start, window.end)
        for piece in found
        for window in windows(len(piece), limit=annotator.limit)
        if window.end > window.start
    ]
    for _ in pack(cut, specials=annotator.specials, budget=annotator.budget):
        pass
    packed = time.perf_counter()
    return {"sentences": split - begun, "tokenizing": tokenized - split, "packing": packed - tokenized}


def disk(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


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
        found[one] = disk(Path(__file__).parent.parent) if one == "biomux" else _bytes(package)
        for needed in package.requires or ():
            wanted, _, condition = needed.partition(";")
            if "extra" not in condition:
                waiting.append(re.split(r"[^A-Za-z0-9._-]", wanted.strip(), maxsplit=1)[0])
    return found


def _bytes(package: metadata.Distribution) -> int:
    places = (Path(str(package.locate_file(file))) for file in package.files or ())
    return sum(place.stat().st_size for place in places if place.is_file())


def _gops(one: peak.Peak) -> str:
    return "none" if one.gops is None else f"{one.gops:,.0f}"


def _megabytes(size: float | None) -> str:
    return "unknown" if size is None else f"{size / 1e6:,.0f} MB"
