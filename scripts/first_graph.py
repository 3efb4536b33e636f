"""Write the graph of the bundle that comes with Biomux as `biomux export` writes graphs now, with the same weights, byte for byte.

    python scripts/first_graph.py src/biomux/bundles/default docs/explanation/model-card.md

The graph was exported when rows were still rounded by Round, Add and Cast. Each of its int8 products is replaced by the nodes that
`biomux.training.graph.builder` writes today; all other nodes, and all constants, stay. Numbers are rounded in another order, so the answers to the
bundle's examples are computed anew. Score the bundle again afterwards (`biomux evaluate --card`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from first_defaults import rewrite
from onnx import numpy_helper

from biomux.engine.bundle import verify
from biomux.engine.bundle.onnx_check import check
from biomux.engine.load import load
from biomux.training.graph.builder import Graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OLD = ("Abs", "ReduceMax", "Max", "Mul", "Div", "Round", "Add", "Cast", "MatMulInteger", "Cast", "Mul", "Mul")
"""The nodes of a product, one after the other, as the first release wrote them."""
PREFIX = "first_"
"""Before the names of what old nodes give: new ones have names of the same kind."""


def renewed(content: bytes) -> bytes:
    """The graph with today's nodes for int8 products."""
    model = onnx.load_from_string(content)
    constants = {constant.name: constant for constant in model.graph.initializer}
    graph = Graph(precision="int8")
    old, nodes = list(model.graph.node), []
    inner = {name for node in old for name in node.output} - {value.name for value in model.graph.output}
    for node in old:
        node.name = PREFIX + node.name
        for values in (node.input, node.output):
            values[:] = [PREFIX + name if name in inner else name for name in values]
    outputs: dict[str, str] = {}
    while old:
        if tuple(node.op_type for node in old[: len(OLD)]) != OLD:
            nodes.append(old.pop(0))
            continue
        replaced, old = old[: len(OLD)], old[len(OLD) :]
        begin = len(graph.nodes)
        outputs[_product(graph, replaced, constants)] = replaced[-1].output[0]
        nodes += graph.nodes[begin:]
    if not outputs:
        raise SystemExit("this graph has no product as the first release wrote them")
    for node in graph.nodes:
        for values in (node.input, node.output):
            values[:] = [outputs.get(name, name) for name in values]
    used = {name for node in nodes for name in node.input}
    kept = [constant for constant in model.graph.initializer if constant.name in used]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    added = [constant for name, constant in graph.constants.items() if name in used and name not in constants]
    model.graph.initializer.extend([*kept, *added])
    onnx.checker.check_model(model)
    renewed_content: bytes = model.SerializeToString()
    check(renewed_content)
    return renewed_content


def _product(graph: Graph, nodes: Sequence[Any], constants: Mapping[str, Any]) -> str:
    """Today's nodes for a product, reading what the old ones read; the bias is added by a node that stays."""
    weight, scale = nodes[8].input[1], numpy_helper.to_array(constants[nodes[-1].input[1]])
    matrix = numpy_helper.to_array(constants[weight]).astype(np.float32) * scale
    graph.linear(nodes[0].input[0], matrix, np.zeros(scale.size, np.float32), weight.removesuffix(".weight"))
    # Rounding what was rounded changes nothing: the largest of each column is a whole number of steps.
    if graph.constants[weight].raw_data != constants[weight].raw_data:
        raise SystemExit(f"{weight} would change")
    return str(graph.nodes.pop().input[0])


def main() -> None:
    """Renew the graph, and write and verify the manifest."""
    parser = argparse.ArgumentParser(description="Renew the graph of the bundle that comes with Biomux.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("card", type=Path, help="the copy of the card in the docs")
    given = parser.parse_args()
    path = given.bundle / "graph.onnx"
    path.write_bytes(renewed(path.read_bytes()))
    rewrite(given.bundle, {}, (given.bundle / "card.md").read_text(encoding="utf-8"), given.card, check=False)
    (given.bundle / "examples.jsonl").write_bytes(verify.examples(load(given.bundle)))
    rewrite(given.bundle, {}, (given.bundle / "card.md").read_text(encoding="utf-8"), given.card)


if __name__ == "__main__":
    main()
