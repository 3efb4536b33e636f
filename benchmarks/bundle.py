"""A bundle from text to written documents: speed, shares, peak, start and size beside what was promised, and where the session's time goes by operator."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import invented, stages
from benchmarks.contest import Table
from biomux.engine import load
from biomux.engine.bundle import reader as bundles
from biomux.engine.onnx_session import OnnxSession

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.document import Document

SHOWN = 14
"""Operators that get a row of their own."""


class ProfiledSession(OnnxSession):
    """A session under onnxruntime's profiler."""

    def __init__(self, found: bundles.Bundle, *, place: Path) -> None:
        options = {"enable_profiling": True, "profile_file_prefix": str(place / "profile")}
        super().__init__(found.graph, found.places, pairs=found.pairs, options=options)

    def by_operator(self) -> Counter[str]:
        """Operator → microseconds, all runs together."""
        found: Counter[str] = Counter()
        for event in json.loads(Path(self._session.end_profiling()).read_bytes()):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                found[event["args"]["op_name"]] += event["dur"]
        return found


def tables(name: str | None, *, seconds: float, threads: int, place: Path) -> list[Table]:
    """All that is said of a bundle."""
    folder = load.find(name)
    documents = list(invented.documents(2000))
    report = stages.measure(folder, documents, text="invented abstracts", seconds=seconds, threads=threads)
    done, memory = report.throughput, report.memory
    install = sum(report.installed.values()) / 1e6
    share = report.of_peak
    rows: list[tuple[Any, ...]] = [
        ("latency of one abstract, median, ms", report.latency.median * 1e3, None),
        ("latency of one abstract, p95, ms", report.latency.p95 * 1e3, None),
        ("words per second, text to written documents", done.words / done.total, None),
        ("abstracts per second", done.documents / done.total, None),
        ("tokens per second inside the session", done.tokens / done.seconds["session"], None),
        ("padding, %", 100 * done.padding, "under 5"),
        ("time outside the session, %", 100 * (1 - done.shares["session"]), "at most 25"),
        ("session, GOP/s", done.gops, None),
        ("session, % of the int8 peak", _percent(share["int8"]), "at least 50"),
        ("session, % of what its precisions allow", _percent(share["attainable"]), None),
        *((f"peak {one.precision}, GOP/s", one.gops, None) for one in report.peaks),
        ('cold start of `biomux annotate "text"`, median, s', report.cold_start.median, "at most 1.5"),
        ("peak memory of that, MB", _mega(memory["one_text"]), "at most 350"),
        (f"peak memory over {int(memory['many_words'] or 0):,} words, MB", _mega(memory["many"]), "at most 350"),
        ("bundle, MB", report.bundle["bytes"] / 1e6, None),
        ("base install with bundle, MB", install, "at most 280"),
    ]
    heads = report.bundle["heads"]
    return [
        Table(f"The bundle {folder.name}: {heads} heads, {report.threads} threads", ("", "measured", "goal"), tuple(rows)),
        Table("Where the time goes", ("stage", "%"), tuple((stage, 100 * part) for stage, part in done.shares.items())),
        _operators(folder, documents[:100], threads=report.threads, place=place),
    ]  # fmt: skip


def _operators(folder: Path, documents: Sequence[Document], *, threads: int, place: Path) -> Table:
    found = bundles.read(folder)
    session = ProfiledSession(found, place=place)
    for _ in replace(load.annotator(found, threads=threads), session=session).annotate(documents):
        pass
    spent = session.by_operator()
    total = sum(spent.values()) or 1
    most = spent.most_common(SHOWN)
    rows = [(name, 100 * time / total) for name, time in most]
    rows.append(("all others", 100 * (total - sum(time for _, time in most)) / total))
    note = f"Over {len(documents)} invented abstracts, by onnxruntime's profiler, which itself costs some time."
    return Table("Inside the session", ("operator", "%"), tuple(rows), (note,))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _mega(size: float | None) -> float | None:
    return None if size is None else size / 1e6
