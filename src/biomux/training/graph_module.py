"""The graph of a finished bundle as a torch module, so that its encoder can be trained further.

The module computes what the graph computes, node by node, int8 included: what is trained is what the bundle will compute. Rounding passes gradients through unchanged. A
matrix in int8 keeps its scale, and changes by whole steps of it; biases and normalisation change freely. `written` puts the changes back into the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from biomux.errors import BundleError
from biomux.training.bundle_graph import LOGITS, picked, state_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from biomux.training.heads.features import Features

    Values = dict[str, Tensor]


class GraphEncoder(nn.Module):
    """The encoder of a graph: ids and mask to the states of every token. Constants whose names begin with one of `moving` are parameters, all others are fixed."""

    def __init__(self, graph: bytes, *, moving: Sequence[str]) -> None:
        super().__init__()
        model = onnx.load_from_string(graph)
        self.states = state_names(model)
        self.depth = len(self.states) - 1
        constants = {initializer.name: numpy_helper.to_array(initializer) for initializer in model.graph.initializer}
        nodes = [_Node(node) for node in model.graph.node]
        self._nodes = _needed(nodes, self.states)
        self.moving = nn.ParameterDict()
        self._steps: dict[str, tuple[Tensor, int]] = {}
        self._constants: Values = {}
        names = (name for node in self._nodes for name in node.inputs if name in constants)
        for name in dict.fromkeys(names):  # in the order of the graph: checkpoints identify parameters by their place
            value, scale = constants[name], constants.get(name.removesuffix(".weight") + ".scale")
            fixed = _tensor(value)
            if not any(name.startswith(prefix) for prefix in moving) or name.endswith(".scale"):
                self._constants[name] = fixed
            elif value.dtype == np.int8 and scale is not None and name.endswith(".weight"):
                self._steps[name] = torch.from_numpy(scale.copy()), 63 if np.abs(value).max() <= 63 else 127
                self.moving[_key(name)] = nn.Parameter(fixed * self._steps[name][0])
            else:
                self.moving[_key(name)] = nn.Parameter(fixed.clone())

    @property
    def width(self) -> int:
        """The size of a state."""
        return len(next(value for name, value in self._constants.items() if name == "embeddings.LayerNorm.weight"))

    def layers(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """The states of the embeddings and of every layer: windows × length × width."""
        places = torch.arange(ids.numel())
        values: Values = {"ids": ids, "mask": mask, "first": places, **self._constants}
        for key, parameter in self.moving.items():
            values[_name(key)] = self._whole(_name(key), parameter)
        states = _run(self._nodes, values, self.states)
        return tuple(state.reshape(*ids.shape, -1) for state in states)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The states of the last layer."""
        return self.layers(ids, mask)[-1]

    def written(self, graph: bytes) -> bytes:
        """The graph with the trained weights."""
        model = onnx.load_from_string(graph)
        for initializer in model.graph.initializer:
            if (key := _key(initializer.name)) not in self.moving:
                continue
            value = self._whole(initializer.name, self.moving[key]).detach().numpy()
            dtype = numpy_helper.to_array(initializer).dtype
            initializer.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value.astype(dtype)), initializer.name))
        content: bytes = model.SerializeToString()
        return content

    def _whole(self, name: str, parameter: Tensor) -> Tensor:
        """A constant as it is in the graph: whole numbers if it is int8."""
        if name not in self._steps:
            return parameter
        scale, most = self._steps[name]
        return _rounded(parameter / scale).clamp(-most, most)


class GraphHeads(nn.Module):
    """All heads of a graph, unchanged: from the states of words to their logits, side by side. Nothing in it is trained."""

    reads_layers = True

    def __init__(self, graph: bytes) -> None:
        super().__init__()
        model = onnx.load_from_string(graph)
        constants = {initializer.name: initializer for initializer in model.graph.initializer}
        self._states = state_names(model)
        self._of_words = picked(model) & set(self._states)
        self._nodes = _needed([_Node(node) for node in model.graph.node], [LOGITS], inputs=self._states)
        names = {name for node in self._nodes for name in node.inputs if name in constants}
        self._constants = {name: _tensor(numpy_helper.to_array(constants[name])) for name in names}

    def forward(self, features: Features, rows: Tensor) -> Tensor:
        """The logits of all heads at these rows."""
        values: Values = {**self._constants, "first": rows}
        for name, layer in zip(self._states, features.layers or (), strict=True):
            values[name] = features.of(layer).at(rows) if name in self._of_words else layer
        return _run(self._nodes, values, [LOGITS])[0]


class _Node:
    """A node of a graph, ready to be computed."""

    def __init__(self, node: onnx.NodeProto) -> None:
        self.inputs, self.outputs, self.operator = list(node.input), list(node.output), str(node.op_type)
        self.settings: dict[str, Any] = {
            attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute
        }

    def run(self, values: Values) -> None:
        output = OPERATORS[self.operator](*(values[name] for name in self.inputs), **self.settings)
        values.update(zip(self.outputs, output if isinstance(output, tuple) else (output,), strict=True))


