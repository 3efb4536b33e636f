"""A session computes what every head says about a packed batch. It keeps no state between calls and may be shared by threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.packing import Batch


class Session(Protocol):
    """For each head of a batch its logits: a row for each word (tagging), in the order of `batch.first`."""

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]: ...
