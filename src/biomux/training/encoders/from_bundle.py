"""The encoder of a bundle as the start of another training, so that nothing needs to be downloaded: int8 weights become floats again.

What int8 rounded away stays lost, and training makes up for it. A bundle's graph has only one segment: a second one starts as a copy of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from tokenizers import Tokenizer

from biomux.engine.bundle import reader
from biomux.engine.load import find
from biomux.errors import RecipeError
from biomux.training.encoders.layer_maps import layer_map
from biomux.training.encoders.transformer import DROPOUTS, Transformer, build

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from biomux.engine.packing import Specials
    from biomux.recipes.schema import EncoderSettings

    Floats = NDArray[np.float32]


@dataclass(frozen=True)
class GraphWeights:
    """The encoder in a graph: its configuration and its weights, both under transformers' names."""

    config: dict[str, Any]
    state: dict[str, Floats]


def folder_of(name: str) -> Path:
    """The folder of a bundle by path or name; "default" is the one that comes with Biomux."""
    return find(name)


def load(settings: EncoderSettings) -> tuple[Transformer, Tokenizer, Specials]:
    """The encoder that a recipe begins with, with the tokenizer of the bundle."""
    bundle = reader.read(folder_of(str(settings.bundle)))
    graph_weights = weights(bundle.graph)
    positions = graph_weights.config["max_position_embeddings"]
    if settings.limit + 2 > positions:
        raise RecipeError(
            "BX306",
            f"limit must be at most {positions - 2} with the encoder of this bundle, got {settings.limit}",
            where="model → encoder → limit",
        )
    encoder = build(
        graph_weights.config | {name: settings.dropout for name in DROPOUTS if name in graph_weights.config}
    )
    encoder.body.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in graph_weights.state.items()})
    if settings.layers is not None:
        encoder.keep_layers(layer_map(settings.take, teacher=encoder.depth, student=settings.layers))
    tokenizer = Tokenizer.from_str(bundle.tokenizer.decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return encoder, tokenizer, bundle.specials


def weights(graph: bytes) -> GraphWeights:
    """The weights of a graph that `biomux.training.graph` wrote, as floats; refused if its encoder is not BERT's with `gelu`."""
    model = onnx.load_from_string(graph)
    parts = {initializer.name: numpy_helper.to_array(initializer) for initializer in model.graph.initializer}
    activations = {"Gelu", "Tanh", "Sigmoid"} & {node.op_type for node in model.graph.node}
    if "encoder.layer.0.attention.self.weight" not in parts or activations != {"Gelu"}:
        raise RecipeError(
            "BX308",
            "cannot start from the encoder of this bundle: it is not BERT with gelu",
            where="model → encoder → bundle",
            hint="name another bundle, such as default, or the encoder itself",
        )
    width = parts["embeddings.LayerNorm.weight"].shape[0]
    layers = sum(name.endswith(".attention.self.weight") for name in parts)
    heads = _attention_heads(parts, width)
    words = _matrix(parts, "embeddings.words", "embeddings.scale")
    places = parts["embeddings.places"].astype(np.float32)
    state: dict[str, Floats] = {
        "embeddings.word_embeddings.weight": words,
        "embeddings.position_embeddings.weight": places,
        "embeddings.token_type_embeddings.weight": parts.get("embeddings.segments", np.zeros((2, width), np.float32)),
    }
    for name in parts:
        if "LayerNorm" in name:
            state[name] = parts[name].astype(np.float32)
    for layer in range(layers):
        inner = f"encoder.layer.{layer}.attention.self"
        matrix, bias = _linear(parts, inner)
        matrix[:, :width] *= np.sqrt(width // heads)  # in the graph, the scale of attention is part of the queries
        bias[:width] *= np.sqrt(width // heads)
        for place, part in enumerate(("query", "key", "value")):
            columns = slice(place * width, (place + 1) * width)
            state[f"{inner}.{part}.weight"] = np.ascontiguousarray(matrix[:, columns].T)
            state[f"{inner}.{part}.bias"] = bias[columns]
        for part in ("attention.output.dense", "intermediate.dense", "output.dense"):
            name = f"encoder.layer.{layer}.{part}"
            matrix, state[f"{name}.bias"] = _linear(parts, name)
            state[f"{name}.weight"] = np.ascontiguousarray(matrix.T)
    config = {
        "model_type": "bert",
        "vocab_size": words.shape[0],
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": state["encoder.layer.0.intermediate.dense.bias"].shape[0],
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": places.shape[0],
        "type_vocab_size": 2,
        "layer_norm_eps": _epsilon(model),
        "pad_token_id": 0,
    }
    return GraphWeights(config, state)


def _linear(parts: Mapping[str, NDArray[Any]], name: str) -> tuple[Floats, Floats]:
    """A matrix, inputs × outputs, and its bias."""
    return _matrix(parts, f"{name}.weight", f"{name}.scale"), parts[f"{name}.bias"].astype(np.float32)


def _matrix(parts: Mapping[str, NDArray[Any]], name: str, scale: str) -> Floats:
    matrix: Floats = parts[name].astype(np.float32)
    return matrix * parts[scale] if scale in parts else matrix


def _attention_heads(parts: Mapping[str, NDArray[Any]], width: int) -> int:
    """How many heads attention has: the graph has a constant [0, 0, heads, width / heads]."""
    for value in parts.values():
        if value.shape == (4,) and value.dtype == np.int64 and value[2] * value[3] == width:
            return int(value[2])
    raise ValueError("the graph does not say how many attention heads there are")


def _epsilon(model: onnx.ModelProto) -> float:
    for node in model.graph.node:
        if node.op_type == "LayerNormalization":
            return next((float(attribute.f) for attribute in node.attribute if attribute.name == "epsilon"), 1e-5)
    return 1e-12
