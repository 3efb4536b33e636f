"""Read the states of layers from the graph of a finished bundle, and add a head to it. What is there already is not changed.

The states of words' first tokens are those of the embeddings and of every layer, exactly as the graph computes them, int8 included: a head that is trained on them
reads in the bundle exactly what it was trained on. The new head's columns are added behind the old ones by a product with a matrix of ones and zeros, so that every
old logit is carried over unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from biomux.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

LOGITS = "logits"
INPUTS = {"ids", "mask", "first"}
"""The inputs of a graph whose heads all label words: every row after its last attention is a word's."""

NEGLIGIBLE = 1e-3
"""A layer with a smaller share in the mix is left out."""


@dataclass(frozen=True)
class AddedHead:
    """A head to add: the share of each layer's states in what it reads (the embeddings first), and its layers as (matrix, bias), inputs × outputs."""

    shares: Sequence[float]
    layers: Sequence[tuple[Floats, Floats]]

    @property
    def labels(self) -> int:
        """How many columns it has."""
        return len(self.layers[-1][1])


def with_states(graph: bytes) -> tuple[bytes, list[str]]:
    """The graph with the states of words' first tokens as further outputs (words × width), and their names, the embeddings first."""
    model = onnx.load_from_string(graph)
    names = _states(model, "states")
    width = _width(model)
    for name in names:
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["words", width]))
    content: bytes = model.SerializeToString()
    return content, names


def with_head(graph: bytes, head: AddedHead) -> bytes:
    """The graph with one more head, whose columns come after the existing ones."""
    model = onnx.load_from_string(graph)
    prefix = f"added.{sum(initializer.name.startswith('added.') and initializer.name.endswith('.carry') for initializer in model.graph.initializer)}"
    states = _states(model, prefix)
    if len(head.shares) != len(states):
        raise ValueError(f"the head mixes {len(head.shares)} layers, but the graph has {len(states)}")
    output = next(value for value in model.graph.output if value.name == LOGITS)
    before = int(output.type.tensor_type.shape.dim[1].dim_value)
    rows = _mix(model, states, head.shares, prefix)
    for number, (matrix, bias) in enumerate(head.layers):
        last = number == len(head.layers) - 1
        if last:  # nothing in the old columns, the new ones behind them
            matrix = np.concatenate([np.zeros((matrix.shape[0], before), np.float32), matrix], axis=1)
            bias = np.concatenate([np.zeros(before, np.float32), bias])
        if number:
            rows = _add(model, "Relu", prefix, rows)
        product = _add(model, "MatMul", prefix, rows, _constant(model, matrix, f"{prefix}.{number}.weight"))
        rows = _add(model, "Add", prefix, product, _constant(model, bias, f"{prefix}.{number}.bias"))
    old = f"{prefix}.before"
    for node in model.graph.node:
        for place, name in enumerate(node.output):
            if name == output.name:
                node.output[place] = old
    carry = np.eye(before, before + head.labels, dtype=np.float32)
    carried = _add(model, "MatMul", prefix, old, _constant(model, carry, f"{prefix}.carry"))
    _add(model, "Add", prefix, carried, rows)
    model.graph.node[-1].output[0] = output.name
    output.type.tensor_type.shape.dim[1].dim_value = before + head.labels
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def state_names(model: onnx.ModelProto) -> list[str]:
    """The values that are the states of tokens, the embeddings first; refused if the graph has heads that do not label words, or an encoder other than BERT's."""
    norms = {node.input[1]: node.output[0] for node in model.graph.node if node.op_type == "LayerNormalization"}
    states = [norms.get("embeddings.LayerNorm.weight")]
    while (name := f"encoder.layer.{len(states) - 1}.output.LayerNorm.weight") in norms:
        states.append(norms[name])
    input_names, output_names = (
        {value.name for value in model.graph.input},
        {value.name for value in model.graph.output},
    )
    if input_names != INPUTS or LOGITS not in output_names:
        raise BundleError(
            "BX505",
            "cannot add a head: the bundle has heads for texts, pairs of texts or answers",
            hint="name a bundle of taggers, such as default",
        )
    if states[0] is None or len(states) == 1:
        raise BundleError(
            "BX505",
            "cannot add a head: the layers of the graph's encoder are not known",
            hint="name a bundle with a BERT encoder, such as default",
        )
    return [str(state) for state in states]


def _states(model: onnx.ModelProto, prefix: str) -> list[str]:
    """The states of words' first tokens, layer by layer; nodes that select them are added if the graph has none."""
    word_rows = picked(model)
    shape = _constant(model, np.array([-1, _width(model)], np.int64), f"{prefix}.shape")
    names = []
    for number, state in enumerate(state_names(model)):
        if state in word_rows:  # of words' first tokens already
            names.append(state)
        else:
            flat = _add(model, "Reshape", f"{prefix}.{number}", state, shape)
            names.append(_add(model, "Gather", f"{prefix}.{number}", flat, "first", axis=0))
    return names


def picked(model: onnx.ModelProto) -> set[str]:
    """The values that have a row for each word: those computed after `first` was read."""
    word_values: set[str] = set()
    for node in model.graph.node:
        if "first" in node.input or word_values & set(node.input):
            word_values |= set(node.output)
    return word_values


def _mix(model: onnx.ModelProto, states: Sequence[str], shares: Sequence[float], prefix: str) -> str:
    total = ""
    for number, (name, share) in enumerate(zip(states, shares, strict=True)):
        if abs(share) < NEGLIGIBLE * max(map(abs, shares)):
            continue
        constant = _constant(model, np.array(share, np.float32), f"{prefix}.share.{number}")
        part = _add(model, "Mul", prefix, name, constant)
        total = _add(model, "Add", prefix, total, part) if total else part
    return total


def _width(model: onnx.ModelProto) -> int:
    return next(
        int(initializer.dims[0])
        for initializer in model.graph.initializer
        if initializer.name == "embeddings.LayerNorm.weight"
    )


def _constant(model: onnx.ModelProto, value: NDArray[Any], name: str) -> str:
    model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    return name


def _add(model: onnx.ModelProto, operator: str, prefix: str, *inputs: str, **attributes: Any) -> str:
    """A node at the end of the graph; returns the name of its output."""
    name = f"{prefix}.{operator}.{len(model.graph.node)}"
    model.graph.node.append(helper.make_node(operator, list(inputs), [name], name, **attributes))
    return name
