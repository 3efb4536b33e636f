"""Heads on an encoder's states: those of one shape are computed side by side, as one matrix per layer.

The rows that an encoder gives are words' first tokens, then [CLS] of windows, then all tokens of windows, each only if some head reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from biomux.training.graph import recurrent
from biomux.training.graph.activations import ACTIVATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from biomux.training.graph.builder import Graph
    from biomux.training.graph.encoded import Encoded, Pick
    from biomux.training.graph.head_parts import HeadParts, Step

    Floats = NDArray[np.float32]


class States:
    """The states that heads read: of the last layer, or a mix of all; by the kind of row."""

    def __init__(self, graph: Graph, encoded: Encoded, pick: Pick, kinds: Sequence[str]) -> None:
        self.graph, self.encoded, self.pick, self.kinds = graph, encoded, pick, tuple(kinds)
        self._rows: dict[tuple[float, ...] | None, str] = {None: encoded.last}
        self._parts: dict[tuple[float, ...] | None, dict[str, str]] = {}

    def rows(self, mix: tuple[float, ...] | None) -> str:
        """All rows."""
        if mix not in self._rows and mix is not None:
            graph = self.graph
            layers = [self.pick(layer_states, self.encoded.width) for layer_states in self.encoded.earlier] + [
                self.encoded.last
            ]
            total = graph.add("Mul", layers[0], graph.number(mix[0]))
            for layer, share in zip(layers[1:], mix[1:], strict=True):
                total = graph.add("Add", total, graph.add("Mul", layer, graph.number(share)))
            self._rows[mix] = total
        return self._rows[mix]

    def of(self, kind: str, mix: tuple[float, ...] | None = None) -> str:
        """The rows of words ("first"), of windows ("starts") or of all tokens ("tokens")."""
        if mix not in self._parts:
            rows = self.rows(mix)
            if len(self.kinds) == 1:
                self._parts[mix] = {self.kinds[0]: rows}
            else:
                sizes = self.graph.add(
                    "Concat", *(self.graph.add("Shape", row_kind) for row_kind in self.kinds), axis=0
                )
                parts = self.graph.add("Split", rows, sizes, outputs=len(self.kinds), axis=0)
                self._parts[mix] = dict(zip(self.kinds, parts, strict=True))
        return self._parts[mix][kind]


def write(graph: Graph, states: States, heads: Sequence[HeadParts], output: str) -> None:
    """Write the heads of one output."""
    logits = [
        layers(graph, _read(graph, states, group[0]), group, f"heads.{output}.{number}")
        for number, group in enumerate(_groups(heads))
    ]
    graph.named(logits[0] if len(logits) == 1 else graph.concat(logits, axis=-1), output)


def columns(heads: Sequence[HeadParts]) -> dict[str, tuple[str, int, int]]:
    """Each head's output and its columns there."""
    places: dict[str, tuple[str, int, int]] = {}
    for output in dict.fromkeys(head.output for head in heads):
        output_heads = [head for head in heads if head.output == output]
        if output == "pairs":
            places |= {head.name: (f"pairs.{number}", 0, head.labels) for number, head in enumerate(output_heads)}
            continue
        at = 0
        for head in (head for group in _groups(output_heads) for head in group):
            places[head.name] = (output, at, at + head.labels)
            at += head.labels
    return places


def _groups(heads: Sequence[HeadParts]) -> list[list[HeadParts]]:
    """Heads of one shape together, in the order of their columns."""
    groups: dict[tuple[object, ...], list[HeadParts]] = {}
    for head in heads:
        groups.setdefault(head.shape, []).append(head)
    return list(groups.values())


def hidden_matrices(heads: Sequence[HeadParts]) -> frozenset[str]:
    """The names of the matrices of heads that int8 rounds: all but the last of each head."""
    names = set()
    for output in dict.fromkeys(head.output for head in heads if head.output != "pairs"):
        shapes = dict.fromkeys(head.shape for head in heads if head.output == output)
        for number, shape in enumerate(shapes):
            linear = sum(kind == "linear" for kind in shape[2])
            names |= {f"heads.{output}.{number}.{depth}" for depth in range(linear - 1)}
    return frozenset(names)


def _read(graph: Graph, states: States, head: HeadParts) -> str:
    """The vectors that heads of a shape read, one for each unit."""
    if head.output == "answers":
        parts = [states.of(kind, head.mix) for kind in ("first", "starts")]
        joined: str = graph.add("Concat", *parts, axis=0)
        return joined
    rows = states.of({"logits": "first", "windows": "starts"}.get(head.output, "tokens"), head.mix)
    if head.lstm is not None:
        return _sequences(graph, rows, head, states.encoded.width)
    if head.pooling is not None:
        return _pooled(graph, rows, head.pooling, states.encoded.width)
    return rows


