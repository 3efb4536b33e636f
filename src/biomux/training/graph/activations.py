"""Activations by their names in configurations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from biomux.training.graph.builder import Graph


def _gelu(graph: Graph, rows: str) -> str:
    out: str = graph.add("Gelu", rows)
    return out


def _gelu_by_tanh(graph: Graph, rows: str) -> str:
    """x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))."""
    cube = graph.add("Mul", graph.add("Mul", rows, rows), rows)
    inner = graph.add("Add", rows, graph.add("Mul", cube, graph.number(0.044715)))
    curve = graph.add("Tanh", graph.add("Mul", inner, graph.number(math.sqrt(2 / math.pi))))
    half = graph.add("Mul", rows, graph.number(0.5))
    out: str = graph.add("Mul", half, graph.add("Add", curve, graph.number(1)))
    return out


def _relu(graph: Graph, rows: str) -> str:
    out: str = graph.add("Relu", rows)
    return out


def _silu(graph: Graph, rows: str) -> str:
    out: str = graph.add("Mul", rows, graph.add("Sigmoid", rows))
    return out


def _tanh(graph: Graph, rows: str) -> str:
    out: str = graph.add("Tanh", rows)
    return out


ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "gelu": _gelu,
    "gelu_new": _gelu_by_tanh,
    "gelu_fast": _gelu_by_tanh,
    "gelu_pytorch_tanh": _gelu_by_tanh,
    "relu": _relu,
    "silu": _silu,
    "swish": _silu,
    "tanh": _tanh,
}
