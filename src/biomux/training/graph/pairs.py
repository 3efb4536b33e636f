"""Heads of pairs of spans: a small separate graph over the words' states from the encoder's graph.

Inputs: `states` (words × width, for each mix of layers side by side) and, for each head, `places.0`, `places.1` … (pairs × 4: first and last word of one
span and of the other). Outputs: `pairs.0`, `pairs.1` … A head that is not used gets no places, and computes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.training.graph.builder import Graph
from biomux.training.graph.heads import layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.training.graph.head_parts import HeadParts


def write(heads: Sequence[HeadParts], mixes: Sequence[tuple[float, ...] | None], width: int) -> bytes:
    """The graph. All of it is fp32: it is small."""
    graph = Graph()
    inputs: dict[str, list[Any]] = {"states": ["words", len(mixes) * width]}
    outputs: dict[str, list[Any]] = {}
    for number, head in enumerate(heads):
        places, logits = f"places.{number}", f"pairs.{number}"
        states, mix = "states", mixes.index(head.mix)
        if len(mixes) > 1:
            begin, end = graph.integers(mix * width), graph.integers((mix + 1) * width)
            states = graph.add("Slice", states, begin, end, graph.integers(1))
        vectors = graph.reshape(graph.add("Gather", states, places, axis=0), -1, 4 * width)
        edges = graph.add("Split", vectors, outputs=4, axis=-1, num_outputs=4)
        half = graph.number(0.5)
        left, right = (graph.add("Mul", graph.add("Add", *edges[at : at + 2]), half) for at in (0, 2))
        rows = graph.add("Concat", left, right, graph.add("Mul", left, right), axis=-1)
        graph.named(layers(graph, rows, [head], f"heads.pairs.{number}"), logits)
        inputs[places], outputs[logits] = [f"pairs of {number}", 4], [f"pairs of {number}", head.labels]
    content: bytes = graph.model(inputs, outputs).SerializeToString()
    return content
