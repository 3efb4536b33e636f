"""The convolutional encoder: embeddings, then residual windows of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from biomux.training.encoders.convolution import MAXOUT
from biomux.training.graph import transformer
from biomux.training.graph.activations import ACTIVATIONS
from biomux.training.graph.encoded import Encoded, Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Pick, State

EPSILON = 1e-5


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:  # noqa: ARG001
    """Embeddings, then the blocks."""
    real = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.integers(2))
    hidden = graph.add("Mul", _norm(graph, _embed(graph, state, config), state, "norm"), real)
    return blocks(graph, hidden, real, state, config, pick)


def blocks(graph: Graph, hidden: str, real: str, state: State, config: Config, pick: Pick | None) -> Encoded:
    """Residual windows over vectors that are zero where `real` is. The last block mixes only the picked rows, or all of them without `pick`."""
    width, window, maxout = int(config["width"]), int(config["window"]), config["activation"] == "maxout"
    earlier = []
    for block, (name,) in enumerate(matrices(config)):
        windows = _neighbours(graph, hidden, window, width)
        earlier.append(hidden)
        last = block == int(config["blocks"]) - 1 and pick is not None
        if last and pick is not None:
            windows, hidden, real = pick(windows, width * (2 * window + 1)), pick(hidden, width), pick(real, 1)
        mixed = transformer.dense(graph, windows, state, name)
        if maxout:
            shaped = graph.reshape(mixed, *((-1,) if last else (0, 0)), width, MAXOUT)
            mixed = graph.add("ReduceMax", shaped, graph.integers(-1), keepdims=0)
        else:
            mixed = ACTIVATIONS[config["activation"]](graph, mixed)
        normed = _norm(graph, mixed, state, f"layer.{block}.norm")
        hidden = graph.add("Mul", graph.add("Add", hidden, normed), real)
    return Encoded(hidden, tuple(earlier), width)


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:
    """One per block."""
    return tuple((f"layer.{block}.mix",) for block in range(int(config["blocks"])))


def _embed(graph: Graph, state: State, config: Config) -> str:
    table = floats(state, "embeddings.weight")
    if config["embedding"] != "hashed":
        return graph.table(table, transformer.WORDS, "ids")
    places = graph.add("Gather", graph.constant(state["places"].astype(np.int64), transformer.WORDS), "ids", axis=0)
    features = graph.table(table, "embeddings.rows", places)
    out: str = graph.add("ReduceSum", features, graph.integers(2), keepdims=0)
    return out


def _neighbours(graph: Graph, hidden: str, window: int, width: int) -> str:
    """Each token's vector between those of its neighbours, zeros beyond the edges."""
    edge = graph.zeros(graph.size("mask", 0), window, width)
    wide = graph.add("Concat", edge, hidden, edge, axis=1)
    length, axis = graph.size("mask", 1), graph.integers(1)
    parts = []
    for shift in range(2 * window + 1):
        begin = graph.integers(shift)
        parts.append(graph.add("Slice", wide, begin, graph.add("Add", length, begin), axis))
    return graph.concat(parts, axis=-1)


def _norm(graph: Graph, rows: str, state: State, name: str) -> str:
    weights = {f"{name}.{part}": floats(state, f"{name}.{part}") for part in ("weight", "bias")}
    return graph.normalise(rows, weights, name, EPSILON)


FAMILY = Family(write, matrices)
