"""What a benchmark of a bundle found: figures that derive from each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.peak import Peak
    from biomux.annotate.bench import Times

STAGES = ("session", "sentences", "tokenizing", "packing", "decoding", "writing")
"""Where time goes; decoding holds all that is not one of the others: probabilities, spans, merging, documents."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """What was annotated in how long, end to end from texts to written documents; `seconds` by stage."""

    documents: int
    words: int
    tokens: int
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
        return 1 - self.tokens / self.padded if self.padded else 0.0

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
