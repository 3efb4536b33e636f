"""Where to compute: on a CUDA device if there is one, unless the recipe says otherwise."""

from __future__ import annotations

import os
from typing import Literal

import torch

from biomux.errors import TrainingError

Device = Literal["auto", "cpu", "cuda"]


def choose(wanted: Device) -> torch.device:
    """The device that a recipe's `loop.device` means here. Each of several processes uses the CUDA device of its own number."""
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise TrainingError(
            "BX408",
            "no CUDA device is available to torch",
            where="loop → device",
            hint="set loop.device=cpu, or leave it at auto",
        )
    if wanted == "cpu" or not available:
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
