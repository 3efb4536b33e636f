"""Heads: networks that turn an encoder's vectors into a task's logits. Each kind is one file and one line in the table below."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from biomux.training.heads import (
    answer,
    bilstm,
    crf,
    layer_mix,
    linear,
    masked_lm,
    pooled,
    regression,
    span_pair,
    two_layer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

HEADS: dict[str, Callable[..., nn.Module]] = {
    "linear": linear.build,
    "two-layer": two_layer.build,
    "pooled": pooled.build,
    "pair": partial(pooled.build, pooling="cls"),
    "regression": regression.build,
    "answer": answer.build,
    "pair-of-spans": span_pair.build,
    "masked-words": masked_lm.build,
    "mix": layer_mix.build,
    "bilstm": bilstm.build,
    "crf": crf.build,
}
"""Name → builder taking the encoder's width, the number of labels and the head's own settings; `encoder=` too if it asks for it.

A head is a module with `forward(features, rows) -> logits`. It may have `objective`, the loss that it learns by in place of its
task's, `loss(features, rows, labels)` if that needs more than logits, and `reads_layers`, if it reads the states of every layer.
"""
