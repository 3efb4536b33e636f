"""A transformer of a given shape with random weights: a student for distillation, or an encoder to pre-train from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from biomux.errors import RecipeError
from biomux.training.encoders import vocabulary
from biomux.training.encoders.encoder import BuiltEncoder
from biomux.training.encoders.tokenizer import tokenizer_of
from biomux.training.encoders.transformer import build, specials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.recipes import schema

POSITIONS = 512


def make(settings: schema.EncoderSettings, texts: Iterable[str]) -> BuiltEncoder:
    """The shape that a recipe gives, with the tokenizer of the encoder that it names."""
    shape = settings.shape
    if shape is None:
        raise RecipeError(
            "BX306",
            "an encoder of kind 'shaped' needs a shape",
            where="model → encoder → shape",
            hint="for instance {layers: 4, width: 312, heads: 12, feed_forward: 1200}",
        )
    tokenizer = tokenizer_of(settings.name, lower_case=settings.lower_case)
    # No vector is kept: every weight is random.
    tokenizer, _ = vocabulary.shaped(tokenizer, torch.zeros(tokenizer.get_vocab_size(), 1), settings.vocabulary, texts)
    size, longest = tokenizer.get_vocab_size(), max(POSITIONS, settings.limit + 2)
    try:
        encoder = build(_described(shape, size=size, longest=longest, dropout=settings.dropout))
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise RecipeError("BX306", f"cannot build this shape: {reason}", where="model → encoder → shape") from None
    return BuiltEncoder(encoder, tokenizer, specials(tokenizer))


def _described(shape: schema.ShapeSettings, *, size: int, longest: int, dropout: float) -> dict[str, Any]:
    """The shape under each family's own names for its parts."""
    common: dict[str, Any] = {
        "model_type": shape.family,
        "vocab_size": size,
        "max_position_embeddings": longest,
        "pad_token_id": 0,
    }
    if shape.family == "distilbert":
        return common | {
            "dim": shape.width,
            "n_layers": shape.layers,
            "n_heads": shape.heads,
            "hidden_dim": shape.feed_forward,
            "dropout": dropout,
            "attention_dropout": dropout,
        }
    bert = common | {
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.feed_forward,
        "hidden_dropout_prob": dropout,
        "attention_probs_dropout_prob": dropout,
        "type_vocab_size": 2,
    }
    if shape.family == "mobilebert":
        bert |= {"embedding_size": shape.bottleneck, "intra_bottleneck_size": shape.bottleneck}
        bert |= {"true_hidden_size": shape.bottleneck, "classifier_activation": False}
    return bert
