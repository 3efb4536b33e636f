"""The head for hidden tokens that an encoder was pre-trained with, under the names that each family of encoders has for its parts.

This is read when pre-training continues, and written into the folder of the encoder, where other libraries find it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open

from biomux.errors import TrainingError
from biomux.training.encoders import vocabulary
from biomux.training.encoders.tokenizer import file_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenizers import Tokenizer
    from torch import Tensor, nn

OLD_NAMES = {"weight": "gamma", "bias": "beta"}
"""What the normalisation's parameters are called in weights that were converted from TensorFlow."""


@dataclass(frozen=True, slots=True)
class Family:
    """The class of a family's model with its head, and where the head's parts are in its weights."""

    model: str
    dense: str
    norm: str
    bias: str
    rest: str | None = None

    def names(self) -> dict[str, str]:
        """Names of our head's parameters → names in the family's weights."""
        found = {
            "transform.0.weight": f"{self.dense}.weight",
            "transform.0.bias": f"{self.dense}.bias",
            "transform.2.weight": f"{self.norm}.weight",
            "transform.2.bias": f"{self.norm}.bias",
            "bias": self.bias,
        }
        return found | ({"rest": self.rest} if self.rest else {})


_BERT = ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias")
_ROBERTA = ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias")
FAMILIES = {
    "bert": Family("BertForMaskedLM", *_BERT),
    "mobilebert": Family("MobileBertForMaskedLM", *_BERT, "cls.predictions.dense.weight"),
    "distilbert": Family("DistilBertForMaskedLM", "vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    "mpnet": Family("MPNetForMaskedLM", *_ROBERTA),
    "roberta": Family("RobertaForMaskedLM", *_ROBERTA),
    "xlm-roberta": Family("XLMRobertaForMaskedLM", *_ROBERTA),
    "camembert": Family("CamembertForMaskedLM", *_ROBERTA),
}
"""Kind of encoder → how its head is called."""


def read(name: str, family: str) -> dict[str, Tensor] | None:
    """The head's parameters in the weights of a folder or hub name; None if these have none, or are of a family that is not known here."""
    known = FAMILIES.get(family)
    file = file_of(name, "model.safetensors") if known else None
    if known is None or file is None:
        return None
    try:
        with safe_open(file, framework="pt") as weights:
            there = set(weights.keys())
            found = {}
            for ours, theirs in known.names().items():
                place, _, part = theirs.rpartition(".")
                old = f"{place}.{OLD_NAMES.get(part, part)}"
                if theirs not in there and old not in there:
                    return None
                found[ours] = weights.get_tensor(theirs if theirs in there else old).float()
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            "BX401", f"cannot read the weights: {error}", where=str(file), hint="download the encoder again"
        ) from None
    if "rest" in found:
        found["rest"] = found["rest"].T
    return found


def put(head: nn.Module, found: Mapping[str, Tensor], *, old: Tokenizer, new: Tokenizer) -> None:
    """Begin the head with these parameters. What it has for single tokens follows them where the vocabulary is another one."""
    weights = dict(found)
    if old.get_vocab() != new.get_vocab():
        tokens = vocabulary.in_order(new)
        for name in ("bias", "rest"):
            if name in weights:
                table = weights[name].reshape(len(weights[name]), -1)
                weights[name] = vocabulary.rows(old, table, tokens).reshape(len(tokens), *weights[name].shape[1:])
    size = new.get_vocab_size()  # some tables have more rows than there are tokens
    for name in ("bias", "rest"):
        if name in weights:
            weights[name] = weights[name][:size]
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            parameter.copy_(weights[name])


def written(head: nn.Module, family: str) -> dict[str, Tensor]:
    """The head's parameters as the family's weights have them; nothing for a family that is not known here."""
    known = FAMILIES.get(family)
    if known is None:
        return {}
    ours = dict(head.named_parameters())
    return {
        theirs: (ours[name].detach().T if name == "rest" else ours[name].detach()).contiguous()
        for name, theirs in known.names().items()
        if name in ours
    }
