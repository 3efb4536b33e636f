"""The runtimes that a bundle's graph can be run by, and which of them is taken.

    onnxruntime   comes with Biomux; the one that bundles are measured and verified with
    openvino      of the extra `openvino`
    auto          onnxruntime, unless OpenVINO is installed, at least a tenth faster here, and of the same answers

For `auto` both are measured, once for a graph, a number of threads, a processor and versions; `remembered` keeps the outcome.
Where nothing may be kept (BIOMUX_CACHE=off) nothing is measured either.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Literal, get_args

from biomux.errors import BiomuxError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from biomux.engine.packing import Batch
    from biomux.engine.session import Session

    Columns = Mapping[str, tuple[int, int]]
    Listen = Callable[[str], None]

Name = Literal["onnxruntime", "openvino"]
Runtime = Literal["auto", "onnxruntime", "openvino"]
RUNTIMES: tuple[Runtime, ...] = get_args(Runtime)
REFERENCE: Name = "onnxruntime"
OTHER: Name = "openvino"
KEPT = "runtime"
"""What the outcome is remembered as."""

WAY = 1
"""Raised when the measurement changes: outcomes of another one no longer count."""


def silent(_: str) -> None:
    """A listener that does not care."""


def usable(runtime: str) -> Runtime:
    """A runtime by its name; refused if there is none of that name, or if it is not installed."""
    found = next((known for known in RUNTIMES if known == runtime), None)
    if found is None:
        raise UsageError("BX001", f"there is no runtime {runtime!r}", hint=f"one of: {', '.join(RUNTIMES)}")
    if found == OTHER and not installed():
        raise UsageError("BX003", "the runtime openvino is not installed", hint="pip install 'biomux[openvino]'")
    return found


def installed() -> bool:
    """Whether OpenVINO is, without importing it. A folder that only has its name is none."""
    found = importlib.util.find_spec(OTHER)
    return found is not None and found.origin is not None


def open_session(graph: bytes, columns: Columns, *, threads: int | None = None, runtime: Name = REFERENCE) -> Session:
    """A session over a graph that `onnx_check` has let pass."""
    if usable(runtime) == OTHER:
        from biomux.engine.openvino import OpenVinoSession

        return OpenVinoSession(graph, columns, threads=threads)
    from biomux.engine.onnx import OnnxSession

    return OnnxSession(graph, columns, threads=threads)


def choose(
    graph: bytes,
    columns: Columns,
    batches: Callable[[], Sequence[Batch]],
    *,
    threads: int | None = None,
    runtime: str = "auto",
    listen: Listen = silent,
) -> Name:
    """The runtime that is meant. `batches` makes what `auto` measures on, should it have to; `listen` hears that it does."""
    named = usable(runtime)
    if named != "auto":
        return named
    if not installed():
        return REFERENCE
    from biomux.engine import remembered

    if remembered.folder() is None:
        return REFERENCE
    key = _key(graph, threads)
    kept = remembered.recall(KEPT, key)
    if kept is not None and kept.get("runtime") in (REFERENCE, OTHER):
        return OTHER if kept["runtime"] == OTHER else REFERENCE
    listen(f"measuring, once for this bundle and machine, whether {OTHER} is faster than {REFERENCE}: some seconds")
    taken, why, told = _measured(graph, columns, batches(), threads)
    there = told is None or remembered.keep(KEPT, key, {"runtime": taken, **told})
    listen(f"{why}: {taken} is taken" + ("" if there else "; that cannot be kept, so name it with --runtime next time"))
    return taken


def _measured(
    graph: bytes, columns: Columns, batches: Sequence[Batch], threads: int | None
) -> tuple[Name, str, dict[str, float | str] | None]:
    """The runtime to take, why, and what to remember with it; None where that may be otherwise the next time."""
    from biomux.engine.race import race

    reference = open_session(graph, columns, threads=threads)
    try:
        outcome = race(reference, open_session(graph, columns, threads=threads, runtime=OTHER), batches)
    except UsageError as error:  # a broken install, which may be repaired without a change of version
        return REFERENCE, error.message, None
    except BiomuxError as error:
        return REFERENCE, f"{OTHER} cannot run it", {"error": error.message}
    told: dict[str, float | str] = {"speed": round(outcome.speed, 3), "differing": outcome.differing}
    if outcome.differing:
        return REFERENCE, f"{OTHER} gives other answers ({outcome.differing} of {outcome.answers})", told
    why = f"{OTHER} is {outcome.speed:.2f} times as fast"
    return OTHER if outcome.won else REFERENCE, why, told


def _key(graph: bytes, threads: int | None) -> dict[str, str | int | None]:
    import hashlib

    from biomux.engine import machine
    from biomux.engine import threads as all_threads

    return {
        "graph": hashlib.sha256(graph).hexdigest(),
        "threads": all_threads.chosen(threads),
        "processor": machine.processor(),
        "flags": " ".join(flag for flag in machine.TELLING if flag in machine.flags()),
        REFERENCE: machine.version(REFERENCE),
        OTHER: machine.version(OTHER),
        "way": WAY,
    }
