"""LSTMs in both directions over sequences of unlike length; fp32 always."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from biomux.training.graph.encoded import floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import State


def both_ways(
    graph: Graph, rows: str, sizes: str, state: State, name: str, *, called: str | None = None
) -> tuple[str, str]:
    """The states of each step, and those after the last; both directions side by side. `called` is the name in the graph.

    | | shape |
    |---|---|
    | rows | steps × sequences × width |
    | sizes | sequences: how many steps each has, at least one |
    | states | steps × sequences × 2 hidden |
    | last | sequences × 2 hidden |
    """
    counts = graph.add("Cast", sizes, to=TensorProto.INT32)
    ahead, end = _one_way(graph, rows, counts, state, name, "", called or name)
    turned = graph.add("ReverseSequence", rows, sizes, batch_axis=1, time_axis=0)
    behind, begin = _one_way(graph, turned, counts, state, name, "_reverse", called or name)
    back = graph.add("ReverseSequence", behind, sizes, batch_axis=1, time_axis=0)
    states: str = graph.add("Concat", ahead, back, axis=-1)
    last: str = graph.add("Concat", end, begin, axis=-1)
    return states, last


def _one_way(
    graph: Graph, rows: str, counts: str, state: State, name: str, suffix: str, called: str
) -> tuple[str, str]:
    parts = [floats(state, f"{name}.{part}_l0{suffix}") for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    hidden = parts[1].shape[1]
    inputs, recurrent, offset, other = (_gates(part, hidden) for part in parts)
    constants = [
        graph.constant(value[None], f"{called}{suffix}.{part}")
        for part, value in (
            ("input", inputs),
            ("recurrent", recurrent),
            ("bias", np.concatenate([offset, other])),
        )
    ]
    states, last = graph.add("LSTM", rows, *constants, counts, outputs=2, hidden_size=hidden)
    axis = graph.integers(0)
    # One direction: its axis is the second of the states and the first of what is left at the end.
    return graph.add("Squeeze", states, graph.integers(1)), graph.add("Squeeze", last, axis)


def _gates(values: NDArray[np.float32], hidden: int) -> NDArray[np.float32]:
    """Input, forget, cell, output in torch; input, output, forget, cell in ONNX."""
    first, forget, cell, output = (values[at * hidden : (at + 1) * hidden] for at in range(4))
    return np.concatenate([first, output, forget, cell])
