"""The interface of every encoder, whatever its network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor, nn

    from biomux.engine.packing import Specials


class Encoder(Protocol):
    """A module that gives a vector for each token. Padding gets one too, and never affects that of another token.

    `describe` is plain data; with the state dict it is all that is needed to build the encoder again.
    """

    @property
    def width(self) -> int:
        """The size of a token's vector."""

    @property
    def depth(self) -> int:
        """How many layers `layers` gives besides the first."""

    def describe(self) -> dict[str, Any]:
        """What the encoder is, as plain data from which it can be built again."""

    def layers(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> tuple[Tensor, ...]:
        """The vectors of every layer, the last one last; all are of one width."""

    def __call__(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        """The vectors: rows × length × width."""


@dataclass(frozen=True, slots=True)
class BuiltEncoder:
    """An encoder with the tokenizer and special tokens it needs."""

    encoder: nn.Module
    tokenizer: Tokenizer
    specials: Specials
