"""An encoder as a Hugging Face folder, which recipes use as `encoder: {name: FOLDER}` and other libraries can load.

    FOLDER/config.json, model.safetensors, tokenizer.json, tokenizer_config.json, and vocab.txt for a WordPiece vocabulary

The head for masked tokens is in the weights under the names of its family, so that pre-training can continue from here, and a student can learn from its predictions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from safetensors.torch import save_file

from biomux.errors import TrainingError
from biomux.files import replaced_folder
from biomux.training import pretrained_head
from biomux.training.encoders.transformer import Transformer
from biomux.training.encoders.vocabulary import in_order

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer
    from torch import nn

    from biomux.engine.packing import Specials

ROLES = (
    ("unk_token", ("[UNK]", "<unk>")),
    ("sep_token", ("[SEP]", "</s>")),
    ("pad_token", ("[PAD]", "<pad>")),
    ("cls_token", ("[CLS]", "<s>")),
    ("mask_token", ("[MASK]", "<mask>")),
)


def save(place: Path, encoder: nn.Module, head: nn.Module, tokenizer: Tokenizer, specials: Specials) -> bool:
    """Write the folder. Returns False and writes nothing for an encoder that is not a transformer: use it as `encoder: {run: RUN}` instead."""
    if not isinstance(encoder, Transformer):
        return False
    body, family = encoder.body, encoder.config.model_type
    weights = {f"{body.base_model_prefix}.{name}": value.contiguous() for name, value in body.state_dict().items()}
    weights |= pretrained_head.written(head, family)
    described = encoder.describe() | {"pad_token_id": specials.pad}
    if family in pretrained_head.FAMILIES:
        described["architectures"] = [pretrained_head.FAMILIES[family].model]
    described.pop("_name_or_path", None)
    names = {
        role: next((token for token in candidates if tokenizer.token_to_id(token) is not None), None)
        for role, candidates in ROLES
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **{role: token for role, token in names.items() if token}}
    try:
        with replaced_folder(place) as fresh:
            save_file(weights, fresh / "model.safetensors", metadata={"format": "pt"})
            (fresh / "config.json").write_text(json.dumps(described, indent=2) + "\n")
            (fresh / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
            tokenizer.save(str(fresh / "tokenizer.json"))
            if json.loads(tokenizer.to_str())["model"]["type"] == "WordPiece":
                (fresh / "vocab.txt").write_text("\n".join(in_order(tokenizer)) + "\n", encoding="utf-8")
    except OSError as error:
        raise TrainingError(
            "BX402",
            f"cannot save the encoder: {error.strerror or error}",
            where=str(place),
            hint="free some disk space, then resume with `biomux pretrain --resume`",
        ) from error
    return True
