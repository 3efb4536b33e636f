"""The session that comes with the base install: onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.engine import threads as all_threads
from biomux.engine.graph_session import GraphSession
from biomux.engine.session import failed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from biomux.engine.graph_session import Place
    from biomux.engine.session import Floats


class OnnxSession(GraphSession):
    """Runs a bundle's graphs, each batch on one thread, `at_once` of them side by side. `places` say where each head's logits stand; `options` are onnxruntime's own."""

    runtime = "onnxruntime"

    def __init__(
        self,
        graph: bytes,
        places: Mapping[str, Place],
        *,
        pairs: bytes | None = None,
        threads: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.at_once = all_threads.chosen(threads)
        self._session = _opened(graph, options or {})
        self._of_pairs = None if pairs is None else _opened(pairs, {})
        super().__init__(places, [input_.name for input_ in self._session.get_inputs()])

    def compute(self, feeds: Mapping[str, NDArray[Any]], outputs: Collection[str]) -> dict[str, Floats]:
        """What the encoder's graph gives."""
        return dict(zip(outputs, self._session.run(list(outputs), dict(feeds)), strict=True))

    def compute_pairs(self, feeds: Mapping[str, NDArray[np.generic]], output: str) -> Floats:
        """One output of the graph of pairs."""
        if self._of_pairs is None:
            raise ValueError("there is no graph of pairs")
        logits: Floats = self._of_pairs.run([output], dict(feeds))[0]
        return logits


def _opened(graph: bytes, chosen: Mapping[str, Any]) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    for name, value in chosen.items():
        setattr(options, name, value)
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common base
        raise failed("open", error) from None
