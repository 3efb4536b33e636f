"""What a benchmark of a bundle found: figures that derive from each other, as JSON and as lines for people."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from biomux.engine import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.engine.peak import Peak

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
    runtime: str
    text: str
    latency: Times
    latency_words: int
    throughput: Throughput
    cold_start: Times
    memory: dict[str, float | None]
    installed: dict[str, int]
    peaks: tuple[Peak, ...]

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
            "runtime": self.runtime,
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
            ("runtime", f"{self.runtime} {self.machine['versions'].get(self.runtime, '')}".rstrip()),
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
                f"{sum(self.installed.values()) / 1e6:,.0f} MB with all that it needs and the bundle that comes with it (largest: "
                + ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
                + ")",
            ),
            ("machine", machine.line(self.machine)),
        ]


def _gops(one: Peak) -> str:
    return "none" if one.gops is None else f"{one.gops:,.0f}"


def _megabytes(size: float | None) -> str:
    return "unknown" if size is None else f"{size / 1e6:,.0f} MB"
