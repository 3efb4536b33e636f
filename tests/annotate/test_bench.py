"""The benchmark: its statistics, and that it measures a tiny bundle from end to end."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import tiny
from hypothesis import given
from hypothesis import strategies as st

from biomux.annotate import bench
from biomux.engine import machine
from biomux.engine.packing import padded

if TYPE_CHECKING:
    from pathlib import Path


@given(st.lists(st.floats(0.001, 100), min_size=1))
def test_best_median_and_p95_lie_among_what_was_measured(seconds: list[float]) -> None:
    found = bench.times(seconds)
    assert found.runs == len(seconds)
    assert found.best == min(seconds)
    assert math.isclose(found.median, float(np.median(seconds)))
    assert found.p95 in seconds
    assert sum(one <= found.p95 for one in seconds) >= 0.95 * len(seconds)


def test_a_bundle_is_measured_and_the_report_is_json_and_lines(tmp_path: Path) -> None:
    folder = tiny.bundle(tmp_path / "tiny")
    steps: list[str] = []
    report = bench.measure(
        folder, bench.sample(30), text="some text", seconds=0.1, threads=1, starts=2, tell=steps.append
    )
    assert steps == ["latency", "words a second", "cold start", "memory"]
    figures = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert figures["bundle"] == {"name": "tiny", "bytes": bench.size(folder), "heads": 2}
    assert figures["throughput"]["words_per_second"] > 0
    assert figures["cold_start"]["runs"] == 2
    assert figures["latency"]["best"] <= figures["latency"]["median"] <= figures["latency"]["p95"]
    lines = dict(report.rows())
    assert list(lines) == ["bundle", "words a second", "latency", "cold start", "peak memory", "runtime", "machine"]
    assert lines["words a second"].endswith("words of some text)")


def test_as_many_documents_as_the_time_allows() -> None:
    documents = bench.sample(60)
    assert len(bench.enough(documents, 1.0, seconds=0.1)) == bench.AT_LEAST
    assert bench.enough(documents, 0.0, seconds=1.0) == documents


def test_the_sample_is_the_same_every_time_and_its_documents_differ() -> None:
    assert bench.sample(50) == bench.sample(50)
    assert len({document.text for document in bench.sample(50)}) == 50


def test_the_machine_is_described_in_one_line() -> None:
    line = machine.line(machine.describe())
    assert "\n" not in line
    assert "numpy" in line


@given(st.integers(1, 512))
def test_rows_are_padded_little(size: int) -> None:
    assert 0 <= padded(size) - size < (2 if size <= 128 else 4)
    assert padded(padded(size)) == padded(size)