def layers(graph: Graph, rows: str, heads: Sequence[HeadParts], name: str) -> str:
    """The steps of heads of one shape. The last layer stays fp32; one before it is as large as one of the encoder's, and is rounded like one."""
    kinds = [step.kind for step in heads[0].steps]
    linear = sum(kind == "linear" for kind in kinds)
    depth = 0
    for place, kind in enumerate(kinds):
        steps = [head.steps[place] for head in heads]
        if kind == "linear":
            matrix = side_by_side(_weights(steps), diagonal=depth > 0)
            bias = np.concatenate([step.bias for step in steps if step.bias is not None])
            rows = graph.linear(rows, matrix, bias, f"{name}.{depth}", exact=depth == linear - 1)
            depth += 1
        elif kind == "norm":
            weights = {f"{name}.norm.{place}.weight": steps[0].weight, f"{name}.norm.{place}.bias": steps[0].bias}
            present = {key: value for key, value in weights.items() if value is not None}
            rows = graph.normalise(rows, present, f"{name}.norm.{place}", steps[0].epsilon)
        else:
            rows = ACTIVATIONS[kind](graph, rows)
    return rows


def _weights(steps: Sequence[Step]) -> list[Floats]:
    return [step.weight for step in steps if step.weight is not None]


def side_by_side(matrices: Sequence[Floats], *, diagonal: bool) -> Floats:
    """First layers all read the encoder: their columns are side by side. Later ones read their own head: blocks on a diagonal."""
    if not diagonal:
        return np.concatenate(matrices, axis=1)
    blocks = np.zeros((sum(m.shape[0] for m in matrices), sum(m.shape[1] for m in matrices)), np.float32)
    row = column = 0
    for matrix in matrices:
        blocks[row : row + matrix.shape[0], column : column + matrix.shape[1]] = matrix
        row, column = row + matrix.shape[0], column + matrix.shape[1]
    return blocks


def _pooled(graph: Graph, rows: str, pooling: str, width: int) -> str:
    """One vector per window: the mean or the largest of its tokens, without the first and last special token."""
    length = graph.size("ids", 1)
    inside = graph.reshape(graph.add("Gather", graph.reshape(_inner(graph), -1), "tokens", axis=0), -1, length, 1)
    vectors, axis = graph.reshape(rows, -1, length, width), graph.integers(1)
    if pooling == "mean":
        total = graph.add("ReduceSum", graph.add("Mul", vectors, inside), axis, keepdims=0)
        mean: str = graph.add("Div", total, graph.add("ReduceSum", inside, axis, keepdims=0))
        return mean
    away = graph.add("Mul", graph.add("Sub", inside, graph.number(1)), graph.number(1e30))
    largest: str = graph.add("ReduceMax", graph.add("Add", vectors, away), axis, keepdims=0)
    return largest


def _inner(graph: Graph) -> str:
    """1 for tokens of the text, 0 for padding and the first and last special token; 1 for these too if a row has nothing else."""
    zero, one, column = graph.integers(0), graph.integers(1), graph.integers(1)
    edge = graph.add("Mul", graph.add("Slice", "mask", zero, one, column), zero)
    after = graph.add("Concat", graph.add("Slice", "mask", one, graph.integers(1 << 40), column), edge, axis=1)
    before = graph.add("Concat", edge, graph.add("Slice", "mask", zero, graph.integers(-1), column), axis=1)
    inside = graph.add("Mul", graph.add("Mul", "mask", after), before)
    has_inside = graph.add("ReduceMax", inside, column, keepdims=1)
    inner_or_all = graph.add("Add", inside, graph.add("Mul", "mask", graph.add("Sub", one, has_inside)))
    out: str = graph.add("Cast", inner_or_all, to=TensorProto.FLOAT)
    return out


def _sequences(graph: Graph, rows: str, head: HeadParts, width: int) -> str:
    """A BiLSTM over the words of each window. The words of window b are at w · windows + b, where w is the word's number."""
    zero, one = graph.integers(0), graph.integers(1)
    windows, length = graph.size("ids", 0), graph.size("ids", 1)
    places = graph.add("Unsqueeze", "first", one)
    ones = graph.add("Add", graph.add("Mul", "first", zero), one)
    flags = graph.add("ScatterND", graph.reshape(graph.add("Mul", "mask", zero), -1), places, ones)
    shaped = graph.reshape(flags, windows, length)
    counted = graph.reshape(graph.add("CumSum", shaped, graph.constant(np.array(1, np.int64))), -1)
    number = graph.add("Sub", graph.add("Gather", counted, "first", axis=0), one)
    at = graph.add("Add", graph.add("Mul", number, windows), graph.add("Div", "first", length))
    steps = graph.zeros(graph.add("Mul", windows, length), width)
    laid_out = graph.add("ScatterND", steps, graph.add("Unsqueeze", at, one), rows)
    sizes = graph.add("Max", graph.add("ReduceSum", shaped, one, keepdims=0), one)
    states, _ = recurrent.both_ways(
        graph,
        graph.reshape(laid_out, length, windows, width),
        sizes,
        head.lstm or {},
        "lstm",
        called=f"heads.{head.name}.lstm",
    )
    hidden = 2 * (head.lstm or {})["lstm.weight_hh_l0"].shape[1]
    out: str = graph.add("Gather", graph.reshape(states, -1, hidden), at, axis=0)
    return out
