"""DistilBERT's encoder: BERT's without segments, under other names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.training.graph import transformer
from biomux.training.graph.encoded import Family, floats

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Config, Encoded, Pick, State

EPSILON = 1e-12


PREFIX = "transformer.layer"
MATRICES = ("attention", "attention.out_lin", "ffn.lin1", "ffn.lin2")


def write(graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded:  # noqa: ARG001
    """Embeddings, then layers of attention and feed-forward."""
    layers = transformer.Layers(
        PREFIX,
        number=int(config["n_layers"]),
        width=int(config["dim"]),
        heads=int(config["n_heads"]),
        activation=config["activation"],
        epsilon=EPSILON,
        projections=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        matrices=MATRICES,
        norms=("sa_layer_norm", "output_layer_norm"),
    )
    words = graph.table(floats(state, "embeddings.word_embeddings.weight"), transformer.WORDS, "ids")
    positions = transformer.places(graph, floats(state, "embeddings.position_embeddings.weight"))
    hidden = transformer.normalise(graph, words, positions, state, "embeddings.LayerNorm", EPSILON)
    return layers.write(graph, hidden, transformer.mask_bias(graph), state, pick)


def matrices(config: Config) -> tuple[tuple[str, ...], ...]:
    """Of each layer: attention in, attention out, feed-forward in and out."""
    return transformer.layer_names(PREFIX, int(config["n_layers"]), MATRICES)


FAMILY = Family(write, matrices, ("embeddings.position_embeddings.weight", 0))
