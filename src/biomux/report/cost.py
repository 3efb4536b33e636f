"""What a model costs: parameters, size on disk, time to train, and speed and memory if they were measured. What is not known is left empty."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from biomux.recipes.run_folder import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from biomux.evaluation.score_tables import Table
    from biomux.report.report_inputs import Bench, Given, ReportBundle, ReportRun

HEADER = 100_000_000
"""The maximum size of the header of a weights file in bytes, as in safetensors itself."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One model or measurement; None and "" mean not measured."""

    name: str
    what: str
    parameters: int | None = None
    bytes: int | None = None
    training_seconds: float | None = None
    tokens: int | None = None
    words_per_second: float | None = None
    latency: float | None = None
    memory: float | None = None
    machine: str = ""


def costs(given: Given) -> list[Cost]:
    """A row for each run, bundle and measurement."""
    return [
        *map(_run, given.runs),
        *map(_bundle, given.bundles),
        *map(_bench, given.benches),
    ]


def cost_table(found: list[Cost]) -> Table:
    """The rows as text."""
    head = [
        "model",
        "kind",
        "parameters",
        "size on disk",
        "training time",
        "tokens read",
        "words a second",
        "latency",
        "peak memory",
        "machine",
    ]
    rows = [
        (
            cost.name,
            cost.what,
            "" if cost.parameters is None else _count(cost.parameters),
            _size(cost.bytes),
            "" if cost.training_seconds is None else time_taken(cost.training_seconds),
            "" if cost.tokens is None else f"{cost.tokens:,}",
            "" if cost.words_per_second is None else f"{cost.words_per_second:,.0f}",
            "" if cost.latency is None else f"{1e3 * cost.latency:.1f} ms",
            _size(cost.memory),
            cost.machine,
        )
        for cost in found
    ]
    empty = [place for place in range(2, len(head)) if not any(row[place] for row in rows)]
    filled = [place for place in range(len(head)) if place not in empty]
    return [head[place] for place in filled], [tuple(row[place] or "not known" for place in filled) for row in rows]


def parameters(path: Path) -> int | None:
    """The numbers in a weights file, from its header alone; None if it cannot be read."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= HEADER:
                return None
            header = json.loads(stream.read(length))
        return sum(int(prod(tensor["shape"])) for name, tensor in header.items() if name != "__metadata__")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def time_taken(seconds: float) -> str:
    """A time in a suitable unit.

    >>> time_taken(42), time_taken(3301), time_taken(9000)
    ('42 s', '55 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _run(run: ReportRun) -> Cost:
    weights = run.folder / WEIGHTS
    history = run.history
    return Cost(
        run.name,
        f"run, {history.state}",
        parameters(weights),
        weights.stat().st_size if weights.is_file() else None,
        history.seconds or None,
        history.tokens or None,
        machine=machine_line(run.machine),
    )


def _bundle(bundle: ReportBundle) -> Cost:
    files = bundle.manifest.get("files")
    sizes = [file.get("size") for file in files.values() if isinstance(file, dict)] if isinstance(files, dict) else []
    return Cost(bundle.name, "bundle", bytes=sum(size for size in sizes if isinstance(size, int)) or None)


def _bench(bench: Bench) -> Cost:
    measured = bench.found
    return Cost(
        bench.name,
        f"measured on {measured.get('text') or 'text'}, threads: {measured.get('threads', '?')}",
        bytes=_of(measured, "bundle", "bytes"),
        words_per_second=_of(measured, "throughput", "words_per_second"),
        latency=_of(measured, "latency", "median"),
        memory=_of(measured, "memory", "many") or _of(measured, "memory", "one_text"),
        machine=machine_line(measured.get("machine")),
    )


def machine_line(machine: object) -> str:
    """Processor and cores in a few words; empty if not known."""
    if not isinstance(machine, dict) or not machine:
        return ""
    from biomux.engine import machine as described

    try:
        return described.line(machine)
    except (KeyError, TypeError, ValueError, AttributeError):
        return str(machine.get("processor") or machine.get("cpu") or "")


def _of(measured: Mapping[str, Any], part: str, key: str) -> Any:
    inner = measured.get(part)
    value = inner.get(key) if isinstance(inner, dict) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: int) -> str:
    return f"{value / 1e6:.1f} million" if value >= 1e6 else f"{value:,}"


def _size(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:,.1f} MB" if value >= 1e5 else f"{value / 1e3:,.1f} kB"