def _needed(nodes: Sequence[_Node], outputs: Iterable[str], inputs: Iterable[str] = ()) -> list[_Node]:
    """The nodes that compute these values from the given ones; refused if an operator is not supported here."""
    names, known_names, needed = set(outputs), set(inputs), []
    for node in reversed(nodes):
        if (names - known_names) & set(node.outputs):
            names |= set(node.inputs)
            needed.append(node)
            if node.operator not in OPERATORS:
                raise BundleError(
                    "BX455",
                    f"cannot tune the encoder of this bundle: its graph has the operator {node.operator}, which cannot be trained",
                    hint="add the head with --way frozen",
                )
    return needed[::-1]


def _run(nodes: Sequence[_Node], values: Values, outputs: Sequence[str]) -> list[Tensor]:
    for node in nodes:
        node.run(values)
    return [values[name] for name in outputs]


def _tensor(value: NDArray[Any]) -> Tensor:
    """A constant: shapes and indices stay integers, everything else becomes floats."""
    tensor = torch.from_numpy(np.array(value))
    return tensor if tensor.dtype == torch.int64 else tensor.float()


def _rounded(values: Tensor) -> Tensor:
    return values + (torch.round(values) - values).detach()


def _key(name: str) -> str:
    return name.replace(".", "/")


def _name(key: str) -> str:
    return key.replace("/", ".")


def _quantized(values: Tensor, scale: Tensor, middle: Tensor, **_: Any) -> Tensor:
    if scale.ndim:  # a scale for each row
        scale, middle = scale[:, None], middle[:, None]
    return _rounded(values / scale).clamp(-128, 127) + middle


def _reshape(values: Tensor, sizes: Tensor, **_: Any) -> Tensor:
    return values.reshape([values.shape[at] if size == 0 else size for at, size in enumerate(sizes.tolist())])


def _slice(values: Tensor, begin: Tensor, end: Tensor, axes: Tensor, **_: Any) -> Tensor:
    for first, last, axis in zip(begin.tolist(), end.tolist(), axes.tolist(), strict=True):
        values = values.narrow(axis, first, min(last, values.shape[axis]) - first)
    return values


def _gather(values: Tensor, places: Tensor, *, axis: int = 0) -> Tensor:
    sizes = (*values.shape[:axis], *places.shape, *values.shape[axis + 1 :])
    return values.index_select(axis, places.reshape(-1)).reshape(sizes)


def _unsqueeze(values: Tensor, axes: Tensor) -> Tensor:
    for axis in sorted(axes.tolist()):
        values = values.unsqueeze(axis)
    return values


def _normalised(values: Tensor, weight: Tensor, bias: Tensor, *, epsilon: float = 1e-5, **_: Any) -> Tensor:
    return functional.layer_norm(values, weight.shape, weight, bias, epsilon)


def _split(values: Tensor, *, num_outputs: int, axis: int = 0) -> tuple[Tensor, ...]:
    return torch.tensor_split(values, num_outputs, dim=axis)


OPERATORS: dict[str, Callable[..., Tensor | tuple[Tensor, ...]]] = {
    "Abs": lambda values: values.abs(),
    "Add": lambda left, right: left + right,
    "Cast": lambda values, **_: values if values.is_floating_point() else values.float(),  # int8 are floats here
    "Concat": lambda *parts, axis: torch.cat(parts, dim=axis),
    "Div": lambda left, right: left / right,
    "Expand": lambda values, sizes: values.expand(sizes.tolist()),
    "Gather": _gather,
    "Gelu": lambda values, approximate=b"none": functional.gelu(values, approximate=approximate.decode()),
    "LayerNormalization": _normalised,
    "MatMul": lambda left, right: left @ right,
    "MatMulInteger": lambda rows, matrix, middle: (rows - middle) @ matrix,
    "Max": lambda left, right: torch.maximum(left, right),
    "Min": lambda left, right: torch.minimum(left, right),
    "Mul": lambda left, right: left * right,
    "QuantizeLinear": _quantized,
    "ReduceMax": lambda values, axes, keepdims=1, **_: values.amax(dim=axes.tolist(), keepdim=bool(keepdims)),
    "Relu": functional.relu,
    "Reshape": _reshape,
    "Round": _rounded,
    "Shape": lambda values: torch.tensor(values.shape),
    "Slice": _slice,
    "Softmax": lambda values, axis=-1: torch.softmax(values, dim=axis),
    "Split": _split,
    "Sub": lambda left, right: left - right,
    "Tanh": lambda values: torch.tanh(values),
    "Transpose": lambda values, perm: values.permute(perm),
    "Unsqueeze": _unsqueeze,
}
"""What the operators of graphs with BERT's encoder compute, by their inputs and attributes."""
