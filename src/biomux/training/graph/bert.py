"""BERT's encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.training.graph import transformer
from biomux.training.graph.encoded import Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Encoded, Pick, State


MATRICES = ("attention.self", "attention.output.dense", "intermediate.dense", "output.dense")


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:
    """Embeddings, then layers of attention and feed-forward."""
    layers = transformer.Layers.of(
        config,
        projections=("attention.self.query", "attention.self.key", "attention.self.value"),
        matrices=MATRICES,
        norms=("attention.output.LayerNorm", "output.LayerNorm"),
    )
    hidden = _embed(graph, state, layers.epsilon, segments=segments)
    return layers.write(graph, hidden, transformer.mask_bias(graph), state, pick)


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:
    """Of each layer: attention in, attention out, feed-forward in and out."""
    return transformer.layer_names(transformer.PREFIX, int(config["num_hidden_layers"]), MATRICES)


def _embed(graph: Graph, state: State, epsilon: float, *, segments: bool) -> str:
    words = graph.table(floats(state, "embeddings.word_embeddings.weight"), transformer.WORDS, "ids")
    words, positions = transformer.with_segments(graph, words, state, segments=segments)
    return transformer.normalise(
        graph, words, transformer.places(graph, positions), state, "embeddings.LayerNorm", epsilon
    )


FAMILY = Family(
    write,
    matrices,
    ("embeddings.position_embeddings.weight", 0),
    lambda config: int(config.get("type_vocab_size", 0)) > 1,
)
