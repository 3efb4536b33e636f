"""MobileBERT's encoder: narrow layers between wide states, several feed-forward networks per layer, and scales instead of normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biomux.training.graph import transformer
from biomux.training.graph.encoded import Encoded, Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Pick, State

EPSILON = 1e-5
"""For normalisations that the configuration does not mention."""


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:
    """Embeddings of three neighbours, then layers; after the attention of the last one, only the picked rows."""
    width, inner, heads = int(config["hidden_size"]), _inner(config), int(config["num_attention_heads"])
    hidden = _embed(graph, state, config, segments=segments)
    bias = transformer.mask_bias(graph)
    earlier = []
    for layer in range(int(config["num_hidden_layers"])):
        name = f"encoder.layer.{layer}"
        query, key, value, residual = _narrowed(graph, hidden, state, config, name)
        attention_name = f"{name}.attention.self"
        projected = [
            transformer.dense(graph, vectors, state, f"{attention_name}.{part}")
            for part, vectors in (("query", query), ("key", key), ("value", value))
        ]
        scaled = graph.add("Mul", projected[0], graph.number(1 / np.sqrt(inner // heads)))
        context = transformer.attention(graph, [scaled, *projected[1:]], bias, heads=heads, depth=inner // heads)
        earlier.append(hidden)
        if layer == int(config["num_hidden_layers"]) - 1:
            context, residual, hidden = pick(context, inner), pick(residual, inner), pick(hidden, width)
        attended = transformer.dense(graph, context, state, f"{name}.attention.output.dense")
        rows = _norm(graph, attended, residual, state, config, f"{name}.attention.output.LayerNorm")
        for place in range(int(config["num_feedforward_networks"]) - 1):
            block = f"{name}.ffn.{place}"
            fed_forward = _feed_forward(graph, rows, state, config, block)
            rows = _norm(graph, fed_forward, rows, state, config, f"{block}.output.LayerNorm")
        fed_forward = _feed_forward(graph, rows, state, config, name)
        rows = _norm(graph, fed_forward, rows, state, config, f"{name}.output.LayerNorm", epsilon=EPSILON)
        if config["use_bottleneck"]:
            wide = transformer.dense(graph, rows, state, f"{name}.output.bottleneck.dense")
            rows = _norm(graph, wide, hidden, state, config, f"{name}.output.bottleneck.LayerNorm")
        hidden = rows
    return Encoded(hidden, tuple(earlier), width)


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:
    """Of each layer: narrowing, attention, feed-forward networks, widening."""
    layers = []
    for layer in range(int(config["num_hidden_layers"])):
        narrowing = ["bottleneck.input.dense"] if config["use_bottleneck"] else []
        if (
            config["use_bottleneck"]
            and config["key_query_shared_bottleneck"]
            and not config["use_bottleneck_attention"]
        ):
            narrowing.append("bottleneck.attention.dense")
        attention = [*(f"attention.self.{part}" for part in ("query", "key", "value")), "attention.output.dense"]
        blocks = [f"ffn.{place}." for place in range(int(config["num_feedforward_networks"]) - 1)]
        forward = [f"{block}{part}.dense" for block in (*blocks, "") for part in ("intermediate", "output")]
        widening = ["output.bottleneck.dense"] if config["use_bottleneck"] else []
        names = (*narrowing, *attention, *forward, *widening)
        layers.append(tuple(f"encoder.layer.{layer}.{name}" for name in names))
    return tuple(layers)


def _inner(config: Config) -> int:
    return int(config["intra_bottleneck_size"] if config["use_bottleneck"] else config["hidden_size"])


def _embed(graph: Graph, state: State, config: Config, *, segments: bool) -> str:
    words = graph.table(floats(state, "embeddings.word_embeddings.weight"), transformer.WORDS, "ids")
    size = int(config["embedding_size"])
    if config["trigram_input"]:
        one, zero, last, end = graph.integers(1), graph.integers(0), graph.integers(-1), graph.integers(1 << 30)
        edge = graph.add("Mul", graph.add("Slice", words, zero, one, one), graph.number(0))
        after = graph.add("Concat", graph.add("Slice", words, one, end, one), edge, axis=1)
        before = graph.add("Concat", edge, graph.add("Slice", words, zero, last, one), axis=1)
        words = graph.add("Concat", after, words, before, axis=-1)
    if config["trigram_input"] or size != int(config["hidden_size"]):
        words = transformer.dense(graph, words, state, "embeddings.embedding_transformation")
    words, positions = transformer.with_segments(graph, words, state, segments=segments)
    placed = transformer.places(graph, positions)
    return _norm(graph, words, placed, state, config, "embeddings.LayerNorm", epsilon=EPSILON)


def _narrowed(graph: Graph, hidden: str, state: State, config: Config, name: str) -> tuple[str, str, str, str]:
    """The inputs of queries, keys and values, and the residual that attention is added to."""
    if not config["use_bottleneck"]:
        return hidden, hidden, hidden, hidden
    narrow = _bottleneck(graph, hidden, state, config, f"{name}.bottleneck.input")
    if config["use_bottleneck_attention"]:
        return narrow, narrow, narrow, narrow
    if config["key_query_shared_bottleneck"]:
        shared = _bottleneck(graph, hidden, state, config, f"{name}.bottleneck.attention")
        return shared, shared, hidden, narrow
    return hidden, hidden, hidden, narrow


def _bottleneck(graph: Graph, hidden: str, state: State, config: Config, name: str) -> str:
    narrow = transformer.dense(graph, hidden, state, f"{name}.dense")
    return _norm(graph, narrow, None, state, config, f"{name}.LayerNorm")


def _feed_forward(graph: Graph, rows: str, state: State, config: Config, name: str) -> str:
    wide, narrow = f"{name}.intermediate.dense", f"{name}.output.dense"
    return transformer.feed_forward(graph, rows, state, wide, narrow, config["hidden_act"])


def _norm(
    graph: Graph,
    rows: str,
    residual: str | None,
    state: State,
    config: Config,
    name: str,
    *,
    epsilon: float | None = None,
) -> str:
    """Layer normalisation, or a scale and an offset, of the sum of both."""
    total = rows if residual is None else graph.add("Add", rows, residual)
    weights = {f"{name}.{part}": floats(state, f"{name}.{part}") for part in ("weight", "bias")}
    if config["normalization_type"] == "layer_norm":
        return graph.normalise(total, weights, name, float(config["layer_norm_eps"]) if epsilon is None else epsilon)
    scaled = graph.add("Mul", total, graph.constant(weights[f"{name}.weight"], f"{name}.weight"))
    out: str = graph.add("Add", scaled, graph.constant(weights[f"{name}.bias"], f"{name}.bias"))
    return out


FAMILY = Family(
    write,
    matrices,
    ("embeddings.position_embeddings.weight", 0),
    lambda config: int(config.get("type_vocab_size", 0)) > 1,
)
