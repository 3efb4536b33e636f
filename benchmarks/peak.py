"""The machine's matrix-multiply peak, as onnxruntime reaches it: what a session can be held against.

One product of a constant matrix, nothing else, in the shapes that encoders have and in a large square one; the best of all is the
peak. Operations are counted as two for each multiplication and addition. The one-node graphs are written here byte by byte, so that nothing beyond
the base install is needed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Precision = Literal["fp32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "int8")
SHAPES = ((1024, 384, 1536), (1024, 1536, 384), (1024, 1024, 1024))
"""Rows, inputs and outputs of a product."""

_FLOAT, _UINT8, _INT8, _INT32, _BFLOAT16 = 1, 2, 3, 6, 16


@dataclass(frozen=True, slots=True)
class Peak:
    """Billions of operations a second, by shape; none, and why, where the runtime has no such product."""

    precision: Precision
    by_shape: dict[tuple[int, int, int], float]
    why_not: str | None = None

    @property
    def gops(self) -> float | None:
        """The best of all shapes."""
        return max(self.by_shape.values(), default=None)


def measure(precision: Precision, *, threads: int, seconds: float = 1.0) -> Peak:
    """The peak at a precision; about `seconds` in all."""
    found = {}
    for shape in SHAPES:
        try:
            run = _product(shape, precision, threads=threads)
        except Exception as error:  # the runtime's exceptions have no common base
            return Peak(precision, {}, " ".join(str(error).split())[:160])
        found[shape] = best_rate(run, operations=2.0 * math.prod(shape), seconds=seconds / len(SHAPES)) / 1e9
    return Peak(precision, found)


def best_rate(run: Callable[[], object], *, operations: float, seconds: float) -> float:
    """Operations a second in the quickest of at least three calls; after one that does not count."""
    run()
    quickest = float("inf")
    calls, ends = 0, time.perf_counter() + seconds
    while calls < 3 or time.perf_counter() < ends:
        begun = time.perf_counter()
        run()
        quickest = min(quickest, time.perf_counter() - begun)
        calls += 1
    return operations / max(quickest, 1e-9)


def _product(shape: tuple[int, int, int], precision: Precision, *, threads: int) -> Callable[[], object]:
    import onnxruntime

    rows, inputs, outputs = shape
    chance = np.random.default_rng(0)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    left: NDArray[np.float32] | NDArray[np.uint8]
    if precision == "int8":
        left = chance.integers(0, 255, (rows, inputs), dtype=np.uint8)
        right = chance.integers(-63, 64, (inputs, outputs), dtype=np.int8)
        graph = _integer_graph(shape, right.tobytes())
    else:
        left = chance.standard_normal((rows, inputs)).astype(np.float32)
        numbers = (chance.standard_normal((inputs, outputs)) / inputs**0.5).astype(np.float32)
        # bf16 is the upper half of fp32.
        half = precision == "bf16"
        raw = (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes() if half else numbers.tobytes()
        graph = _float_graph(shape, raw, half=half)
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(["out"], {"left": left})


def _integer_graph(shape: tuple[int, int, int], raw: bytes) -> bytes:
    rows, inputs, outputs = shape
    return _model(
        [_node("MatMulInteger", ("left", "right", "middle"), "out")],
        [_tensor("right", _INT8, (inputs, outputs), raw), _tensor("middle", _UINT8, (), b"\x80")],
        _value("left", _UINT8, (rows, inputs)),
        _value("out", _INT32, (rows, outputs)),
    )


def _float_graph(shape: tuple[int, int, int], raw: bytes, *, half: bool) -> bytes:
    rows, inputs, outputs = shape
    nodes = (
        [
            _node("Cast", ("left",), "narrow", to=_BFLOAT16),
            _node("MatMul", ("narrow", "right"), "product"),
            _node("Cast", ("product",), "out", to=_FLOAT),
        ]
        if half
        else [_node("MatMul", ("left", "right"), "out")]
    )
    right = _tensor("right", _BFLOAT16 if half else _FLOAT, (inputs, outputs), raw)
    return _model(nodes, [right], _value("left", _FLOAT, (rows, inputs)), _value("out", _FLOAT, (rows, outputs)))


def _model(nodes: list[bytes], constants: list[bytes], given: bytes, made: bytes) -> bytes:
    graph = b"".join(_message(1, node) for node in nodes) + _text(2, "peak")
    graph += b"".join(_message(5, constant) for constant in constants) + _message(11, given) + _message(12, made)
    return _number(1, 10) + _message(7, graph) + _message(8, _text(1, "") + _number(2, 20))


def _node(operator: str, read: tuple[str, ...], made: str, *, to: int | None = None) -> bytes:
    node = b"".join(_text(1, name) for name in read) + _text(2, made) + _text(4, operator)
    return node if to is None else node + _message(5, _text(1, "to") + _number(3, to) + _number(20, 2))


def _tensor(name: str, kind: int, shape: tuple[int, ...], raw: bytes) -> bytes:
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name) + _message(9, raw)


def _value(name: str, kind: int, shape: tuple[int, ...]) -> bytes:
    sizes = b"".join(_message(1, _number(1, size)) for size in shape)
    return _text(1, name) + _message(2, _message(1, _number(1, kind) + _message(2, sizes)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
