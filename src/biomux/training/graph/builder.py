"""Nodes and constants on the way to an ONNX model, and how numbers are rounded to int8.

Weights in int8 are symmetric, with a scale for each output column. Activations are rounded to int8 row by row, each row by its own
largest value: the answer about a word does not depend on which others it is computed with, as it would with one scale for all.
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
MOST_PARTS = 8
"""How many values a node may read: what readers of bundles allow."""


class Graph:
    """Nodes and constants on the way to a model. Matrices named in `keep` stay fp32, whatever the precision of the others."""

    def __init__(self, *, precision: Precision = "fp32", keep: Collection[str] = ()) -> None:
        self.precision = precision
        self.keep = frozenset(keep)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self._count = 0
        self._one: str | None = None

    def constant(self, value: NDArray[Any], name: str | None = None) -> str:
        """A constant; equal small ones are kept once."""
        key = (
            name
            or f"c{value.dtype.char}{value.shape}{value.tobytes().hex() if value.size <= 8 else len(self.constants)}"
        )
        tensor = numpy_helper.from_array(np.ascontiguousarray(value), key)
        if self.constants.setdefault(key, tensor).raw_data != tensor.raw_data:
            raise ValueError(f"two constants have the name {key!r}")
        return key

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; returns the name of its output, or a list of names."""
        self._count += 1
        names = [f"{operator}_{self._count}" + (f"_{index}" if outputs > 1 else "") for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, f"{operator}_{self._count}", **attributes))
        return names[0] if outputs == 1 else names

    def integers(self, *values: int) -> str:
        """A constant list of whole numbers: axes, shapes, places."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        """A constant number."""
        return self.constant(np.array(value, np.float32))

    def rounds(self, name: str) -> bool:
        """Whether the matrix or table of that name is int8."""
        return self.precision == "int8" and name not in self.keep

    def linear(self, rows: str, matrix: Floats, bias: Floats, name: str, *, exact: bool = False) -> str:
        """rows · matrix + bias; `matrix` is inputs × outputs. With `exact` it is fp32, whatever the others are."""
        if exact or not self.rounds(name):
            product = self.add("MatMul", rows, self.constant(matrix, f"{name}.weight"))
        else:
            product = self._integer_product(rows, matrix, name)
        out: str = self.add("Add", product, self.constant(bias, f"{name}.bias"))
        return out

    def _integer_product(self, rows: str, matrix: Floats, name: str) -> str:
        rounded_matrix, scale = columns_to_int8(matrix)
        rounded, row_scale = self.rows_to_int8(rows, len(matrix))
        middle = self.constant(np.array(128, np.uint8))
        product = self.add("MatMulInteger", rounded, self.constant(rounded_matrix, f"{name}.weight"), middle)
        # onnxruntime makes one operation of the product, Cast and Mul if the columns' scale is a product with a number that is computed.
        columns = self.add("Mul", self._computed_one(rows), self.constant(scale, f"{name}.scale"))
        scaled = self.add("Mul", self.add("Cast", product, to=TensorProto.FLOAT), columns)
        out: str = self.add("Mul", scaled, row_scale)
        return out

    def _computed_one(self, rows: str) -> str:
        """The number 1, as something that is known only when the graph runs: that rows have at least one column."""
        if self._one is None:
            largest = self.add("ReduceMax", self.add("Shape", rows), self.integers(0), keepdims=0)
            one = self.add("Min", largest, self.constant(np.array(1, np.int64)))
            self._one = str(self.add("Cast", one, to=TensorProto.FLOAT))
        return self._one

    def rows_to_int8(self, rows: str, width: int) -> tuple[str, str]:
        """Each row divided by 1/127 of its largest value and rounded, with 128 as zero; and that divisor."""
        largest = self.add("ReduceMax", self.add("Abs", rows), self.integers(-1), keepdims=1)
        divisor = self.add("Mul", self.add("Max", largest, self.number(1e-6)), self.number(1 / 127))
        divisors = self.add("Reshape", divisor, self.integers(-1))
        middles = self.add("Expand", self.constant(np.array([128], np.uint8)), self.add("Shape", divisors))
        flat = self.add("Reshape", rows, self.integers(-1, width))
        rounded = self.add("QuantizeLinear", flat, divisors, middles, axis=0)
        return self.add("Reshape", rounded, self.add("Shape", rows)), divisor

    def table(self, rows: Floats, name: str, indices: str) -> str:
        """The rows of a table at indices; in int8 each row has its own scale."""
        if not self.rounds(name):
            out: str = self.add("Gather", self.constant(rows, name), indices, axis=0)
            return out
        rounded_rows, scale = rows_to_int8(rows)
        picked = self.add("Gather", self.constant(rounded_rows, name), indices, axis=0)
        scales = self.add("Gather", self.constant(scale, f"{name.partition('.')[0]}.scale"), indices, axis=0)
        scaled: str = self.add("Mul", self.add("Cast", picked, to=TensorProto.FLOAT), scales)
        return scaled

    def size(self, of: str, axis: int) -> str:
        """The size of a dimension, as a list of one."""
        out: str = self.add("Gather", self.add("Shape", of), self.integers(axis), axis=0)
        return out

    def shape(self, *sizes: str | int) -> str:
        """A shape of known and computed sizes."""
        if all(isinstance(size, int) for size in sizes):
            return self.integers(*(int(size) for size in sizes))
        parts = [self.integers(size) if isinstance(size, int) else size for size in sizes]
        out: str = self.add("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
        return out

    def reshape(self, values: str, *sizes: str | int) -> str:
        """The values in another shape."""
        out: str = self.add("Reshape", values, self.shape(*sizes))
        return out

    def concat(self, parts: Sequence[str], *, axis: int) -> str:
        """The parts one after the other, a few at a time: a node of a bundle's graph reads a limited number of values."""
        joined = list(parts)
        while len(joined) > 1:
            joined = [
                self.add("Concat", *chunk, axis=axis) if len(chunk := joined[at : at + MOST_PARTS]) > 1 else chunk[0]
                for at in range(0, len(joined), MOST_PARTS)
            ]
        return joined[0]

    def zeros(self, *sizes: str | int) -> str:
        """Zeros of a shape, of which at least one size is computed."""
        nothing = self.constant(np.zeros([1] * len(sizes), np.float32))
        out: str = self.add("Expand", nothing, self.shape(*sizes))
        return out

    def named(self, value: str, name: str) -> str:
        """Give a value the name of an output."""
        node = next(node for node in reversed(self.nodes) if value in node.output)
        for reader in self.nodes:
            reader.input[:] = [name if value_name == value else value_name for value_name in reader.input]
        node.output[:] = [name if value_name == value else value_name for value_name in node.output]
        return name

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

    def model(self, inputs: Mapping[str, Sequence[Any]], outputs: Mapping[str, Sequence[Any]]) -> onnx.ModelProto:
        """The finished model: inputs are whole numbers unless called `states` or `vectors`, outputs numbers; both with their shapes."""
        graph = helper.make_graph(
            self.nodes,
            "biomux",
            [helper.make_tensor_value_info(name, _type(name), list(shape)) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in outputs.items()],
            list(self.constants.values()),
        )
        model_proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="biomux")
        model_proto.ir_version = IR_VERSION
        onnx.checker.check_model(model_proto)
        return model_proto


def _type(name: str) -> int:
    return int(TensorProto.FLOAT if name in ("states", "vectors") else TensorProto.INT64)


def columns_to_int8(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A matrix as int8 and the scale of each column; 7 bits, so that no processor's 16-bit sums of pairs overflow."""
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-12) / 63
    return np.round(matrix / scale).astype(np.int8), scale.astype(np.float32)


def rows_to_int8(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A table as int8 and the scale of each row."""
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127
    return np.round(table / scale).astype(np.int8), scale.astype(np.float32)
