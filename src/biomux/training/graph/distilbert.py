"""DistilBERT's encoder: BERT's without segments, under other names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.training.graph import transformer
from biomux.training.graph.encoded import Encoded, Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Pick, State

EPSILON = 1e-12


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:  # noqa: ARG001
    """Embeddings, then layers; of the last one, after its attention, only the picked rows."""
    width, heads = int(config["dim"]), int(config["n_heads"])
    words = graph.table(floats(state, "embeddings.word_embeddings.weight"), transformer.WORDS, "ids")
    positions = transformer.places(graph, floats(state, "embeddings.position_embeddings.weight"))
    hidden = transformer.normalise(graph, words, positions, state, "embeddings.LayerNorm", EPSILON)
    bias = transformer.mask_bias(graph)
    earlier = []
    for layer, names in enumerate(matrices(config)):
        name = f"transformer.layer.{layer}"
        parts = [f"{name}.attention.{part}_lin" for part in "qkv"]
        mixed = transformer.projections(graph, hidden, state, parts, names[0], depth=width // heads)
        context = transformer.attention(graph, mixed, bias, heads=heads, depth=width // heads)
        earlier.append(hidden)
        if layer == int(config["n_layers"]) - 1:
            context, hidden = pick(context, width), pick(hidden, width)
        attended = transformer.dense(graph, context, state, names[1])
        hidden = transformer.normalise(graph, attended, hidden, state, f"{name}.sa_layer_norm", EPSILON)
        narrow = transformer.feed_forward(graph, hidden, state, names[2], names[3], config["activation"])
        hidden = transformer.normalise(graph, narrow, hidden, state, f"{name}.output_layer_norm", EPSILON)
    return Encoded(hidden, tuple(earlier), width)


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:
    """Of each layer: attention in, attention out, feed-forward in and out."""
    names = ("attention", "attention.out_lin", "ffn.lin1", "ffn.lin2")
    return tuple(
        tuple(f"transformer.layer.{layer}.{name}" for name in names) for layer in range(int(config["n_layers"]))
    )


FAMILY = Family(write, matrices, ("embeddings.position_embeddings.weight", 0))
