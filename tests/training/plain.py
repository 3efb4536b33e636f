"""A tiny encoder with its head for hidden words, as Hugging Face saves one, and text to pre-train it on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tiny
import torch
from transformers import BertConfig, BertForMaskedLM

from biomux.recipes.pretraining import Pretraining

if TYPE_CHECKING:
    from pathlib import Path


def encoder(folder: Path, *, layers: int = 2, width: int = 32, seed: int = 4, heads: int = 4) -> Path:
    torch.manual_seed(seed)
    described = tiny.config(layers=layers, width=width) | {"num_attention_heads": heads}
    described.pop("model_type")
    model = BertForMaskedLM(BertConfig(**described))
    torch.nn.init.normal_(model.cls.predictions.bias, std=0.5)
    model.save_pretrained(folder)
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def texts(path: Path, *, number: int = 60, seed: int = 0) -> Path:
    """A file with a document on each line."""
    path.write_text("".join(tiny.text(40, seed=1000 * seed + at) + "\n" for at in range(number)))
    return path


def recipe(name: Path, text: Path, **sections: Any) -> Pretraining:
    described: dict[str, Any] = {
        "name": "tiny",
        "text": {"files": [str(text)], "format": "lines", "held_out": 0.1},
        "model": {"encoder": {"name": str(name), "limit": 30, "dropout": 0.1}},
        "loop": {"epochs": 2, "batch_tokens": 160, "learning_rate": 1e-3, "precision": "fp32"},
        "score": {"windows": 20},
    }
    for section, values in sections.items():
        described[section] = described.get(section, {}) | values if isinstance(values, dict) else values
    return Pretraining.model_validate(described)
