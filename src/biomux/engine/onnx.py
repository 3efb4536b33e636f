"""The session that comes with the base install: onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.engine import threads as all_threads
from biomux.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.packing import Batch

LARGEST_LOGIT = 1e6
"""Beyond this a graph is broken; within it no probability overflows."""


class OnnxSession:
    """Runs a bundle's graph. `columns` are each head's logits among all."""

    def __init__(self, graph: bytes, columns: Mapping[str, tuple[int, int]], *, threads: int | None = None) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = all_threads.chosen(threads)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no common base
            raise _failed("open", error) from None
        self._columns = dict(columns)

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """Every head's logits for every word of the batch."""
        inputs = {"ids": batch.ids, "mask": batch.mask, "first": batch.first}
        try:
            logits: NDArray[np.float32] = self._session.run(["logits"], inputs)[0]
        except Exception as error:
            raise _failed("run", error) from None
        # A comparison that a logit which is no number fails too.
        if logits.size and not max(float(logits.max()), -float(logits.min())) <= LARGEST_LOGIT:
            raise _failed("run", ArithmeticError("what it computes are no usable numbers"))
        return {name: logits[:, begin:end] for name, (begin, end) in self._columns.items()}


def _failed(what: str, error: Exception) -> BundleError:
    said = " ".join(str(error).split())[:200]
    return BundleError("BX540", f"the runtime cannot {what} the graph: {said}", hint="fetch the bundle again")
