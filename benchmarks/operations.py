"""How many operations a bundle's graph takes for a batch, counted from the shapes of its matrices: two for each multiplication and addition.

What is not a matrix product (normalisation, softmax, rounding) is not counted, so a share of the peak says how well the whole graph uses
the machine, not how good its products are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from biomux.engine.bundle import onnx_check
from biomux.engine.bundle.protobuf import ProtobufReader

if TYPE_CHECKING:
    from biomux.engine.packing import Batch

WORDS = "first"
"""The input that names words' first tokens: what is computed from rows gathered by it is of words, all else of tokens."""


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of a graph.

    `int8_token` and `fp32_token` are those of matrices that read every token, padding included; `int8_word` and `fp32_word` of those that read
    words' first tokens only (heads, and the end of the encoder); `attention` those of products without a constant for each pair of tokens of a window.
    """

    int8_token: int = 0
    fp32_token: int = 0
    fp32_word: int = 0
    attention: int = 0
    int8_word: int = 0

    def int8(self, batch: Batch) -> float:
        """What is multiplied in int8 for a batch."""
        return float(self.int8_token * int(batch.ids.size) + self.int8_word * len(batch.first))

    def fp32(self, batch: Batch) -> float:
        """What is multiplied in fp32 for a batch."""
        tokens, length = int(batch.ids.size), int(batch.ids.shape[1])
        return float(self.fp32_token) * tokens + self.fp32_word * len(batch.first) + self.attention * tokens * length


def count(graph: bytes) -> Operations:
    """Count the operations of a graph that `onnx_check` has let pass."""
    reader = ProtobufReader(graph, "graph.onnx")
    model = reader.message((0, len(graph)), onnx_check._MODEL, "the model")
    inside = reader.message(model.place("graph") or (0, 0), onnx_check._GRAPH, "the graph")
    shapes = onnx_check._constants(reader, inside.places.get("constant", []))
    words: set[str] = set()
    width = shapes[onnx_check.PLACES_TABLE][1]
    found: Counter[tuple[str, bool]] = Counter()
    attention = 0
    for place in inside.places.get("node", []):
        node = reader.message(place, onnx_check._NODE, "a node")
        operator = reader.text(node.place("operator"), longest=onnx_check.LONGEST_NAME)
        read = [reader.text(name, longest=onnx_check.LONGEST_NAME) for name in node.places.get("input", [])]
        made = [reader.text(name, longest=onnx_check.LONGEST_NAME) for name in node.places.get("output", [])]
        of_words = WORDS in read or not words.isdisjoint(read)
        if of_words:
            words.update(made)
        if operator not in ("MatMul", "MatMulInteger"):
            continue
        shape = shapes.get(read[1])
        if shape is None:
            attention += 2 * width
        else:
            found[operator, of_words] += 2 * shape[0] * shape[1]
    return Operations(
        found["MatMulInteger", False],
        found["MatMul", False],
        found["MatMul", True],
        attention,
        found["MatMulInteger", True],
    )
