"""The session that comes with the base install: onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.engine import threads as all_threads
from biomux.engine.session import by_head, failed, inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.packing import Batch


class OnnxSession:
    """Runs a bundle's graph, each batch on one thread, `at_once` of them side by side. `columns` are each head's logits among all."""

    runtime = "onnxruntime"

    def __init__(self, graph: bytes, columns: Mapping[str, tuple[int, int]], *, threads: int | None = None) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        self.at_once = all_threads.chosen(threads)
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no common base
            raise failed("open", error) from None
        self._columns = dict(columns)

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """Every head's logits for every word of the batch."""
        try:
            logits: NDArray[np.float32] = self._session.run(["logits"], inputs(batch))[0]
        except Exception as error:
            raise failed("run", error) from None
        return by_head(logits, self._columns)
