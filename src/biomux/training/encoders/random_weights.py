"""A small transformer with random weights that knows the words of the training text: to try a recipe with, not to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux.training.encoders import word_tokenizer
from biomux.training.encoders.encoder import BuiltEncoder
from biomux.training.encoders.transformer import build, specials

if TYPE_CHECKING:
    from collections.abc import Iterable

    from biomux.recipes import schema

WIDTH = 64
LAYERS = 2
MOST = 4000
"""How many words are known; all others are spelled."""


def make(settings: schema.EncoderSettings, texts: Iterable[str]) -> BuiltEncoder:
    """BERT of `layers` layers (2 unless given), 64 wide, with the commonest words of the texts as tokens."""
    counts = word_tokenizer.split(texts, lower=True)
    common = sorted(counts, key=lambda word: (-counts[word], word))[:MOST]
    alphabet = {character for word in counts for character in word}
    tokenizer = word_tokenizer.tokenizer(common, lower=True, alphabet=alphabet)
    encoder = build(
        {
            "model_type": "bert",
            "vocab_size": tokenizer.get_vocab_size(),
            "hidden_size": WIDTH,
            "num_hidden_layers": settings.layers or LAYERS,
            "num_attention_heads": 4,
            "intermediate_size": 2 * WIDTH,
            "hidden_dropout_prob": settings.dropout,
            "attention_probs_dropout_prob": settings.dropout,
            "max_position_embeddings": max(512, settings.limit + 2),
            "type_vocab_size": 2,
            "pad_token_id": 0,
        }
    )
    return BuiltEncoder(encoder, tokenizer, specials(tokenizer))
