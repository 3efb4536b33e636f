"""The head for masked tokens that an encoder was pre-trained with, under each encoder family's own names for its parts.

It is read when pre-training continues, and written into the encoder's folder, where other libraries find it too.
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
"""The names of normalisation parameters in weights converted from TensorFlow."""


@dataclass(frozen=True, slots=True)
class HeadFamily:
    """The class of a family's model with its head, and where the head's parts are in its weights."""

    model: str
    dense: str
    norm: str
    bias: str
    rest: str | None = None

    def names(self) -> dict[str, str]:
        """Names of our head's parameters → names in the family's weights."""
        parts = {
            "transform.0.weight": f"{self.dense}.weight",
            "transform.0.bias": f"{self.dense}.bias",
            "transform.2.weight": f"{self.norm}.weight",
            "transform.2.bias": f"{self.norm}.bias",
            "bias": self.bias,
        }
        return parts | ({"rest": self.rest} if self.rest else {})


_BERT = ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias")
_ROBERTA = ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias")
FAMILIES = {
    "bert": HeadFamily("BertForMaskedLM", *_BERT),
    "mobilebert": HeadFamily("MobileBertForMaskedLM", *_BERT, "cls.predictions.dense.weight"),
    "distilbert": HeadFamily("DistilBertForMaskedLM", "vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    "mpnet": HeadFamily("MPNetForMaskedLM", *_ROBERTA),
    "roberta": HeadFamily("RobertaForMaskedLM", *_ROBERTA),
    "xlm-roberta": HeadFamily("XLMRobertaForMaskedLM", *_ROBERTA),
    "camembert": HeadFamily("CamembertForMaskedLM", *_ROBERTA),
}
"""Kind of encoder → the names of its head's parts."""


def read(name: str, family: str) -> dict[str, Tensor] | None:
    """The head's parameters in the weights of a folder or hub name; None if there are none, or if the family is not known here."""
    names_of_family = FAMILIES.get(family)
    file = file_of(name, "model.safetensors") if names_of_family else None
    if names_of_family is None or file is None:
        return None
    try:
        with safe_open(file, framework="pt") as weights:
            present = set(weights.keys())
            parameters = {}
            for ours, theirs in names_of_family.names().items():
                place, _, part = theirs.rpartition(".")
                old = f"{place}.{OLD_NAMES.get(part, part)}"
                if theirs not in present and old not in present:
                    return None
                parameters[ours] = weights.get_tensor(theirs if theirs in present else old).float()
    except (OSError, SafetensorError) as error:
        raise TrainingError(
            "BX401", f"cannot read the weights: {error}", where=str(file), hint="download the encoder again"
        ) from None
    if "rest" in parameters:
        parameters["rest"] = parameters["rest"].T
    return parameters


def put(head: nn.Module, found: Mapping[str, Tensor], *, old: Tokenizer, new: Tokenizer) -> None:
    """Start the head from these parameters. Parameters of single tokens are rearranged if the vocabulary differs."""
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
    """The head's parameters under the names of the family's weights; empty for a family that is not known here."""
    names_of_family = FAMILIES.get(family)
    if names_of_family is None:
        return {}
    ours = dict(head.named_parameters())
    return {
        theirs: (ours[name].detach().T if name == "rest" else ours[name].detach()).contiguous()
        for name, theirs in names_of_family.names().items()
        if name in ours
    }
