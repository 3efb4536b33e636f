"""OpenVINO says what onnxruntime says, for every encoder family and every kind of head."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from training import graphs

from biomux.engine import runtimes
from biomux.training.model import TorchSession

pytestmark = pytest.mark.skipif(not runtimes.installed(), reason="needs the extra openvino")


@pytest.mark.parametrize("encoder", graphs.ENCODERS)
def test_torch_and_openvino_agree(encoder: str) -> None:
    model, batch = graphs.model(encoder), graphs.batch()
    made, places = graphs.written(model)
    session = runtimes.open_session(made.graph, places, pairs=made.pairs, threads=1, runtime="openvino")
    expected, found = TorchSession(model).run(batch), session.run(batch)
    for head in graphs.HEADS:
        assert np.abs(found[head] - expected[head]).max() < 1e-4, head
        alone = session.run(replace(batch, heads=frozenset({head})))
        assert np.abs(alone[head] - expected[head]).max() < 1e-4, head
