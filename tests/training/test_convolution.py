"""The convolutional encoder: shapes, masking, description, learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import tiny
import torch
from torch import nn
from training.words_of_ours import SENTENCES, features, laid_out, losses

from biomux.recipes import schema
from biomux.training import encoders
from biomux.training.encoders import ENCODERS
from biomux.training.encoders.convolution import Convolution, hashed
from biomux.training.heads import HEADS

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.training.encoders.encoder import BuiltEncoder

SETTINGS: list[dict[str, Any]] = [
    {"width": 12},
    {"width": 12, "activation": "maxout", "window": 2},
    {"width": 12, "embedding": "hashed", "rows": 50},
]


def make(folder: Path, *, blocks: int | None = None, vocabulary: str = "keep", **settings: Any) -> BuiltEncoder:
    torch.manual_seed(3)
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    described: dict[str, Any] = {
        "kind": "convolution",
        "name": str(folder),
        "layers": blocks,
        "vocabulary": {"kind": vocabulary},
        "convolution": settings,
    }
    return ENCODERS["convolution"].make(schema.EncoderSettings.model_validate(described), SENTENCES)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_vector_for_each_token(tmp_path: Path, settings: dict[str, Any]) -> None:
    made = make(tmp_path, **settings)
    ids, mask, _ = laid_out(made, SENTENCES)
    layers = made.encoder.layers(ids, mask)  # type: ignore[operator]
    assert [tuple(layer.shape) for layer in layers] == [(*ids.shape, 12)] * 5
    assert made.encoder.depth == 4
    assert torch.equal(made.encoder(ids, mask), layers[-1])


@pytest.mark.parametrize("settings", SETTINGS)
def test_padding_changes_nothing(tmp_path: Path, settings: dict[str, Any]) -> None:
    made = make(tmp_path, **settings)
    together = features(made, SENTENCES, length=100)
    rows = [
        features(made, [text], length=length).at(laid_out(made, [text], length=length)[2])
        for text, length in zip(SENTENCES, (60, 64, 48, 70), strict=True)
    ]
    torch.testing.assert_close(together.at(together.words), torch.cat(rows), rtol=0, atol=1e-6)


def test_a_token_sees_as_far_as_its_blocks_reach(tmp_path: Path) -> None:
    made = make(tmp_path, blocks=2, width=12, window=1)
    ids, mask, _ = laid_out(made, SENTENCES[:1])
    other = ids.clone()
    other[0, 10] = 7
    moved = (made.encoder(ids, mask) != made.encoder(other, mask)).any(dim=-1)[0].nonzero().flatten().tolist()
    assert moved == [8, 9, 10, 11, 12]


@pytest.mark.parametrize("settings", SETTINGS)
def test_built_again_from_its_description(tmp_path: Path, settings: dict[str, Any]) -> None:
    made = make(tmp_path, **settings)
    again = encoders.build(made.encoder.describe())  # type: ignore[operator]
    again.load_state_dict(made.encoder.state_dict())
    ids, mask, _ = laid_out(made, SENTENCES)
    assert torch.equal(again(ids, mask), made.encoder(ids, mask))


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_parameter_has_a_gradient(tmp_path: Path, settings: dict[str, Any]) -> None:
    made = make(tmp_path, **settings)
    ids, mask, places = laid_out(made, SENTENCES)
    made.encoder(ids, mask).reshape(-1, 12)[places].pow(2).sum().backward()
    for name, parameter in made.encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_a_vocabulary_can_be_trimmed(tmp_path: Path) -> None:
    made = make(tmp_path, vocabulary="trim", width=12)
    assert made.tokenizer.get_vocab_size() < len(tiny.PIECES)
    assert isinstance(made.encoder, Convolution)
    assert made.encoder.settings["vocabulary"] == made.tokenizer.get_vocab_size()


def test_hashing_is_the_same_everywhere_and_tells_tokens_apart() -> None:
    places = hashed(["kinase", "##kinase", "kinases", "Kinase"], rows=5000, hashes=2)
    assert places.tolist()[0] == [4639, 1098, 2971, 1323, 992, 1372, 2527, 2644]
    assert len({tuple(row) for row in places.tolist()}) == 4
    assert places[0, 2:].tolist() == places[1, 2:].tolist()


def test_training_lowers_the_loss_as_it_always_did(tmp_path: Path) -> None:
    made = make(tmp_path, blocks=2, width=12)
    head: nn.Module = HEADS["linear"](12, 2, dropout=0.0)
    found = losses(made.encoder, head, made, steps=20, rate=0.005)
    assert found[0] == pytest.approx(1.136654, abs=1e-4)
    assert found[9] == pytest.approx(0.034623, abs=1e-4)
    assert found[-1] < 0.5 * found[0]
