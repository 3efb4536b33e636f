"""MPNet's encoder: positions are counted over tokens that are not padding, and attention is biased by the distance of two tokens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from biomux.training.graph import transformer
from biomux.training.graph.encoded import Family, floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Encoded, Pick, State

PADDING = 1
"""The token that has no position, whatever the tokenizer pads with."""
BUCKETS = 32
FARTHEST = 128
"""Distances from here on share a bucket."""


MATRICES = ("attention.attn", "attention.attn.o", "intermediate.dense", "output.dense")


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:  # noqa: ARG001
    """Embeddings, then layers; all of them add the same bias to attention."""
    layers = transformer.Layers.of(
        config,
        projections=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        matrices=MATRICES,
        norms=("attention.LayerNorm", "output.LayerNorm"),
    )
    words = graph.table(floats(state, "embeddings.word_embeddings.weight"), transformer.WORDS, "ids")
    positions = floats(state, "embeddings.position_embeddings.weight")
    table = graph.constant(positions, transformer.PLACES)
    placed = graph.add("Gather", table, _positions(graph), axis=0)
    hidden = transformer.normalise(graph, words, placed, state, "embeddings.LayerNorm", layers.epsilon)
    far = _distances(graph, floats(state, "encoder.relative_attention_bias.weight"), len(positions))
    bias = graph.add("Add", transformer.mask_bias(graph), far)
    return layers.write(graph, hidden, bias, state, pick)


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:
    """Of each layer: attention in, attention out, feed-forward in and out."""
    return transformer.layer_names(transformer.PREFIX, int(config["num_hidden_layers"]), MATRICES)


def _positions(graph: Graph) -> str:
    """1 for padding, consecutive numbers from 2 on for everything else."""
    one = graph.integers(PADDING)
    padding = graph.add("Cast", graph.add("Equal", "ids", one), to=TensorProto.INT64)
    real = graph.add("Sub", one, padding)
    counted = graph.add("CumSum", real, graph.constant(np.array(1, np.int64)))
    out: str = graph.add("Add", graph.add("Mul", counted, real), one)
    return out


def _distances(graph: Graph, bias: NDArray[np.float32], longest: int) -> str:
    """Heads × length × length: the bias of the attention score between two tokens, by their distance."""
    number = np.arange(longest)
    buckets = bucket(number[None, :] - number[:, None]).astype(np.uint8)
    length = graph.size("ids", 1)
    square = graph.add("Concat", length, length, axis=0)
    zeros, axes = graph.integers(0, 0), graph.integers(0, 1)
    near = graph.add("Slice", graph.constant(buckets, "embeddings.distances"), zeros, square, axes)
    picked = graph.add(
        "Gather", graph.constant(bias, "embeddings.bias"), graph.add("Cast", near, to=TensorProto.INT64), axis=0
    )
    out: str = graph.add("Transpose", picked, perm=[2, 0, 1])
    return out


def bucket(distance: NDArray[np.int64]) -> NDArray[np.int64]:
    """Near distances have their own buckets, far ones share buckets by their logarithm; each direction has half of the buckets.

    >>> bucket(np.array([0, 1, -1, 7, 8, -200])).tolist()
    [0, 17, 1, 23, 24, 15]
    """
    half, exact = BUCKETS // 2, BUCKETS // 4
    size = np.abs(distance)
    # In the precision that the encoder was trained with: a quotient may fall to the other side of a whole number.
    ratio = np.log(np.maximum(size, 1).astype(np.float32) / np.float32(exact))
    steps = ratio / np.float32(math.log(FARTHEST / exact)) * np.float32(half - exact)
    far = np.minimum(exact + steps.astype(np.int64), half - 1)
    buckets: NDArray[np.int64] = np.where(distance > 0, half, 0) + np.where(size < exact, size, far)
    return buckets


FAMILY = Family(write, matrices, ("embeddings.position_embeddings.weight", PADDING + 1))
