"""What encoders of BERT's kind have in common: embeddings, attention, layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from biomux.training.graph.activations import ACTIVATIONS
from biomux.training.graph.encoded import Encoded, floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Pick, State

WORDS = "embeddings.words"
PLACES = "embeddings.places"
PREFIX = "encoder.layer"
"""The prefix of the names of BERT's layers."""


def places(graph: Graph, table: NDArray[np.float32]) -> str:
    """The vectors of as many positions as a window has tokens."""
    zero = graph.integers(0)
    out: str = graph.add("Slice", graph.constant(table, PLACES), zero, graph.size("ids", 1), zero)
    return out


def with_segments(graph: Graph, words: str, state: State, *, segments: bool) -> tuple[str, NDArray[np.float32]]:
    """The words' vectors and the table of positions, one of which has the segments' vectors added."""
    kinds = floats(state, "embeddings.token_type_embeddings.weight")
    positions = floats(state, "embeddings.position_embeddings.weight")
    if not segments:
        # Every token is in the first segment: its vector is the same everywhere, so the table of positions can include it.
        return words, positions + kinds[0]
    kind = graph.add("Gather", graph.constant(kinds, "embeddings.segments"), "segments", axis=0)
    return graph.add("Add", words, kind), positions


def mask_bias(graph: Graph) -> str:
    """What is added to attention scores: zero for a token, a large negative number for padding."""
    real = graph.add("Cast", "mask", to=TensorProto.FLOAT)
    away = graph.add("Mul", graph.add("Sub", real, graph.number(1)), graph.number(1e9))
    out: str = graph.add("Unsqueeze", away, graph.integers(1, 2))
    return out


def dense(graph: Graph, rows: str, state: State, name: str) -> str:
    """A linear layer of the encoder."""
    return graph.linear(rows, floats(state, f"{name}.weight").T, floats(state, f"{name}.bias"), name)


def projections(graph: Graph, hidden: str, state: State, names: Sequence[str], name: str, *, depth: int) -> list[str]:
    """Queries, keys and values as one product, since all read the same vectors; scores are scaled here."""
    matrices = [floats(state, f"{part}.weight").T.copy() for part in names]
    offsets = [floats(state, f"{part}.bias").copy() for part in names]
    matrices[0] /= np.sqrt(depth)
    offsets[0] /= np.sqrt(depth)
    mixed = graph.linear(hidden, np.concatenate(matrices, axis=1), np.concatenate(offsets), name)
    projected: list[str] = graph.add("Split", mixed, outputs=3, axis=-1, num_outputs=3)
    return projected


def attention(graph: Graph, mixed: Sequence[str], bias: str, *, heads: int, depth: int) -> str:
    """What each token reads from the others in its window; queries are scaled already."""
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


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of BERT and of encoders that differ from it only in names and sizes."""

    prefix: str
    """The prefix of the names of all layers, before a layer's number."""
    number: int
    width: int
    heads: int
    activation: str
    epsilon: float
    projections: tuple[str, str, str]
    """Queries, keys and values."""
    matrices: tuple[str, str, str, str]
    """Attention in, attention out, feed-forward in and out."""
    norms: tuple[str, str]
    """After attention, and after feed-forward."""

    @classmethod
    def of(
        cls,
        config: Config,
        *,
        projections: tuple[str, str, str],
        matrices: tuple[str, str, str, str],
        norms: tuple[str, str],
    ) -> Layers:
        """Layers under BERT's prefix, with sizes from a configuration with BERT's keys."""
        return cls(
            PREFIX,
            number=int(config["num_hidden_layers"]),
            width=int(config["hidden_size"]),
            heads=int(config["num_attention_heads"]),
            activation=config["hidden_act"],
            epsilon=float(config["layer_norm_eps"]),
            projections=projections,
            matrices=matrices,
            norms=norms,
        )

    def write(self, graph: Graph, hidden: str, bias: str, state: State, pick: Pick) -> Encoded:
        """Attention and feed-forward, layer by layer; after the attention of the last one, only the picked rows."""
        depth = self.width // self.heads
        earlier = []
        for layer, matrices in enumerate(layer_names(self.prefix, self.number, self.matrices)):
            name = f"{self.prefix}.{layer}"
            parts = [f"{name}.{part}" for part in self.projections]
            mixed = projections(graph, hidden, state, parts, matrices[0], depth=depth)
            context = attention(graph, mixed, bias, heads=self.heads, depth=depth)
            earlier.append(hidden)
            if layer == self.number - 1:
                # From here on tokens no longer read each other.
                context, hidden = pick(context, self.width), pick(hidden, self.width)
            attended = dense(graph, context, state, matrices[1])
            hidden = normalise(graph, attended, hidden, state, f"{name}.{self.norms[0]}", self.epsilon)
            narrow = feed_forward(graph, hidden, state, matrices[2], matrices[3], self.activation)
            hidden = normalise(graph, narrow, hidden, state, f"{name}.{self.norms[1]}", self.epsilon)
        return Encoded(hidden, tuple(earlier), self.width)


def layer_names(prefix: str, number: int, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The names of a layer's parts, for each layer."""
    return tuple(tuple(f"{prefix}.{layer}.{name}" for name in names) for layer in range(number))
