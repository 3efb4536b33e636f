"""LSTMs in both directions over sequences of different lengths; always fp32."""

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
    """The states of each step, and those after the last one; both directions side by side. `called` is the name in the graph.

    | | shape |
    |---|---|
    | rows | steps × sequences × width |
    | sizes | sequences: how many steps each has, at least one |
    | states | steps × sequences × 2 hidden |
    | last | sequences × 2 hidden |
    """
    counts = graph.add("Cast", sizes, to=TensorProto.INT32)
    forward_states = _one_way(graph, rows, counts, state, name, "", called or name)
    turned = graph.add("ReverseSequence", rows, sizes, batch_axis=1, time_axis=0)
    reversed_states = _one_way(graph, turned, counts, state, name, "_reverse", called or name)
    backward_states = graph.add("ReverseSequence", reversed_states, sizes, batch_axis=1, time_axis=0)
    states: str = graph.add("Concat", forward_states, backward_states, axis=-1)
    width = 2 * state[f"{name}.weight_hh_l0"].shape[1]
    return states, _last(graph, graph.add("Concat", forward_states, reversed_states, axis=-1), sizes, width)


def _last(graph: Graph, read: str, sizes: str, width: int) -> str:
    """The states after the last step of each sequence, in either order of reading. The operator's own output would do, but OpenVINO's differs."""
    one = graph.integers(1)
    ones = graph.add("Add", graph.add("Mul", sizes, graph.integers(0)), one)
    number = graph.add("Sub", graph.add("CumSum", ones, graph.constant(np.array(0, np.int64))), one)
    step = graph.add("Mul", graph.add("Sub", sizes, one), graph.add("Shape", sizes))
    out: str = graph.add("Gather", graph.reshape(read, -1, width), graph.add("Add", step, number), axis=0)
    return out


def _one_way(graph: Graph, rows: str, counts: str, state: State, name: str, suffix: str, called: str) -> str:
    """The states of one direction, in the order in which it reads."""
    parts = [floats(state, f"{name}.{part}_l0{suffix}") for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    hidden = parts[1].shape[1]
    inputs, recurrent, input_bias, recurrent_bias = (_gates(part, hidden) for part in parts)
    constants = [
        graph.constant(value[None], f"{called}{suffix}.{part}")
        for part, value in (
            ("input", inputs),
            ("recurrent", recurrent),
            ("bias", np.concatenate([input_bias, recurrent_bias])),
        )
    ]
    states = graph.add("LSTM", rows, *constants, counts, hidden_size=hidden)
    out: str = graph.add("Squeeze", states, graph.integers(1))
    return out


def _gates(values: NDArray[np.float32], hidden: int) -> NDArray[np.float32]:
    """Input, forget, cell, output in torch; input, output, forget, cell in ONNX."""
    first, forget, cell, output = (values[at * hidden : (at + 1) * hidden] for at in range(4))
    return np.concatenate([first, output, forget, cell])
