"""Any Hugging Face encoder, by name or from a local folder; weights from safetensors only, so that loading never runs code."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from biomux.engine.packing import Specials
from biomux.errors import RecipeError, TrainingError
from biomux.training.encoders import hub, vocabulary
from biomux.training.encoders.encoder import BuiltEncoder
from biomux.training.encoders.layer_maps import layer_map
from biomux.training.encoders.tokenizer import tokenizer_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokenizers import Tokenizer

    from biomux.recipes import schema


class Transformer(nn.Module):
    """A Hugging Face encoder behind the house's interface: ids and mask in, a vector for each token out."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body: Any = body

    @property
    def config(self) -> Any:
        """The Hugging Face configuration."""
        return self.body.config

    def describe(self) -> dict[str, Any]:
        """What the encoder is, as plain data from which it can be built again."""
        described: dict[str, Any] = self.config.to_dict()
        return described

    @property
    def width(self) -> int:
        """The size of a token's vector."""
        return int(self.config.hidden_size)

    @property
    def embeddings(self) -> Tensor:
        """The embedding table of the tokens."""
        table: Tensor = self.body.get_input_embeddings().weight.detach()
        return table

    @embeddings.setter
    def embeddings(self, table: Tensor) -> None:
        self.body.set_input_embeddings(
            nn.Embedding(table.shape[0], table.shape[1], padding_idx=0, _weight=table.clone())
        )
        self.config.vocab_size = len(table)

    def keep_layers(self, chosen: Sequence[int]) -> None:
        """Keep these layers only, counted from 1, in this order."""
        for module in self.body.modules():
            stacks = [
                name
                for name, child in module.named_children()
                if isinstance(child, nn.ModuleList) and len(child) == self.depth
            ]
            if stacks:
                layers = getattr(module, stacks[0])
                setattr(module, stacks[0], nn.ModuleList([layers[layer - 1] for layer in chosen]))
                break  # an encoder that uses one layer again and again has no such list, and reads its configuration
        if isinstance(getattr(self.config, "layer_types", None), list):
            self.config.layer_types = [self.config.layer_types[layer - 1] for layer in chosen]
        self.config.num_hidden_layers = len(chosen)

    def keep_feed_forward(self, number: int) -> None:
        """Keep this many units of each layer's feed-forward part: those with the largest product of the norms of their weights in and out."""
        key = next((name for name in FEED_FORWARD if hasattr(self.config, name)), "")
        size = int(getattr(self.config, key, 0))
        linear = [module for module in self.body.modules() if isinstance(module, nn.Linear)]
        into = [module for module in linear if module.out_features == size]  # units are recognised by their number
        out = [module for module in linear if module.in_features == size]
        several = getattr(self.config, "num_feedforward_networks", 1) > 1
        # Gated units have other matrices, and some encoders have other modules than linear ones.
        other = not several and self.width < size and not len(into) == len(out) > 0
        if several or other or not self.width < size >= number:
            has = (
                f"several parts of {size}" if several else f"other parts than two matrices of {size}" if other else size
            )
            raise RecipeError(
                "BX306",
                f"cannot keep {number} feed-forward units in each layer of this encoder: it has {has or 'none'}",
                where="model → encoder → feed_forward",
                hint=f"give a number up to {size}"
                if not (several or other) and 0 < size < number
                else "leave feed_forward out",
            )
        for wide, narrow in zip(into, out, strict=True):
            weight = wide.weight.detach().norm(dim=1) * narrow.weight.detach().norm(dim=0)
            chosen = weight.argsort(descending=True, stable=True)[:number].sort().values
            wide.weight = nn.Parameter(wide.weight.detach()[chosen].clone())
            if wide.bias is not None:
                wide.bias = nn.Parameter(wide.bias.detach()[chosen].clone())
            narrow.weight = nn.Parameter(narrow.weight.detach()[:, chosen].clone())
            wide.out_features = narrow.in_features = number
        setattr(self.config, key, number)

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return int(self.config.num_hidden_layers)

    def checkpoint_gradients(self) -> None:
        """Recompute layers in the backward pass instead of keeping their states: less memory, a third more time."""
        if not getattr(self.body, "supports_gradient_checkpointing", False):
            raise TrainingError(
                "BX401",
                f"encoders of the kind {self.config.model_type!r} do not support gradient checkpointing",
                where="loop → gradient_checkpointing",
                hint="set loop.gradient_checkpointing to false, and lower loop.batch_tokens",
            )
        # Newer releases of transformers use the first name and warn about the second.
        enable = getattr(self.body, "activation_checkpointing_enable", None) or self.body.gradient_checkpointing_enable
        enable({"use_reentrant": False})

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> Tensor:
        hidden: Tensor = self.body(input_ids=ids, attention_mask=mask, **self._segments(segments)).last_hidden_state
        return hidden

    def layers(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> tuple[Tensor, ...]:
        """The states of every layer, the embeddings first."""
        options = self._segments(segments)
        states: tuple[Tensor, ...] = self.body(
            input_ids=ids, attention_mask=mask, output_hidden_states=True, **options
        ).hidden_states
        return states

    @property
    def attention_heads(self) -> int:
        """How many attention heads a layer has."""
        return int(self.config.num_attention_heads)

    def use_plain_attention(self) -> None:
        """Compute attention in the way that returns its maps; the faster ways do not."""
        self.body.set_attn_implementation("eager")

    def layers_and_attention(
        self, ids: Tensor, mask: Tensor, segments: Tensor | None = None
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The states of every layer, the embeddings first, and every layer's attention maps; after `use_plain_attention`."""
        options = self._segments(segments)
        output = self.body(
            input_ids=ids, attention_mask=mask, output_hidden_states=True, output_attentions=True, **options
        )
        return output.hidden_states, output.attentions

    def _segments(self, segments: Tensor | None) -> dict[str, Tensor]:
        """Segments for an encoder that has two; others read both parts as one."""
        knows = getattr(self.config, "type_vocab_size", 0) > 1
        return {"token_type_ids": segments} if segments is not None and knows else {}


DROPOUTS = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "embedding_dropout",
    "mlp_dropout",
)
"""The names of dropout inside an encoder in configurations; heads have their own."""


FEED_FORWARD = ("intermediate_size", "hidden_dim")
"""The names of the number of feed-forward units of a layer in configurations."""


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence the library's progress bars and reports, which would disturb our display; its settings are restored."""
    from transformers.utils import logging

    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def load(name: str, *, dropout: float = 0.0, lower_case: bool | None = None) -> tuple[Transformer, Tokenizer, Specials]:
    """The encoder of a hub name or folder, with its tokenizer."""
    from transformers import AutoConfig, AutoModel

    try:
        with _quietly():
            local = Path(name).is_dir() or not hub.reachable()
            config = AutoConfig.from_pretrained(name, local_files_only=local)
            for key in DROPOUTS:
                if hasattr(config, key):
                    setattr(config, key, dropout)
            body = AutoModel.from_pretrained(
                name, config=config, use_safetensors=True, dtype=torch.float32, local_files_only=local
            )
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise TrainingError(
            "BX401",
            f"cannot load the encoder {name!r}: {_reason(name, error)}",
            hint="give a folder with config.json, model.safetensors and tokenizer.json or vocab.txt, a hub name (needs a network), or instead of a name `bundle: default`, the encoder that comes with Biomux",
        ) from None
    if hasattr(body, "pooler"):
        body.pooler = None
    tokenizer = tokenizer_of(name, lower_case=lower_case)
    return Transformer(body), tokenizer, specials(tokenizer)


def _reason(name: str, error: Exception) -> str:
    if Path(name).exists() or hub.reachable():
        return str(error).splitlines()[0]
    return "there is no such folder, and the hub cannot be reached to download it"


def make(settings: schema.EncoderSettings, texts: Iterable[str]) -> BuiltEncoder:
    """The encoder that a recipe names, with the number of layers and the vocabulary that it asks for."""
    encoder, tokenizer, _ = load(settings.name, dropout=settings.dropout, lower_case=settings.lower_case)
    if settings.layers is not None or not isinstance(settings.take, str):
        number = settings.layers if settings.layers is not None else len(settings.take)
        encoder.keep_layers(layer_map(settings.take, teacher=encoder.depth, student=number))
    if settings.vocabulary.kind != "keep":
        tokenizer, encoder.embeddings = vocabulary.shaped(tokenizer, encoder.embeddings, settings.vocabulary, texts)
    return BuiltEncoder(encoder, tokenizer, specials(tokenizer))


def build(described: dict[str, Any]) -> Transformer:
    """The encoder of a description; its weights come with the state dict."""
    from transformers import AutoConfig, AutoModel

    settings = {name: value for name, value in described.items() if name not in ("model_type", "_name_or_path")}
    body = AutoModel.from_config(AutoConfig.for_model(described["model_type"], **settings))
    if hasattr(body, "pooler"):
        body.pooler = None
    return Transformer(body)


def specials(tokenizer: Tokenizer) -> Specials:
    """The special tokens that a tokenizer has, under BERT's names or RoBERTa's."""

    def find(*names: str) -> int:
        for name in names:
            index = tokenizer.token_to_id(name)
            if index is not None:
                return int(index)
        raise TrainingError(
            "BX401", f"the tokenizer has no token {', '.join(names)}", hint="use an encoder's own tokenizer"
        )

    return Specials(find("[PAD]", "<pad>"), find("[CLS]", "<s>"), find("[SEP]", "</s>"))
