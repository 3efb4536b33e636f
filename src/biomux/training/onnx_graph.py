"""The graph of a bundle, written node by node: the encoder once, then all heads as one matrix.

It is written here, not traced, so that it holds a dozen kinds of nodes and nothing else, whatever the versions of torch and its
exporter. Inputs: `ids` and `mask` (windows × length), `first` (places of words' first tokens in the flattened rows). Output: `logits`
(words × all heads' labels side by side). What a head does not read is not computed: the last layer, after its attention, is of words' first tokens only.

Weights in int8 are symmetric, a scale for each output column. Activations are rounded to int8 row by row, each row by its own
largest value: what one word's answer is does not depend on which others it is computed with, as it would with one scale for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Precision = Literal["fp32", "int8"]
OPSET = 20
IR_VERSION = 10


class Graph:
    """Nodes and constants on the way to a model. Matrices named in `keep` stay fp32, whatever the precision of the others."""

    def __init__(self, *, keep: Collection[str] = ()) -> None:
        self.keep = frozenset(keep)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._count = 0

    def constant(self, value: NDArray[Any], name: str | None = None) -> str:
        """A constant; equal small ones are kept once."""
        key = (
            name
            or f"c{value.dtype.char}{value.shape}{value.tobytes().hex() if value.size <= 8 else len(self.constants)}"
        )
        self.constants.setdefault(key, numpy_helper.from_array(np.ascontiguousarray(value), key))
        return key

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node; gives the name of its output, or a list of names."""
        self._count += 1
        names = [f"{operator}_{self._count}" + (f"_{index}" if outputs > 1 else "") for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, f"{operator}_{self._count}", **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, rows: str, matrix: Floats, bias: Floats, name: str, precision: Precision) -> str:
        """rows · matrix + bias; `matrix` is inputs × outputs."""
        if precision == "fp32" or name in self.keep:
            product = self.add("MatMul", rows, self.constant(matrix, f"{name}.weight"))
        else:
            product = self._integer_product(rows, matrix, name)
        out: str = self.add("Add", product, self.constant(bias, f"{name}.bias"))
        return out

    def _integer_product(self, rows: str, matrix: Floats, name: str) -> str:
        whole, scale = columns_to_int8(matrix)
        rounded, row_scale = self.rows_to_int8(rows)
        middle = self.constant(np.array(128, np.uint8))
        product = self.add("MatMulInteger", rounded, self.constant(whole, f"{name}.weight"), middle)
        scaled = self.add("Mul", self.add("Cast", product, to=TensorProto.FLOAT), row_scale)
        out: str = self.add("Mul", scaled, self.constant(scale, f"{name}.scale"))
        return out

    def rows_to_int8(self, rows: str) -> tuple[str, str]:
        """Each row divided by a hundred-and-twenty-seventh of its largest value and rounded, 128 standing for zero; and that divisor."""
        largest = self.add("ReduceMax", self.add("Abs", rows), self.constant(np.array([-1], np.int64)), keepdims=1)
        divisor = self.add(
            "Mul",
            self.add("Max", largest, self.constant(np.array(1e-6, np.float32))),
            self.constant(np.array(1 / 127, np.float32)),
        )
        one, middle = self.constant(np.array(1, np.float32)), self.constant(np.array(128, np.uint8))
        return self.add("QuantizeLinear", self.add("Div", rows, divisor), one, middle), divisor

    def normalise(self, rows: str, state: Mapping[str, Floats], name: str, epsilon: float) -> str:
        """Layer normalisation."""
        out: str = self.add(
            "LayerNormalization",
            rows,
            self.constant(state[f"{name}.weight"], f"{name}.weight"),
            self.constant(state[f"{name}.bias"], f"{name}.bias"),
            axis=-1,
            epsilon=epsilon,
        )
        return out

    def model(self, inputs: Sequence[Any], output: Any) -> onnx.ModelProto:
        """The finished model."""
        graph = helper.make_graph(self.nodes, "biomux", list(inputs), [output], list(self.constants.values()))
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="biomux")
        made.ir_version = IR_VERSION
        onnx.checker.check_model(made)
        return made


