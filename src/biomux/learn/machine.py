"""What a run was made on: figures of speed mean nothing without it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch

from biomux import __version__


def describe() -> dict[str, Any]:
    """Processor, memory, versions, as plain data."""
    import transformers

    told: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gb": _memory(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "biomux": __version__,
    }
    return told


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None
