"""Encoders of several families: loaded from a folder, cut, given dropout, described and built again; and without a word on the terminal."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from transformers import AutoConfig, AutoModel

from biomux.errors import TrainingError
from biomux.recipes.schema import EncoderSettings
from biomux.training.encoders import transformer

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": len(tiny.PIECES),
    "pad_token_id": 0,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": SIZES,
    "distilbert": {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 32, "vocab_size": len(tiny.PIECES)},
    "roberta": SIZES,
    "electra": {**SIZES, "embedding_size": 8},
    "albert": {**SIZES, "embedding_size": 8},
    "mpnet": SIZES,
}


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.for_model(request.param, **FAMILIES[request.param])).save_pretrained(tmp_path)
    tiny.tokenizer().save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_any_encoder_is_loaded_cut_and_built_again(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    made = transformer.make(EncoderSettings(name=str(folder), dropout=0.5, layers=2), [])
    assert capfd.readouterr() == ("", ""), "the library's bars and reports stay out of our display"
    encoder: Any = made.encoder
    ids = torch.randint(5, len(tiny.PIECES), (2, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    encoder.train()
    assert not torch.equal(encoder(ids, mask), encoder(ids, mask)), "dropout is on"
    encoder.eval()
    assert encoder(ids, mask).shape == (2, 9, encoder.width)
    assert (encoder.depth, len(encoder.layers(ids, mask))) == (2, 3)
    again = transformer.build(encoder.describe())
    again.load_state_dict(encoder.state_dict())
    again.eval()
    assert torch.equal(again(ids, mask), encoder(ids, mask))
    still: Any = transformer.make(EncoderSettings(name=str(folder)), []).encoder.train()
    assert torch.equal(still(ids, mask), still(ids, mask)), "no dropout unless asked for"


def test_weights_that_are_damaged_are_told(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"x" * 64)
    with pytest.raises(TrainingError, match="cannot load the encoder") as caught:
        transformer.load(str(folder))
    assert caught.value.code == "BX401"


class Leaves:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self.path),)


def test_pickled_weights_are_refused_and_never_unpickled(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Leaves(str(tmp_path / "run"))))
    with pytest.raises(TrainingError, match="cannot load the encoder") as caught:
        transformer.load(str(folder))
    assert caught.value.code == "BX401"
    assert not (tmp_path / "run").exists()
