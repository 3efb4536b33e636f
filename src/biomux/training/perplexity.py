"""Perplexity on held-out text: among how many tokens the model is undecided, on average, at each masked one. 1 is certainty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from biomux.training import precision
from biomux.training.batches import collate
from biomux.training.objectives import cross_entropy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.engine.packing import Specials
    from biomux.tasks.examples import Example
    from biomux.training.model import Model

SEED = 20_011
"""Decides which tokens are masked: the same ones whenever a text is scored, whatever the seed of the run."""


def perplexity(
    model: Model,
    head: str,
    windows: Sequence[Example],
    specials: Specials,
    *,
    rows: int,
    most: int | None = None,
    numbers: Literal["auto", "fp32", "bf16", "fp16"] = "auto",
) -> float:
    """The perplexity of a head's predictions at the masked tokens of the windows: of at most `most`, spread over all. `rows` windows are read at a time."""
    chosen = np.arange(len(windows))
    if most is not None and most < len(windows):
        chosen = np.linspace(0, len(windows) - 1, most).round().astype(np.int64)
    was_training, device = model.training, model.device
    model.eval()
    total, positions = 0.0, 0
    with torch.inference_mode(), precision.autocast(precision.choose(numbers, device), device):
        for begin in range(0, len(chosen), rows):
            indices = chosen[begin : begin + rows].tolist()
            part = collate([windows[place] for place in indices], specials, seed=(SEED, begin))
            target = part.targets[head]
            if not len(target.rows):
                continue
            logits = model.heads[head](model.features(part.batch), torch.from_numpy(target.rows).to(device))
            total += float(cross_entropy.summed(logits, torch.from_numpy(target.labels).to(device)))
            positions += len(target.rows)
    model.train(was_training)
    return math.exp(min(total / max(positions, 1), 700.0))
