"""The session of the extra `openvino`: the same graphs, run by OpenVINO."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from biomux.engine import threads as all_threads
from biomux.engine.graph_session import GraphSession
from biomux.engine.session import failed
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.graph_session import Place
    from biomux.engine.session import Floats


class OpenVinoSession(GraphSession):
    """Runs a bundle's graphs as `OnnxSession` does, each batch on one thread, `at_once` of them side by side."""

    runtime = "openvino"

    def __init__(
        self, graph: bytes, places: Mapping[str, Place], *, pairs: bytes | None = None, threads: int | None = None
    ) -> None:
        self.at_once = all_threads.chosen(threads)
        try:
            import openvino
        except Exception as error:  # a broken install fails in many ways
            reason = " ".join(str(error).split())[:200]
            raise UsageError(
                "BX003", f"cannot import openvino: {reason}", hint="install it again: pip install 'biomux[openvino]'"
            ) from None
        try:
            core = openvino.Core()
            settings = {
                "NUM_STREAMS": self.at_once,
                "INFERENCE_NUM_THREADS": self.at_once,
                # Unless told, it rounds to bf16 whatever it is given, on processors that have it.
                "INFERENCE_PRECISION_HINT": "f32",
                # Several workers would all be bound to the first cores.
                "ENABLE_CPU_PINNING": False,
            }
            self._compiled = {
                name: core.compile_model(core.read_model(content), "CPU", settings)
                for name, content in (("graph", graph), ("pairs", pairs))
                if content is not None
            }
        except Exception as error:
            raise failed("open", error) from None
        self._requests = threading.local()
        super().__init__(places, [input_.get_any_name() for input_ in self._compiled["graph"].inputs])

    def compute(self, feeds: Mapping[str, NDArray[Any]], outputs: Collection[str]) -> dict[str, Floats]:
        """What the encoder's graph gives."""
        results = self._request("graph").infer(dict(feeds))
        return {name: results[name] for name in outputs}

    def compute_pairs(self, feeds: Mapping[str, NDArray[np.generic]], output: str) -> Floats:
        """One output of the graph of pairs."""
        logits: Floats = self._request("pairs").infer(dict(feeds))[output]
        return logits

    def _request(self, name: str) -> Any:
        """A request of this thread alone: one that two threads share would mix up their batches."""
        if not hasattr(self._requests, name):
            setattr(self._requests, name, self._compiled[name].create_infer_request())
        return getattr(self._requests, name)
