"""Heads: what turns an encoder's vectors into a task's logits. One file each, one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.learn.heads import linear, two_layer

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

HEADS: dict[str, Callable[..., nn.Module]] = {
    "linear": linear.build,
    "two-layer": two_layer.build,
}
"""Name → builder taking the encoder's width, the number of labels and the head's own settings."""
