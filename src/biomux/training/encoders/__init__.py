"""Encoders: networks that turn tokens into vectors. Each kind is one file and one line in the table below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from biomux import plugins
from biomux.training.encoders import bilstm, convolution, lexical, random_weights, shaped, transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import nn

    from biomux.recipes import schema
    from biomux.training.encoders.encoder import BuiltEncoder


@dataclass(frozen=True, slots=True)
class Kind:
    """How an encoder is made: `make` from a recipe and the training texts, `build` from its description."""

    make: Callable[[schema.EncoderSettings, Iterable[str]], BuiltEncoder]
    build: Callable[[dict[str, Any]], nn.Module]


ENCODERS: dict[str, Kind] = {
    "transformer": Kind(transformer.make, transformer.build),
    "bilstm": Kind(bilstm.make, bilstm.build),
    "convolution": Kind(convolution.make, convolution.build),
    "lexical": Kind(lexical.make, lexical.build),
    "shaped": Kind(shaped.make, transformer.build),
    "random": Kind(random_weights.make, transformer.build),
}


def build(described: dict[str, Any]) -> nn.Module:
    """The encoder that `describe` described, without its weights; a description without a kind is that of a transformer."""
    return of_kind(described.get("kind", "transformer")).build(described)


def of_kind(name: str) -> Kind:
    """The kind of that name, ours or from another package."""
    kind = plugins.find(ENCODERS, name, "encoders")
    if kind is None:
        raise ValueError(f"unknown kind of encoder {name!r}")
    return kind
