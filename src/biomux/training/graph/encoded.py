"""What an encoder's graph gives to heads, and what it is written from."""

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
"""What the encoder says of itself (`describe`)."""

Pick = Callable[[str, int], str]
"""From vectors of all tokens (windows × length × width) and their width to those that heads read: rows × width."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The states of the layers: of the last one at the picked rows, of those before it (embeddings first) everywhere."""

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

    `matrices` names the matrices that int8 rounds, layer by layer, each layer's output last: the ladder of precisions keeps the outputs first.
    `positions` names the table whose rows limit the length of a window, and how many of its rows come before the first place; None if nothing does.
    """

    write: Write
    matrices: Callable[[Config], tuple[tuple[str, ...], ...]]
    positions: tuple[str, int] | None = None
    segments: Callable[[Config], bool] = lambda _: False
    """Whether the encoder tells two parts of a row apart."""
    words: WriteWords | None = None
    """Writes the graph of words' own vectors, of encoders that read `vectors` and not `ids`."""


def floats(state: State, name: str) -> NDArray[np.float32]:
    """A weight."""
    found: NDArray[np.float32] = state[name].astype(np.float32)
    return found
