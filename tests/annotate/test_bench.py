"""The benchmark: its statistics, its report, and that it measures a tiny bundle from end to end."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from biomux.annotate import bench, invented
from biomux.annotate.bench_report import STAGES, Report, Throughput, times
from biomux.engine import load, machine, peak
from biomux.engine.operations import Operations
from biomux.engine.packing import Batch, padded
from biomux.text import sentences

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = {
    "processor": "Some processor",
    "cores": 2,
    "usable_cores": 2,
    "flags": ["avx2"],
    "memory_gb": 8.0,
    "load": 0.1,
    "system": "Linux",
    "python": "3.11",
    "versions": {"biomux": "0"},
}


def report(**changed: Any) -> Report:
    seconds = {"session": 6.0, "sentences": 0.5, "tokenizing": 1.0, "packing": 0.5, "decoding": 1.5, "writing": 0.5}
    values: dict[str, Any] = {
        "machine": MACHINE,
        "bundle": {"name": "some", "bytes": 17_000_000, "heads": 3},
        "threads": 2,
        "runtime": "onnxruntime",
        "text": "invented abstracts",
        "latency": times([0.01, 0.02, 0.03]),
        "latency_words": 160,
        "throughput": Throughput(100, 16_000, 19_000, 20_000, 20, seconds, int8=600e9, fp32=60e9),
        "cold_start": times([0.8, 0.9]),
        "memory": {"one_text": 150e6, "many": None, "many_words": 16_000},
        "installed": {"numpy": 70_000_000, "biomux": 1_000_000},
        "peaks": (
            peak.Peak("fp32", {(1, 2, 3): 50.0}),
            peak.Peak("bf16", {}, "none here"),
            peak.Peak("int8", {(1, 2, 3): 200.0}),
        ),
    }
    return Report(**values | changed)


@given(st.lists(st.floats(0.001, 100), min_size=1))
def test_best_median_and_p95_lie_among_what_was_measured(seconds: list[float]) -> None:
    found = times(seconds)
    assert found.runs == len(seconds)
    assert found.best == min(seconds)
    assert math.isclose(found.median, float(np.median(seconds)))
    assert found.p95 in seconds
    assert sum(one <= found.p95 for one in seconds) >= 0.95 * len(seconds)


def test_nothing_measured_is_nan() -> None:
    assert math.isnan(times([]).median)


def test_shares_add_up_and_padding_is_a_share_of_what_is_read() -> None:
    done = report().throughput
    assert math.isclose(sum(done.shares.values()), 1.0)
    assert done.shares["session"] == pytest.approx(0.6)
    assert done.padding == pytest.approx(0.05)
    assert done.gops == pytest.approx(110.0)


def test_a_session_is_held_against_the_peaks() -> None:
    # 600 at 200 and 60 at 50 would take 4.2 s; 6 s it took.
    assert report().of_peak == {"int8": pytest.approx(0.55), "attainable": pytest.approx(0.7)}
    assert report(peaks=()).of_peak == {"int8": None, "attainable": None}


def test_the_report_is_json_and_lines() -> None:
    told = json.loads(json.dumps(report().to_json(), allow_nan=False))
    assert set(told) == {
        "machine", "threads", "runtime", "bundle", "text", "latency", "throughput", "shares", "padding", "session", "peak", "cold_start",
        "memory", "installed",
    }  # fmt: skip
    assert told["throughput"]["words_per_second"] == pytest.approx(1600)
    assert told["peak"]["bf16"] == {"gops": None, "by_shape": {}, "why_not": "none here"}
    lines = dict(report().rows())
    assert lines["outside the session"] == "40.0%"
    assert "55% of the int8 peak" in lines["session"]
    assert "unknown" in lines["peak memory"]
    assert "bf16 none" in lines["matrix peak, GOP/s"]


def test_as_many_documents_as_the_time_allows() -> None:
    documents = list(invented.documents(60))
    assert len(bench.enough(documents, 1.0, seconds=0.1)) == 20
    assert bench.enough(documents, 0.0, seconds=1.0) == documents


def test_invented_abstracts_are_as_said() -> None:
    texts = [document.text for document in invented.documents(50)]
    assert len(set(texts)) == 50
    assert not any(sign in text for text in texts for sign in "{}|")
    assert 100 < sum(len(text.split()) for text in texts) / 50 < 250
    assert all(len(sentences.of(document)) >= 5 for document in invented.documents(5))


def test_operations_are_counted_from_the_graph(tmp_path: Path) -> None:
    from biomux.engine import bundle, operations

    width, layers = 32, 2
    exact = operations.count(bundle.read(tiny.bundle(tmp_path / "exact")).graph)
    attention, rest = 2 * 3 * width**2, 2 * (width**2 + 2 * width * 2 * width)
    matrices = layers * attention + (layers - 1) * rest  # what follows the last attention is of words
    assert exact == Operations(0, matrices, exact.fp32_word, layers * 2 * 2 * width)
    assert exact.fp32_word > rest
    rounded = operations.count(bundle.read(tiny.bundle(tmp_path / "rounded", precision="int8")).graph)
    assert (rounded.int8_piece, rounded.fp32_piece) == (matrices, 0)
    ids = np.zeros((3, 8), np.int64)
    batch = Batch(ids, np.ones_like(ids), np.arange(5), np.array([2, 2, 1]), np.arange(3))
    assert rounded.int8(batch) == 24 * matrices + 5 * rounded.int8_word
    assert rounded.int8_word + rounded.fp32_word == exact.fp32_word
    assert rounded.fp32(batch) == 5 * rounded.fp32_word + 24 * 8 * rounded.attention


def test_throughput_of_a_tiny_bundle(tmp_path: Path) -> None:
    annotator = load.load(tiny.bundle(tmp_path / "bundle"), threads=1)
    documents = list(invented.documents(3))
    done = bench.throughput(annotator, documents, Operations(1, 2, 3, 4))
    assert done.documents == 3
    assert done.words == sum(len(document.text.split()) for document in documents)
    assert set(done.seconds) == set(STAGES)
    assert 0 < done.pieces <= done.padded
    assert done.int8 == done.padded


def test_what_is_installed_is_counted_with_what_it_needs() -> None:
    found = bench.installed()
    assert {"biomux", "numpy", "onnxruntime", "tokenizers"} <= set(found)
    assert "torch" not in found
    assert all(size > 0 for size in found.values())


def test_the_peak_runs_and_says_why_where_it_cannot() -> None:
    for precision in peak.PRECISIONS:
        found = peak.measure(precision, threads=1, seconds=0.0)
        assert found.gops or found.why_not


def test_the_machine_is_described_in_one_line() -> None:
    line = machine.line(machine.describe())
    assert "\n" not in line
    assert "numpy" in line


@given(st.integers(1, 512))
def test_rows_are_padded_little(size: int) -> None:
    assert 0 <= padded(size) - size < (2 if size <= 128 else 4)
    assert padded(padded(size)) == padded(size)
