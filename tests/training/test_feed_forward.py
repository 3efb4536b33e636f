"""Encoders that keep only some of their feed-forward units."""

from __future__ import annotations

import pytest
import torch
from transformers import (
    AlbertConfig,
    AlbertModel,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    IBertConfig,
    IBertModel,
    MobileBertConfig,
    MobileBertModel,
    ModernBertConfig,
    ModernBertModel,
    PreTrainedModel,
)

from biomux.errors import RecipeError
from biomux.training.encoders.transformer import Transformer, build

IDS = torch.arange(1, 9).reshape(2, 4)
MASK = torch.ones_like(IDS)


def bert(units: int = 32, width: int = 8) -> Transformer:
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=30, hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=units
    )
    return Transformer(BertModel(config, add_pooling_layer=False)).eval()


def test_units_without_any_weight_are_the_first_to_go() -> None:
    encoder = bert()
    with torch.no_grad():
        for layer in encoder.body.encoder.layer:
            layer.intermediate.dense.weight[::2] = 0
            layer.intermediate.dense.bias[::2] = 0
            layer.output.dense.weight[:, ::2] = 0
    before = encoder(IDS, MASK)
    encoder.keep_feed_forward(16)
    torch.testing.assert_close(encoder(IDS, MASK), before)


def test_a_narrowed_encoder_is_built_again_from_its_description() -> None:
    encoder = bert()
    encoder.keep_feed_forward(12)
    again = build(encoder.describe()).eval()
    again.load_state_dict(encoder.state_dict())
    torch.testing.assert_close(again(IDS, MASK), encoder(IDS, MASK))
    assert all(layer.output.dense.weight.shape == (8, 12) for layer in again.body.encoder.layer)


def test_keeping_all_units_changes_nothing() -> None:
    encoder = bert()
    before = encoder(IDS, MASK)
    encoder.keep_feed_forward(32)
    torch.testing.assert_close(encoder(IDS, MASK), before)


def test_distilbert_calls_its_units_otherwise() -> None:
    encoder = Transformer(DistilBertModel(DistilBertConfig(vocab_size=30, dim=8, n_layers=2, n_heads=2, hidden_dim=32)))
    encoder.keep_feed_forward(10)
    assert encoder.config.hidden_dim == 10
    assert encoder(IDS, MASK).shape == (2, 4, 8)


@pytest.mark.parametrize("units", [8, 16])
def test_more_units_than_there_are_cannot_be_kept(units: int) -> None:
    with pytest.raises(RecipeError, match=f"cannot keep 40 feed-forward units .* it has {units}"):
        bert(units).keep_feed_forward(40)


def test_layers_with_several_feed_forward_parts_stay_whole() -> None:
    config = MobileBertConfig(
        vocab_size=30, hidden_size=16, intra_bottleneck_size=8, intermediate_size=24, num_hidden_layers=1,
        num_attention_heads=2, embedding_size=8,
    )  # fmt: skip
    with pytest.raises(RecipeError, match="several parts"):
        Transformer(MobileBertModel(config)).keep_feed_forward(4)


SMALL = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.mark.parametrize(
    "body",
    [
        ModernBertModel(
            ModernBertConfig(**SMALL, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
        ),
        IBertModel(IBertConfig(**SMALL)),
        AlbertModel(AlbertConfig(**SMALL, embedding_size=32)),
    ],
    ids=["gated", "no linear modules", "embeddings as wide"],
)
def test_units_that_are_not_between_two_matrices_stay_as_they_are(body: PreTrainedModel) -> None:
    encoder = Transformer(body)
    shapes = {name: value.shape for name, value in encoder.state_dict().items()}
    with pytest.raises(RecipeError, match="other parts than two matrices of 32; leave feed_forward out"):
        encoder.keep_feed_forward(16)
    assert {name: value.shape for name, value in encoder.state_dict().items()} == shapes
    assert encoder.config.intermediate_size == 32


def test_units_without_a_bias() -> None:
    encoder = bert()
    for layer in encoder.body.encoder.layer:
        layer.intermediate.dense.bias = None
    encoder.keep_feed_forward(16)
    assert encoder(IDS, MASK).shape == (2, 4, 8)