def columns_to_int8(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A matrix as int8 and the scale of each column; 7 bits, so that no processor's 16-bit sums of pairs overflow."""
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / 63
    return np.round(matrix / scale).astype(np.int8), scale.astype(np.float32)


def rows_to_int8(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A table as int8 and the scale of each row."""
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127
    return np.round(table / scale).astype(np.int8), scale.astype(np.float32)


def bert(
    state: Mapping[str, Floats],
    config: Mapping[str, Any],
    heads: tuple[list[tuple[Floats, Floats]], ...],
    *,
    precision: Precision = "int8",
    keep: Collection[str] = (),
) -> onnx.ModelProto:
    """A BERT encoder with heads. `state` has transformers' names; `heads` are the layers of all heads side by side, as (matrix, bias).

    `keep` names matrices that stay fp32: see `matrices`.
    """
    graph = Graph(keep=keep)
    epsilon = float(config["layer_norm_eps"])
    hidden = _embed(graph, state, epsilon, precision)
    bias = _mask(graph)
    layers = int(config["num_hidden_layers"])
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        context = _attention(graph, hidden, bias, state, name, config, precision)
        if layer == layers - 1:
            # From here on tokens no longer read each other, and only words' first ones are read.
            context, hidden = (_first(graph, rows, config) for rows in (context, hidden))
        hidden = _rest(graph, context, hidden, state, name, epsilon, precision)
    rows = hidden
    for number, layer_of_heads in enumerate(heads):
        matrix = _side_by_side([matrix for matrix, _ in layer_of_heads], diagonal=number > 0)
        rows = graph.add("Relu", rows) if number else rows
        # What decides stays fp32. A layer before it is as large as one of the encoder's when there are many heads, and is rounded like one.
        kind: Precision = precision if number < len(heads) - 1 else "fp32"
        bias_of_all = np.concatenate([bias for _, bias in layer_of_heads])
        rows = graph.linear(rows, matrix, bias_of_all, f"heads.{number}", kind)
    graph.nodes[-1].output[0] = "logits"
    inputs = [
        helper.make_tensor_value_info("ids", TensorProto.INT64, ["windows", "length"]),
        helper.make_tensor_value_info("mask", TensorProto.INT64, ["windows", "length"]),
        helper.make_tensor_value_info("first", TensorProto.INT64, ["words"]),
    ]
    labels = sum(len(bias) for _, bias in heads[-1])
    return graph.model(inputs, helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["words", labels]))


def matrices(layer: int) -> tuple[str, str, str, str]:
    """The names of a layer's matrices, in the order in which they are used: attention in, attention out, feed-forward in and out."""
    name = f"encoder.layer.{layer}"
    return (
        f"{name}.attention.self",
        f"{name}.attention.output.dense",
        f"{name}.intermediate.dense",
        f"{name}.output.dense",
    )


def _side_by_side(matrices: Sequence[Floats], *, diagonal: bool) -> Floats:
    """First layers all read the encoder: their columns stand side by side. Later ones read their own head: blocks on a diagonal."""
    if not diagonal:
        return np.concatenate(matrices, axis=1)
    whole = np.zeros((sum(m.shape[0] for m in matrices), sum(m.shape[1] for m in matrices)), np.float32)
    row = column = 0
    for matrix in matrices:
        whole[row : row + matrix.shape[0], column : column + matrix.shape[1]] = matrix
        row, column = row + matrix.shape[0], column + matrix.shape[1]
    return whole


def _embed(graph: Graph, state: Mapping[str, Floats], epsilon: float, precision: Precision) -> str:
    vectors = state["embeddings.word_embeddings.weight"]
    if precision == "fp32" or "embeddings.words" in graph.keep:
        words = graph.add("Gather", graph.constant(vectors, "embeddings.words"), "ids", axis=0)
    else:
        whole, scale = rows_to_int8(vectors)
        picked = graph.add(
            "Cast", graph.add("Gather", graph.constant(whole, "embeddings.words"), "ids", axis=0), to=TensorProto.FLOAT
        )
        words = graph.add("Mul", picked, graph.add("Gather", graph.constant(scale, "embeddings.scale"), "ids", axis=0))
    # Every token is of the first segment: its vector is the same everywhere and stands in the positions' table.
    places = state["embeddings.position_embeddings.weight"] + state["embeddings.token_type_embeddings.weight"][0]
    zero, one = graph.constant(np.array([0], np.int64)), graph.constant(np.array([1], np.int64))
    length = graph.add("Gather", graph.add("Shape", "ids"), one, axis=0)
    table = graph.constant(places.astype(np.float32), "embeddings.places")
    positions = graph.add("Slice", table, zero, length, zero)
    return graph.normalise(graph.add("Add", words, positions), state, "embeddings.LayerNorm", epsilon)


def _mask(graph: Graph) -> str:
    """What is added to attention scores: nothing for a token, a large negative number for padding."""
    kept = graph.add("Cast", "mask", to=TensorProto.FLOAT)
    away = graph.add(
        "Mul",
        graph.add("Sub", kept, graph.constant(np.array(1, np.float32))),
        graph.constant(np.array(1e9, np.float32)),
    )
    out: str = graph.add("Unsqueeze", away, graph.constant(np.array([1, 2], np.int64)))
    return out


def _attention(
    graph: Graph,
    hidden: str,
    bias: str,
    state: Mapping[str, Floats],
    name: str,
    config: Mapping[str, Any],
    precision: Precision,
) -> str:
    """What each token reads of the others of its window."""
    width, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    depth = width // heads
    inner = f"{name}.attention.self"
    matrix = np.concatenate([state[f"{inner}.{part}.weight"].T for part in ("query", "key", "value")], axis=1)
    offset = np.concatenate([state[f"{inner}.{part}.bias"] for part in ("query", "key", "value")])
    matrix[:, :width] /= np.sqrt(depth)
    offset[:width] /= np.sqrt(depth)
    mixed = graph.linear(hidden, matrix.astype(np.float32), offset.astype(np.float32), inner, precision)
    shape = graph.constant(np.array([0, 0, heads, depth], np.int64))
    query, key, value = graph.add("Split", mixed, outputs=3, axis=-1, num_outputs=3)
    query = graph.add("Transpose", graph.add("Reshape", query, shape), perm=[0, 2, 1, 3])
    key = graph.add("Transpose", graph.add("Reshape", key, shape), perm=[0, 2, 3, 1])
    value = graph.add("Transpose", graph.add("Reshape", value, shape), perm=[0, 2, 1, 3])
    weights = graph.add("Softmax", graph.add("Add", graph.add("MatMul", query, key), bias), axis=-1)
    context = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    out: str = graph.add("Reshape", context, graph.constant(np.array([0, 0, width], np.int64)))
    return out


def _first(graph: Graph, rows: str, config: Mapping[str, Any]) -> str:
    """The rows of words' first tokens, of all windows one after the other."""
    flat = graph.add("Reshape", rows, graph.constant(np.array([-1, int(config["hidden_size"])], np.int64)))
    out: str = graph.add("Gather", flat, "first", axis=0)
    return out


def _rest(
    graph: Graph,
    context: str,
    hidden: str,
    state: Mapping[str, Floats],
    name: str,
    epsilon: float,
    precision: Precision,
) -> str:
    """A layer after its attention: token by token."""
    attended = _dense(graph, context, state, f"{name}.attention.output.dense", precision)
    hidden = graph.normalise(graph.add("Add", attended, hidden), state, f"{name}.attention.output.LayerNorm", epsilon)
    wide = graph.add("Gelu", _dense(graph, hidden, state, f"{name}.intermediate.dense", precision))
    narrow = _dense(graph, wide, state, f"{name}.output.dense", precision)
    return graph.normalise(graph.add("Add", narrow, hidden), state, f"{name}.output.LayerNorm", epsilon)


def _dense(graph: Graph, rows: str, state: Mapping[str, Floats], name: str, precision: Precision) -> str:
    return graph.linear(rows, state[f"{name}.weight"].T, state[f"{name}.bias"], name, precision)
