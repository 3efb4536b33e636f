"""The machine that something was measured on: figures of speed mean nothing without it."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from biomux import __version__
from biomux.engine.threads import usable_cores

TELLING = (
    "avx",
    "avx2",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "fma",
    "f16c",
    "asimd",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
    "sve2",
)
"""Flags of processors that decide how fast matrices are multiplied."""


VERSIONS = ("numpy", "onnxruntime", "tokenizers")


def describe(*, also: tuple[str, ...] = ()) -> dict[str, Any]:
    """Processor, cores, load and versions as plain data; `also` names more packages whose versions matter."""
    known_flags = flags()
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "usable_cores": usable_cores(),
        "flags": [flag for flag in TELLING if flag in known_flags],
        "memory_gb": _memory(),
        "load": _load(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {"biomux": __version__}
        | {name: stated for name in (*VERSIONS, *also) if (stated := version(name))},
    }


def line(machine: dict[str, Any]) -> str:
    """The description in one line, for the foot of a table."""
    flags = " ".join(machine["flags"]) or "no flags known"
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    load = "" if machine["load"] is None else f", load {machine['load']:.1f} when begun"
    return (
        f"{machine['processor']}, {machine['usable_cores']} of {machine['cores']} cores ({flags}){load}; "
        f"Python {machine['python']}, {versions}"
    )


def processor() -> str:
    """What the processor is called."""
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def flags() -> frozenset[str]:
    """What the processor says it can do; nothing where it does not say."""
    info = _cpuinfo()
    return frozenset((info.get("flags") or info.get("Features") or "").split())


def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first core; nothing elsewhere."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (entry.partition(":") for entry in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _load() -> float | None:
    """The mean number of busy processes in the last minute: what else was running."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def version(name: str) -> str | None:
    """The version of a package that is installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
