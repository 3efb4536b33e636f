"""The session of the extra `openvino`: the same graph, run by OpenVINO."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from biomux.engine import threads as all_threads
from biomux.engine.session import by_head, failed, inputs
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.packing import Batch


class OpenVinoSession:
    """Runs a bundle's graph as `OnnxSession` does, each batch on one thread, `at_once` of them side by side."""

    runtime = "openvino"

    def __init__(self, graph: bytes, columns: Mapping[str, tuple[int, int]], *, threads: int | None = None) -> None:
        self.at_once = all_threads.chosen(threads)
        try:
            import openvino
        except Exception as error:  # a broken install fails in many ways
            said = " ".join(str(error).split())[:200]
            raise UsageError(
                "BX003", f"cannot import openvino: {said}", hint="install it again: pip install 'biomux[openvino]'"
            ) from None
        try:
            core = openvino.Core()
            model = core.read_model(graph)
            settings = {
                "NUM_STREAMS": self.at_once,
                "INFERENCE_NUM_THREADS": self.at_once,
                # Unless told, it rounds to bf16 whatever it is given, on processors that have it.
                "INFERENCE_PRECISION_HINT": "f32",
                # Several workers would all be bound to the first cores.
                "ENABLE_CPU_PINNING": False,
            }
            self._compiled = core.compile_model(model, "CPU", settings)
        except Exception as error:
            raise failed("open", error) from None
        self._columns = dict(columns)
        self._requests = threading.local()

    def run(self, batch: Batch) -> Mapping[str, NDArray[np.float32]]:
        """Every head's logits for every word of the batch."""
        try:
            logits: NDArray[np.float32] = self._request().infer(inputs(batch))[0]
        except Exception as error:
            raise failed("run", error) from None
        return by_head(logits, self._columns)

    def _request(self) -> Any:
        """A request of this thread alone: one that two threads share would mix up their batches."""
        if not hasattr(self._requests, "own"):
            self._requests.own = self._compiled.create_infer_request()
        return self._requests.own
