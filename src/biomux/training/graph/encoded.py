"""What an encoder's graph provides to heads, and what it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from biomux.training.graph.builder import Graph, Precision

State = Mapping[str, NDArray[Any]]
"""The encoder's weights and tables by their names in the state dict."""

Config = Mapping[str, Any]
"""The encoder's description of itself (`describe`)."""

Pick = Callable[[str, int], str]
"""From vectors of all tokens (windows × length × width) and their width to those that heads read: rows × width."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The states of the layers: the last one's at the picked rows, those of earlier ones (embeddings first) everywhere."""

    last: str
    earlier: tuple[str, ...]
    width: int


class Write(Protocol):
    """Writes an encoder. It reads `ids` and `mask`, and `segments` if there are any; what only unpicked rows need is not computed."""

    def __call__(self, graph: Graph, state: State, config: Config, pick: Pick, *, segments: bool) -> Encoded: ...


class WriteWords(Protocol):
    """Writes a graph from words' rows to their own vectors: `biomux.engine.word_vectors` says what it reads."""

    def __call__(self, state: State, config: Config, *, precision: Precision) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Family:
    """How encoders of a kind become a graph.

    `matrices` names the matrices that int8 rounds, layer by layer, each layer's output last: mixes of precisions keep the outputs in fp32 first.
    `positions` names the table whose rows limit the length of a window, and how many of its rows come before the first position; None if there is no limit.
    """

    write: Write
    matrices: Callable[[Config], tuple[tuple[str, ...], ...]]
    positions: tuple[str, int] | None = None
    segments: Callable[[Config], bool] = lambda _: False
    """Whether the encoder distinguishes two parts of a row."""
    words: WriteWords | None = None
    """Writes the graph of words' own vectors, for encoders that read `vectors` and not `ids`."""


def floats(state: State, name: str) -> NDArray[np.float32]:
    """A weight as float32."""
    weight: NDArray[np.float32] = state[name].astype(np.float32)
    return weight
