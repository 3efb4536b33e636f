"""The encoder that another run ended with: paper A's Frozen2, paper B's refined encoder. Heads are not taken over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from safetensors.torch import load_file
from tokenizers import Tokenizer

from biomux.engine.packing import Specials
from biomux.errors import TrainingError
from biomux.learn import encoders

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

PREFIX = "encoder."


def load(folder: Path, *, dropout: float = 0.0) -> tuple[nn.Module, Tokenizer, Specials]:
    """The encoder of a run's best weights, with the vocabulary that it was trained with."""
    if not (folder / "model.json").is_file() or not (folder / "model.safetensors").is_file():
        raise TrainingError(
            "BX405",
            "there is no trained model to begin from",
            where=str(folder),
            hint="name the folder of a finished run in model.encoder.run",
        )
    described: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    names = ("dropout",) if "kind" in described["encoder"] else ("hidden_dropout_prob", "attention_probs_dropout_prob")
    encoder = encoders.build(described["encoder"] | dict.fromkeys(names, dropout))
    weights = load_file(folder / "model.safetensors")
    encoder.load_state_dict(
        {name.removeprefix(PREFIX): value for name, value in weights.items() if name.startswith(PREFIX)}
    )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return encoder, tokenizer, Specials(**described["specials"])
