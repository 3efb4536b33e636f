"""A convolutional encoder: cheap enough for any machine; a token's vector depends only on a few neighbours.

Each block adds to a token a function of its window of neighbours: x + dropout(norm(act(W · [x₋₁ x x₊₁]))). Four blocks with one
neighbour on either side see four tokens each way. A window is laid out as one wide row, so that a block is a matrix product.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from biomux.recipes import schema
from biomux.training.encoders import transformer, vocabulary
from biomux.training.encoders.encoder import BuiltEncoder
from biomux.training.encoders.tokenizer import tokenizer_of
from biomux.training.encoders.word_tokenizer import CONTINUES, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BLOCKS = 4
MAXOUT = 3
"""Candidates of which maxout takes the largest."""
FEATURES = 4
"""Hashed features of a token: itself, its beginning, its end, its shape."""


class Block(nn.Module):
    """One residual window."""

    def __init__(self, width: int, window: int, activation: Literal["gelu", "maxout"], dropout: float) -> None:
        super().__init__()
        self.window, self.activation = window, activation
        self.mix = nn.Linear(width * (2 * window + 1), width * (MAXOUT if activation == "maxout" else 1))
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        """`hidden` is zero at padding, and so is the output: the edge of a text and padding look the same."""
        length = hidden.shape[1]
        wide = functional.pad(hidden, (0, 0, self.window, self.window))
        windows = torch.cat([wide[:, shift : shift + length] for shift in range(2 * self.window + 1)], dim=-1)
        mixed: Tensor = self.mix(windows)
        if self.activation == "maxout":
            mixed = mixed.reshape(*hidden.shape, MAXOUT).amax(dim=-1)
        else:
            mixed = functional.gelu(mixed)
        output: Tensor = (hidden + self.dropout(self.norm(mixed))) * real
        return output


class Convolution(nn.Module):
    """Embeddings, then residual windows. `segments` are not read: [SEP] is between two parts."""

    places: Tensor

    def __init__(
        self,
        *,
        vocabulary: int,
        width: int = 128,
        blocks: int = BLOCKS,
        window: int = 1,
        activation: Literal["gelu", "maxout"] = "gelu",
        embedding: Literal["table", "hashed"] = "table",
        rows: int = 5000,
        hashes: int = 2,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.settings = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        if embedding == "hashed":
            self.register_buffer("places", torch.zeros((vocabulary, FEATURES * hashes), dtype=torch.int32))
        self.embeddings = nn.Embedding(rows if embedding == "hashed" else vocabulary, width)
        nn.init.normal_(self.embeddings.weight, std=0.1)
        self.norm = nn.LayerNorm(width)
        self.layer = nn.ModuleList(Block(width, window, activation, dropout) for _ in range(blocks))
        self.dropout = nn.Dropout(dropout)

    @property
    def width(self) -> int:
        """The size of a token's vector."""
        return int(self.settings["width"])

    @property
    def depth(self) -> int:
        """How many blocks there are."""
        return len(self.layer)

    def describe(self) -> dict[str, Any]:
        """What the encoder is, as plain data; the hashed rows of tokens are in the state dict."""
        return {"kind": "convolution", **self.settings}

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        return self.layers(ids, mask, segments)[-1]

    def layers(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> tuple[Tensor, ...]:  # noqa: ARG002
        """The embeddings and the output of every block."""
        if self.settings["embedding"] == "hashed":
            hidden = functional.embedding(self.places[ids].long(), self.embeddings.weight).sum(dim=2)
        else:
            hidden = self.embeddings(ids)
        real = mask[..., None].to(hidden.dtype)
        hidden = self.dropout(self.norm(hidden)) * real
        states = [hidden]
        for layer in self.layer:
            states.append(layer(states[-1], real))
        return tuple(states)


def make(settings: schema.EncoderSettings, texts: Iterable[str]) -> BuiltEncoder:
    """The encoder, with the tokenizer of `settings.name` and the vocabulary that the recipe asks for."""
    chosen = settings.convolution or schema.ConvolutionSettings()
    tokenizer = tokenizer_of(settings.name, lower_case=settings.lower_case)
    tokenizer, _ = vocabulary.shaped(
        tokenizer, torch.zeros((tokenizer.get_vocab_size(), 1)), settings.vocabulary, texts
    )
    tokens = tokens_of(tokenizer)
    encoder = Convolution(
        vocabulary=len(tokens), blocks=settings.layers or BLOCKS, dropout=settings.dropout, **chosen.model_dump()
    )
    if chosen.embedding == "hashed":
        encoder.places.copy_(hashed(tokens, rows=chosen.rows, hashes=chosen.hashes))
    return BuiltEncoder(encoder, tokenizer, transformer.specials(tokenizer))


def build(described: dict[str, Any]) -> Convolution:
    """The encoder of a description; its weights and tables come with the state dict."""
    return Convolution(**{name: value for name, value in described.items() if name != "kind"})


def hashed(tokens: Sequence[str], *, rows: int, hashes: int) -> Tensor:
    """The places of each token's features: tokens × (features · hashes). The same on every machine and in every process."""
    places = [
        [_place(f"{name}{seed}\0{value}", rows) for name, value in _features(token).items() for seed in range(hashes)]
        for token in tokens
    ]
    return torch.tensor(places, dtype=torch.int32).reshape(len(tokens), FEATURES * hashes)


def _features(token: str) -> dict[str, str]:
    """The features of a token to hash. Its shape has x, X and d for letters and digits, and at most three of the same in a row.

    >>> _features("Cyclin2")
    {'piece': 'Cyclin2', 'begin': 'Cyc', 'end': 'in2', 'shape': 'Xxxxd'}
    """
    bare = token.removeprefix(CONTINUES)
    shape = ""
    for character in bare:
        sign = (
            "d" if character.isdigit() else ("X" if character.isupper() else "x") if character.isalpha() else character
        )
        if shape[-3:] != sign * 3:
            shape += sign
    return {"piece": token, "begin": bare[:3], "end": bare[-3:], "shape": shape}


def _place(text: str, rows: int) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) % rows
