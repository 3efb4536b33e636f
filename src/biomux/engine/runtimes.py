"""The runtimes that a bundle's graph can be run by.

onnxruntime   comes with Biomux; the one that bundles are measured and verified with
openvino      of the extra `openvino`
auto          onnxruntime: no processor is known on which OpenVINO is faster with the same answers
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Literal, get_args

from biomux.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from biomux.engine.graph_session import GraphSession, Place
    from biomux.engine.session import Session
    from biomux.engine.word_memory import WordMemory

Name = Literal["onnxruntime", "openvino"]
Runtime = Literal["auto", "onnxruntime", "openvino"]
RUNTIMES: tuple[Runtime, ...] = get_args(Runtime)
REFERENCE: Name = "onnxruntime"
OTHER: Name = "openvino"


def named(runtime: str) -> Name:
    """The runtime that is meant; refused if there is none of that name, or if it is not installed."""
    if runtime not in RUNTIMES:
        raise UsageError("BX001", f"unknown runtime {runtime!r}", hint=did_you_mean(runtime, RUNTIMES))
    if runtime != OTHER:
        return REFERENCE
    if not installed():
        raise UsageError("BX003", "the runtime openvino is not installed", hint="pip install 'biomux[openvino]'")
    return OTHER


def installed() -> bool:
    """Whether OpenVINO is, without importing it. A folder that only has its name is none."""
    package = importlib.util.find_spec(OTHER)
    return package is not None and package.origin is not None


def open_session(
    graph: bytes,
    places: Mapping[str, Place],
    *,
    pairs: bytes | None = None,
    threads: int | None = None,
    runtime: str = "auto",
    memory: WordMemory | None = None,
) -> Session:
    """A session over graphs that `onnx_check` has let pass; `memory` where batches hold numbers of words."""
    session = _opened(graph, places, pairs=pairs, threads=threads, runtime=runtime)
    session.memory = memory
    return session


def _opened(
    graph: bytes, places: Mapping[str, Place], *, pairs: bytes | None, threads: int | None, runtime: str
) -> GraphSession:
    if named(runtime) == OTHER:
        from biomux.engine.openvino_session import OpenVinoSession

        return OpenVinoSession(graph, places, pairs=pairs, threads=threads)
    from biomux.engine.onnx_session import OnnxSession

    return OnnxSession(graph, places, pairs=pairs, threads=threads)
