"""BERT's encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.training.graph import transformer
from biomux.training.graph.encoded import Encoded, Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Pick, State


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:
    """Embeddings, then layers of attention and feed-forward; of the last one, after its attention, only the picked rows."""
    epsilon, width, heads = float(config["layer_norm_eps"]), int(config["hidden_size"]), _heads(config)
    hidden = _embed(graph, state, epsilon, segments=segments)
    bias = transformer.mask_bias(graph)
    earlier = []
    for layer, names in enumerate(matrices(config)):
        name = f"encoder.layer.{layer}"
        parts = [f"{names[0]}.{part}" for part in ("query", "key", "value")]
        mixed = transformer.projections(graph, hidden, state, parts, names[0], depth=width // heads)
        context = transformer.attention(graph, mixed, bias, heads=heads, depth=width // heads)
        earlier.append(hidden)
        if layer == int(config["num_hidden_layers"]) - 1:
            # From here on tokens no longer read each other.
            context, hidden = pick(context, width), pick(hidden, width)
        attended = transformer.dense(graph, context, state, names[1])
        hidden = transformer.normalise(graph, attended, hidden, state, f"{name}.attention.output.LayerNorm", epsilon)
        narrow = transformer.feed_forward(graph, hidden, state, names[2], names[3], config["hidden_act"])
        hidden = transformer.normalise(graph, narrow, hidden, state, f"{name}.output.LayerNorm", epsilon)
    return Encoded(hidden, tuple(earlier), width)


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:
    """Of each layer: attention in, attention out, feed-forward in and out."""
    names = ("attention.self", "attention.output.dense", "intermediate.dense", "output.dense")
    return tuple(
        tuple(f"encoder.layer.{layer}.{name}" for name in names) for layer in range(int(config["num_hidden_layers"]))
    )


def _heads(config: Config) -> int:
    return int(config["num_attention_heads"])


def _embed(graph: Graph, state: State, epsilon: float, *, segments: bool) -> str:
    words = graph.table(floats(state, "embeddings.word_embeddings.weight"), transformer.WORDS, "ids")
    kinds = floats(state, "embeddings.token_type_embeddings.weight")
    positions = floats(state, "embeddings.position_embeddings.weight")
    if segments:
        kind = graph.add("Gather", graph.constant(kinds, "embeddings.segments"), "segments", axis=0)
        words = graph.add("Add", words, kind)
    else:
        # Every token is of the first segment: its vector is the same everywhere and stands in the positions' table.
        positions = positions + kinds[0]
    return transformer.normalise(
        graph, words, transformer.places(graph, positions), state, "embeddings.LayerNorm", epsilon
    )


FAMILY = Family(
    write,
    matrices,
    ("embeddings.position_embeddings.weight", 0),
    lambda config: int(config.get("type_vocab_size", 0)) > 1,
)
