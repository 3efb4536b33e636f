"""How many operations a bundle's graph takes for a batch, counted from the shapes of its matrices: two for each multiplication and addition.

What is not a matrix product (normalisation, softmax, rounding) is not counted, so a share of the peak says how well the whole graph uses
the machine, not how good its products are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from biomux.engine import onnx_check
from biomux.engine.wire import Reader

if TYPE_CHECKING:
    from biomux.engine.packing import Batch

HEADS = "heads."
"""Matrices of heads are called so: they read words, all others read pieces."""


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of a graph.

    `int8_piece` and `fp32_piece` are those of the encoder's matrices for each piece, padding included; `int8_word` and `fp32_word` those of the
    heads for each word; `attention` those of products without a constant for each pair of pieces of a window.
    """

    int8_piece: int = 0
    fp32_piece: int = 0
    fp32_word: int = 0
    attention: int = 0
    int8_word: int = 0

    def int8(self, batch: Batch) -> float:
        """What is multiplied in int8 for a batch."""
        return float(self.int8_piece * int(batch.ids.size) + self.int8_word * len(batch.first))

    def fp32(self, batch: Batch) -> float:
        """What is multiplied in fp32 for a batch, or in bf16."""
        pieces, length = int(batch.ids.size), int(batch.ids.shape[1])
        return float(self.fp32_piece) * pieces + self.fp32_word * len(batch.first) + self.attention * pieces * length


def count(graph: bytes) -> Operations:
    """Count the operations of a graph that `onnx_check` has let pass."""
    reader = Reader(graph, "graph.onnx")
    model = reader.message((0, len(graph)), onnx_check._MODEL, "the model")
    inside = reader.message(model.place("graph") or (0, 0), onnx_check._GRAPH, "the graph")
    shapes, halves = onnx_check._constants(reader, inside.places.get("constant", []))
    floats: dict[str, str] = {}
    width = shapes[onnx_check.PLACES_TABLE][1]
    int8_piece = fp32_piece = int8_word = fp32_word = attention = 0
    for place in inside.places.get("node", []):
        node = reader.message(place, onnx_check._NODE, "a node")
        operator = reader.text(node.place("operator"), longest=onnx_check.LONGEST_NAME)
        if operator not in ("Cast", "MatMul", "MatMulInteger"):
            continue
        read = [reader.text(name, longest=onnx_check.LONGEST_NAME) for name in node.places.get("input", [])]
        if operator == "Cast":
            if read[0] in halves:
                floats[reader.text(node.place("output"), longest=onnx_check.LONGEST_NAME)] = read[0]
            continue
        matrix = floats.get(read[1], read[1])
        shape = shapes.get(matrix)
        if shape is None:
            attention += 2 * width
        elif operator == "MatMulInteger":
            operations = 2 * shape[0] * shape[1]
            int8_word += operations if matrix.startswith(HEADS) else 0
            int8_piece += 0 if matrix.startswith(HEADS) else operations
        elif matrix.startswith(HEADS):
            fp32_word += 2 * shape[0] * shape[1]
        else:
            fp32_piece += 2 * shape[0] * shape[1]
    return Operations(int8_piece, fp32_piece, fp32_word, attention, int8_word)
