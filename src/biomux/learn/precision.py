"""Which numbers a device computes with: half-width ones only where it has instructions for them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal

import torch

Precision = Literal["auto", "fp32", "bf16"]


def choose(wanted: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """What "auto" means on a device. A processor without bf16 instructions emulates them, tens of times slower than fp32."""
    if wanted != "auto":
        return wanted
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if device.type == "cpu" and {"amx_bf16", "avx512_bf16"} & flags() else "fp32"


def flags() -> frozenset[str]:
    """What the processor says it can do; nothing where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = (line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(found, ()))


def autocast(precision: Literal["fp32", "bf16"], device: torch.device) -> AbstractContextManager[object]:
    """The context in which a forward pass is computed."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if precision == "bf16" else nullcontext()
