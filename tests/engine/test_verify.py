"""What `biomux verify` makes of a bundle's own examples."""

from __future__ import annotations

import math

import numpy as np

from biomux.engine.bundle.verify import _margin


def test_the_margin_is_between_the_best_label_and_the_next() -> None:
    logits = {"a": np.array([[0, 1, 5], [9, 2, 3]], dtype=np.float32), "b": np.array([[7, 4]], dtype=np.float32)}
    assert _margin(logits, ["a", "b"]) == 3
    assert _margin(logits, ["a"]) == 4
    assert _margin({"a": np.zeros((0, 3), dtype=np.float32)}, ["a", "none"]) == math.inf
