"""A session computes what every head says about a packed batch. It keeps no state between calls and may be shared by threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from biomux.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.packing import Batch

LARGEST_LOGIT = 1e6
"""Beyond this a graph is broken; within it no probability overflows."""


class Session(Protocol):
    """For each head of a batch its logits: a row for each word (tagging), in the order of `batch.first`."""

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]: ...


def inputs(batch: Batch) -> dict[str, NDArray[np.int64]]:
    """What a bundle's graph reads of a batch, by name."""
    return {"ids": batch.ids, "mask": batch.mask, "first": batch.first}


def by_head(logits: NDArray[np.float32], columns: Mapping[str, tuple[int, int]]) -> dict[str, NDArray[np.float32]]:
    """Each head's columns of what a graph gave; refused if those are no usable numbers."""
    # A comparison that a logit which is no number fails too.
    if logits.size and not max(float(logits.max()), -float(logits.min())) <= LARGEST_LOGIT:
        raise failed("run", ArithmeticError("what it computes are no usable numbers"))
    return {name: logits[:, begin:end] for name, (begin, end) in columns.items()}


def failed(what: str, error: Exception) -> BundleError:
    """The error for when a runtime cannot open or run a graph."""
    said = " ".join(str(error).split())[:200]
    return BundleError(
        "BX540", f"the runtime cannot {what} the graph: {said}", hint="copy or download the bundle again"
    )
