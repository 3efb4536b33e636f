"""The session that comes with the base install: onnxruntime."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from biomux.engine.packing import Batch


class OnnxSession:
    """Runs a bundle's graph. `columns` are each head's logits among all."""

    def __init__(self, graph: bytes, columns: Mapping[str, tuple[int, int]], *, threads: int | None = None) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._columns = dict(columns)

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """Every head's logits for every word of the batch."""
        inputs = {"ids": batch.ids, "mask": batch.mask, "first": batch.first}
        logits: NDArray[np.float32] = self._session.run(["logits"], inputs)[0]
        return {name: logits[:, begin:end] for name, (begin, end) in self._columns.items()}
