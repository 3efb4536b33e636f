"""The word-level encoder, as two graphs: look-up tables for a word's own vector (`words`), and the layers that read neighbours (`write`).

A word's own vector depends only on its characters. The engine finds its rows, computes it once, and feeds the second graph with vectors
instead of `ids`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from biomux.training.encoders.lexical import words_with_vectors
from biomux.training.graph import convolution, recurrent
from biomux.training.graph.builder import Graph
from biomux.training.graph.encoded import Encoded, Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Precision
    from biomux.training.graph.encoded import Config, Pick, State

PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:  # noqa: ARG001
    """Residual windows, then a BiLSTM if there is one."""
    width, recurrence = int(config["width"]), bool(config["recurrent"])
    real = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), graph.integers(2))
    hidden = graph.add("Mul", "vectors", real)
    settings = {**config, "activation": "gelu"}
    if not recurrence:
        return convolution.blocks(graph, hidden, real, state, settings, pick)
    encoded = convolution.blocks(graph, hidden, real, state, settings, None)
    sizes = graph.add("ReduceSum", "mask", graph.integers(1), keepdims=0)
    turned = graph.add("Transpose", encoded.last, perm=[1, 0, 2])
    names = {f"recurrence.{part}_l0": f"recurrence.ahead.{part}_l0" for part in PARTS}
    names |= {f"recurrence.{part}_l0_reverse": f"recurrence.back.{part}_l0" for part in PARTS}
    states, _ = recurrent.both_ways(
        graph, turned, sizes, {name: state[source] for name, source in names.items()}, "recurrence"
    )
    hidden_states = graph.add("Mul", graph.add("Transpose", states, perm=[1, 0, 2]), real)
    return Encoded(pick(hidden_states, width), (*encoded.earlier, encoded.last), width)


def words(state: State, config: Config, *, precision: Precision) -> bytes:
    """The graph of words' own vectors: see `biomux.engine.word_vectors`. With int8, tables have a scale for each row."""
    graph = Graph(precision=precision)
    columns = graph.add("Split", "rows", outputs=3, axis=1, num_outputs=3)
    vector, word, shape = (graph.add("Squeeze", column, graph.integers(1)) for column in columns)
    grams = floats(state, "grams.weight")
    nothing = np.zeros((1, grams.shape[1]), np.float32)
    picked = graph.table(np.concatenate([grams, nothing]), "grams.words", "grams")
    total = graph.add("ReduceSum", picked, graph.integers(1), keepdims=0)
    parts = [
        graph.table(floats(state, "words.weight"), "hashed.words", word),
        graph.add("Div", total, graph.add("Cast", "sizes", to=TensorProto.FLOAT)),
        graph.table(floats(state, "shapes.weight"), "shapes.words", shape),
    ]
    if len(state["vectors"]):
        _, vector_rows = words_with_vectors(state)
        parts.insert(0, graph.table(floats(state, "vectors")[[0, *vector_rows]], "known.words", vector))
    mixed = graph.linear(
        graph.concat(parts, axis=-1), floats(state, "mix.weight").T, floats(state, "mix.bias"), "mix.words", exact=True
    )
    weights = {f"norm.{part}": floats(state, f"norm.{part}") for part in ("weight", "bias")}
    graph.named(graph.normalise(mixed, weights, "norm", convolution.EPSILON), "vectors")
    inputs: dict[str, list[Any]] = {"rows": ["words", 3], "grams": ["words", "grams"], "sizes": ["words", 1]}
    content: bytes = graph.model(inputs, {"vectors": ["words", int(config["width"])]}).SerializeToString()
    return content


FAMILY = Family(write, convolution.matrices, words=words)
