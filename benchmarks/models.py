"""BERT encoders of any size with random weights: as graphs for onnxruntime, and as torch models with the same weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biomux.engine.packing import Batch
from biomux.training import graph
from biomux.training.graph.head_parts import HeadParts, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from biomux.training.graph.builder import Precision

    Floats = NDArray[np.float32]
    Heads = tuple[list[tuple[Floats, Floats]], ...]


@dataclass(frozen=True, slots=True)
class Size:
    """An encoder by its numbers."""

    name: str
    layers: int
    width: int
    attention_heads: int
    inner: int
    vocabulary: int = 8000
    positions: int = 512

    def config(self) -> dict[str, Any]:
        """As `transformers` describes it."""
        return {
            "model_type": "bert",
            "vocab_size": self.vocabulary,
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.attention_heads,
            "intermediate_size": self.inner,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "max_position_embeddings": self.positions,
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        }

    def operations(self, length: int, *, every: int = 1) -> float:
        """Of the encoder's products for one token of a window of that length, of whose tokens heads read one in `every`."""
        rest = self.width**2 + 2 * self.width * self.inner
        whole = self.layers * (2 * (3 * self.width**2 + rest) + 4 * length * self.width)
        return whole - 2 * rest * (1 - 1 / every)


BASE = Size("12×768", 12, 768, 12, 3072)
SMALL = Size("6×384", 6, 384, 12, 1536)
TINY = Size("2×64", 2, 64, 4, 128, vocabulary=500)
"""For trying a benchmark out."""


def weights(size: Size, *, seed: int = 0) -> dict[str, Floats]:
    """Random weights of an encoder under transformers' names."""
    chance = np.random.default_rng(seed)
    made: dict[str, Floats] = {}

    def normal(name: str, *shape: int) -> None:
        made[name] = (chance.standard_normal(shape) * 0.02).astype(np.float32)

    def linear(name: str, outputs: int, inputs: int) -> None:
        normal(f"{name}.weight", outputs, inputs)
        made[f"{name}.bias"] = np.zeros(outputs, np.float32)

    def norm(name: str) -> None:
        made[f"{name}.weight"], made[f"{name}.bias"] = np.ones(size.width, np.float32), np.zeros(size.width, np.float32)

    normal("embeddings.word_embeddings.weight", size.vocabulary, size.width)
    normal("embeddings.position_embeddings.weight", size.positions, size.width)
    normal("embeddings.token_type_embeddings.weight", 2, size.width)
    norm("embeddings.LayerNorm")
    for layer in range(size.layers):
        place = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            linear(f"{place}.attention.self.{part}", size.width, size.width)
        linear(f"{place}.attention.output.dense", size.width, size.width)
        norm(f"{place}.attention.output.LayerNorm")
        linear(f"{place}.intermediate.dense", size.inner, size.width)
        linear(f"{place}.output.dense", size.width, size.inner)
        norm(f"{place}.output.LayerNorm")
    return made


def heads(number: int, size: Size, *, hidden: int | None, labels: int = 3, seed: int = 1) -> Heads:
    """The layers of so many two-layer heads (d → hidden → labels; hidden = d in paper A)."""
    chance = np.random.default_rng(seed)
    inner = hidden or size.width

    def layer(inputs: int, outputs: int) -> tuple[Floats, Floats]:
        return (chance.standard_normal((inputs, outputs)) * 0.02).astype(np.float32), np.zeros(outputs, np.float32)

    return [layer(size.width, inner) for _ in range(number)], [layer(inner, labels) for _ in range(number)]


def head_operations(number: int, size: Size, *, hidden: int | None, labels: int = 3) -> float:
    """Of all heads for one word, as the graph computes them: second layers stand as blocks in one matrix, zeros between them included."""
    inner = hidden or size.width
    return 2.0 * (size.width * inner * number + inner * number * labels * number)


def graph_bytes(size: Size, made: Mapping[str, Floats], own: Heads, *, precision: Precision = "fp32") -> bytes:
    """The graph that an export would write."""
    parts = []
    for number in range(len(own[0])):
        steps = [Step("linear", *layer[number]) for layer in own]
        between = [step for one in steps[:-1] for step in (one, Step("relu"))]
        parts.append(HeadParts(f"head{number}", "logits", (*between, steps[-1])))
    return graph.write(made, size.config(), parts, precision=precision).graph


def batch(windows: int, length: int, size: Size, *, every: int = 1, seed: int = 2) -> Batch:
    """Windows full of random tokens; each `every`-th token begins a word."""
    chance = np.random.default_rng(seed)
    ids = chance.integers(5, size.vocabulary, (windows, length)).astype(np.int64)
    first = np.arange(0, windows * length, every, dtype=np.int64)
    words = np.diff(np.searchsorted(first, np.arange(windows + 1) * length)).astype(np.int64)
    return Batch(ids, np.ones_like(ids), first, words, np.arange(windows, dtype=np.int64))


def torch_body(size: Size, made: Mapping[str, Floats]) -> Any:
    """transformers' BertModel with the same weights, without pooler."""
    import torch
    from transformers import BertConfig, BertModel

    settings = {key: value for key, value in size.config().items() if key != "model_type"}
    body = BertModel(BertConfig(**settings), add_pooling_layer=False)
    body.load_state_dict({name: torch.from_numpy(value) for name, value in made.items()}, strict=False)
    return body.eval()


def torch_heads(own: Heads) -> Any:
    """The heads as torch modules, one by one, as a plain multi-task model has them."""
    import torch
    from torch import nn

    made = nn.ModuleList()
    for (first, first_bias), (second, second_bias) in zip(*own, strict=True):
        wide, narrow = nn.Linear(*first.shape), nn.Linear(*second.shape)
        with torch.no_grad():
            for layer, matrix, bias in ((wide, first, first_bias), (narrow, second, second_bias)):
                layer.weight.copy_(torch.from_numpy(matrix.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))
        made.append(nn.Sequential(wide, nn.ReLU(), narrow))
    return made.eval()
