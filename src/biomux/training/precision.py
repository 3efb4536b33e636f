"""The precision that a device computes with: half precision only if it has instructions for it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch

from biomux.errors import TrainingError

Precision = Literal["auto", "fp32", "bf16", "fp16"]
Numbers = Literal["fp32", "bf16", "fp16"]

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}
TENSOR_CORES = (7, 0)
"""The CUDA capability from which fp16 is faster than fp32."""


def choose(wanted: Precision, device: torch.device) -> Numbers:
    """What a recipe's `loop.precision` means on a device; refused if the device does not support it.

    "auto" is bf16 if there are instructions for it, otherwise fp16 on a CUDA device that is faster with it, otherwise fp32. A
    processor without bf16 instructions emulates them, tens of times slower than fp32: that is done only when asked for.
    """
    if wanted == "fp32":
        return "fp32"
    if wanted == "auto":
        return "bf16" if _fast_bf16(device) else "fp16" if _fast_fp16(device) else "fp32"
    if wanted == "fp16" and device.type == "cpu" and not _fast_fp16(device):
        raise _absent("fp16", device, "bf16 or fp32")
    if wanted == "bf16" and device.type == "cuda" and not _fast_bf16(device):
        raise _absent("bf16", device, "fp16 or fp32")
    return wanted


def _fast_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool({"amx_bf16", "avx512_bf16"} & flags())


def _fast_fp16(device: torch.device) -> bool:
    """Processors with fp16 instructions do not matter for "auto": all of them have bf16 too."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= TENSOR_CORES
    return device.type == "cpu" and bool({"amx_fp16", "avx512_fp16"} & flags())


def _absent(missing: str, device: torch.device, alternatives: str) -> TrainingError:
    return TrainingError(
        "BX408",
        f"this {'processor' if device.type == 'cpu' else 'CUDA device'} has no {missing} arithmetic",
        where="loop → precision",
        hint=f"set loop.precision to {alternatives}, or leave it at auto",
    )


@cache
def flags() -> frozenset[str]:
    """The features that the processor reports; empty if it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    listed = (line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(listed, ()))


def autocast(numbers: Numbers, device: torch.device) -> AbstractContextManager[object]:
    """The context in which a forward pass is computed."""
    return nullcontext() if numbers == "fp32" else torch.autocast(device.type, dtype=KINDS[numbers])


def prefer_plain_attention(encoder: Any, numbers: Numbers, device: torch.device) -> None:
    """On a CPU in bf16, compute attention by plain matrix products: the backward pass of the fused kernel takes longer than all else together."""
    if device.type == "cpu" and numbers == "bf16" and hasattr(encoder, "use_plain_attention"):
        encoder.use_plain_attention()


def scaler(numbers: Numbers, device: torch.device) -> torch.amp.GradScaler | None:
    """Keeps small fp16 gradients from vanishing: the loss is scaled up, and the gradients are scaled down again."""
    return torch.amp.GradScaler(device.type) if numbers == "fp16" else None
