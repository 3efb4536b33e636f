"""What encoders of BERT's kind have in common: embeddings, attention, a layer after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from biomux.training.graph.activations import ACTIVATIONS
from biomux.training.graph.encoded import floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import State

WORDS = "embeddings.words"
PLACES = "embeddings.places"


def places(graph: Graph, table: NDArray[np.float32]) -> str:
    """The vectors of the first so many positions as a window has tokens."""
    zero = graph.integers(0)
    out: str = graph.add("Slice", graph.constant(table, PLACES), zero, graph.size("ids", 1), zero)
    return out


def mask_bias(graph: Graph) -> str:
    """What is added to attention scores: nothing for a token, a large negative number for padding."""
    kept = graph.add("Cast", "mask", to=TensorProto.FLOAT)
    away = graph.add("Mul", graph.add("Sub", kept, graph.number(1)), graph.number(1e9))
    out: str = graph.add("Unsqueeze", away, graph.integers(1, 2))
    return out


def dense(graph: Graph, rows: str, state: State, name: str) -> str:
    """A linear layer of the encoder."""
    return graph.linear(rows, floats(state, f"{name}.weight").T, floats(state, f"{name}.bias"), name)


def projections(graph: Graph, hidden: str, state: State, names: Sequence[str], name: str, *, depth: int) -> list[str]:
    """Queries, keys and values as one product, where all read the same vectors; scores are scaled here."""
    matrices = [floats(state, f"{one}.weight").T.copy() for one in names]
    offsets = [floats(state, f"{one}.bias").copy() for one in names]
    matrices[0] /= np.sqrt(depth)
    offsets[0] /= np.sqrt(depth)
    mixed = graph.linear(hidden, np.concatenate(matrices, axis=1), np.concatenate(offsets), name)
    found: list[str] = graph.add("Split", mixed, outputs=3, axis=-1, num_outputs=3)
    return found


def attention(graph: Graph, mixed: Sequence[str], bias: str, *, heads: int, depth: int) -> str:
    """What each token reads of the others of its window; queries are scaled already."""
    query, key, value = mixed
    shape = graph.integers(0, 0, heads, depth)
    query = graph.add("Transpose", graph.add("Reshape", query, shape), perm=[0, 2, 1, 3])
    key = graph.add("Transpose", graph.add("Reshape", key, shape), perm=[0, 2, 3, 1])
    value = graph.add("Transpose", graph.add("Reshape", value, shape), perm=[0, 2, 1, 3])
    weights = graph.add("Softmax", graph.add("Add", graph.add("MatMul", query, key), bias), axis=-1)
    context = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    out: str = graph.add("Reshape", context, graph.integers(0, 0, heads * depth))
    return out


def normalise(graph: Graph, rows: str, residual: str, state: State, name: str, epsilon: float) -> str:
    """The sum of both, normalised."""
    weights = {f"{name}.{part}": floats(state, f"{name}.{part}") for part in ("weight", "bias")}
    return graph.normalise(graph.add("Add", rows, residual), weights, name, epsilon)


def feed_forward(graph: Graph, rows: str, state: State, wide: str, narrow: str, activation: str) -> str:
    """Token by token: a wide layer, the activation, a narrow layer."""
    inner = ACTIVATIONS[activation](graph, dense(graph, rows, state, wide))
    return dense(graph, inner, state, narrow)
