"""What a model costs: parameters, size on disk, time to train, and where it was measured speed and memory. Unknown stays unknown."""

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
"""Bytes that the header of a weights file may have, as safetensors itself has it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One model or measurement; None and "" are what nobody measured."""

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
            one.name,
            one.what,
            "" if one.parameters is None else _count(one.parameters),
            _size(one.bytes),
            "" if one.training_seconds is None else time_taken(one.training_seconds),
            "" if one.tokens is None else f"{one.tokens:,}",
            "" if one.words_per_second is None else f"{one.words_per_second:,.0f}",
            "" if one.latency is None else f"{1e3 * one.latency:.1f} ms",
            _size(one.memory),
            one.machine,
        )
        for one in found
    ]
    empty = [place for place in range(2, len(head)) if not any(row[place] for row in rows)]
    kept = [place for place in range(len(head)) if place not in empty]
    return [head[place] for place in kept], [tuple(row[place] or "not known" for place in kept) for row in rows]


def parameters(path: Path) -> int | None:
    """The numbers in a weights file, from its header alone; None if there is none that can be read."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= HEADER:
                return None
            header = json.loads(stream.read(length))
        return sum(int(prod(one["shape"])) for name, one in header.items() if name != "__metadata__")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def time_taken(seconds: float) -> str:
    """A time in the unit that suits it.

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
    sizes = [one.get("size") for one in files.values() if isinstance(one, dict)] if isinstance(files, dict) else []
    return Cost(bundle.name, "bundle", bytes=sum(size for size in sizes if isinstance(size, int)) or None)


def _bench(bench: Bench) -> Cost:
    found = bench.found
    return Cost(
        bench.name,
        f"measured on {found.get('text') or 'text'}, threads: {found.get('threads', '?')}",
        bytes=_of(found, "bundle", "bytes"),
        words_per_second=_of(found, "throughput", "words_per_second"),
        latency=_of(found, "latency", "median"),
        memory=_of(found, "memory", "many") or _of(found, "memory", "one_text"),
        machine=machine_line(found.get("machine")),
    )


def machine_line(machine: object) -> str:
    """Processor and cores in a few words; empty if nothing is said."""
    if not isinstance(machine, dict) or not machine:
        return ""
    from biomux.engine import machine as described

    try:
        return described.line(machine)
    except (KeyError, TypeError, ValueError, AttributeError):
        return str(machine.get("processor") or machine.get("cpu") or "")


def _of(found: Mapping[str, Any], part: str, key: str) -> Any:
    inner = found.get(part)
    value = inner.get(key) if isinstance(inner, dict) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: int) -> str:
    return f"{value / 1e6:.1f} million" if value >= 1e6 else f"{value:,}"


def _size(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:,.1f} MB" if value >= 1e5 else f"{value / 1e3:,.1f} kB"
