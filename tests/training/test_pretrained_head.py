"""The head for hidden words: read from the weights of every family as the family itself has it, and written back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tiny
import torch
import transformers
from training import plain

from biomux.engine.packing import Batch, Specials
from biomux.training import encoder_folder, pretrained_head
from biomux.training.encoders import transformer, vocabulary
from biomux.training.heads import masked_lm
from biomux.training.model import Model

if TYPE_CHECKING:
    from pathlib import Path

SIZE = len(tiny.PIECES)
COMMON: dict[str, Any] = {"vocab_size": SIZE, "max_position_embeddings": 64, "pad_token_id": 0}
BERT: dict[str, Any] = {
    **COMMON,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "Bert": BERT,
    "Roberta": BERT,
    "MPNet": BERT,
    "MobileBert": {**BERT, "embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    "DistilBert": {**COMMON, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
}


def _batch(rows: int = 3, length: int = 12) -> Batch:
    generator = np.random.default_rng(3)
    ids = generator.integers(5, SIZE, size=(rows, length)).astype(np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    return Batch(ids, np.ones_like(ids), nothing, np.zeros(rows, dtype=np.int64), np.arange(rows))


def _logits(model: Model, batch: Batch) -> torch.Tensor:
    rows = torch.arange(batch.ids.size)
    with torch.no_grad():
        found: torch.Tensor = model.eval().heads["words"](model.features(batch), rows)
    return found.reshape(*batch.ids.shape, -1)


def _loaded(folder: Path) -> tuple[Model, Any]:
    encoder, tokenizer, specials = transformer.load(str(folder))
    head = masked_lm.build(encoder.width, tokenizer.get_vocab_size(), encoder=encoder)
    found = pretrained_head.read(str(folder), encoder.config.model_type)
    assert found is not None
    pretrained_head.put(head, found, old=tokenizer, new=tokenizer)
    return Model(encoder, {"words": head}, {"words": "token"}), (tokenizer, specials)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_own_guesses_are_ours_and_come_back(tmp_path: Path, family: str) -> None:
    torch.manual_seed(2)
    config = getattr(transformers, f"{family}Config")(**FAMILIES[family])
    theirs = getattr(transformers, f"{family}ForMaskedLM")(config).eval()
    for name, parameter in theirs.named_parameters():
        if name.endswith("bias"):  # they begin as zeros, which would hide a mistake
            torch.nn.init.normal_(parameter, std=0.3)
    theirs.save_pretrained(tmp_path / "theirs")
    tiny.tokenizer().save(str(tmp_path / "theirs" / "tokenizer.json"))
    model, (tokenizer, specials) = _loaded(tmp_path / "theirs")
    batch = _batch()
    with torch.no_grad():
        wanted = theirs(input_ids=torch.from_numpy(batch.ids), attention_mask=torch.from_numpy(batch.mask)).logits
    torch.testing.assert_close(_logits(model, batch), wanted, atol=1e-4, rtol=1e-4)
    assert encoder_folder.save(tmp_path / "ours", model.encoder, model.heads["words"], tokenizer, specials)
    again, report = getattr(transformers, f"{family}ForMaskedLM").from_pretrained(
        tmp_path / "ours", output_loading_info=True
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    with torch.no_grad():
        found = again.eval()(input_ids=torch.from_numpy(batch.ids), attention_mask=torch.from_numpy(batch.mask)).logits
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(_logits(_loaded(tmp_path / "ours")[0], batch), wanted, atol=1e-4, rtol=1e-4)


def test_weights_without_a_head_have_none(tmp_path: Path) -> None:
    described = tiny.config()
    described.pop("model_type")
    transformers.BertModel(transformers.BertConfig(**described)).save_pretrained(tmp_path)
    assert pretrained_head.read(str(tmp_path), "bert") is None
    assert pretrained_head.read(str(tmp_path), "electra") is None


def test_the_head_follows_its_tokens_into_another_vocabulary(tmp_path: Path) -> None:
    folder = plain.encoder(tmp_path / "encoder")
    encoder, old, _ = transformer.load(str(folder))
    found = pretrained_head.read(str(folder), "bert")
    assert found is not None
    new, encoder.embeddings = vocabulary.replace(old, encoder.embeddings, ["mice", "aspirinmycin", "fever"])
    head = masked_lm.build(encoder.width, new.get_vocab_size(), encoder=encoder)
    pretrained_head.put(head, found, old=old, new=new)
    before, bias = found["bias"], head.get_parameter("bias")
    assert bias[new.token_to_id("mice")] == before[old.token_to_id("mice")]
    spelled = [old.token_to_id("aspirin"), old.token_to_id("##mycin")]
    assert bias[new.token_to_id("aspirinmycin")].item() == pytest.approx(before[spelled].mean().item())


def test_the_folder_loads_in_other_libraries(tmp_path: Path) -> None:
    model, (tokenizer, specials) = _loaded(plain.encoder(tmp_path / "encoder"))
    encoder_folder.save(tmp_path / "out", model.encoder, model.heads["words"], tokenizer, specials)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert theirs.mask_token == "[MASK]"
    assert (
        theirs("aspirin and fever", add_special_tokens=False)["input_ids"]
        == tokenizer.encode("aspirin and fever", add_special_tokens=False).ids
    )
    assert specials == Specials(0, 2, 3)
    assert (tmp_path / "out" / "vocab.txt").read_text().splitlines() == list(tiny.PIECES)
