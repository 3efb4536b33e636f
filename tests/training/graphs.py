"""Tiny encoders of every family that has a graph, and a head of every kind, with random weights."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import tiny
import torch
import yaml
from safetensors.torch import save_file

from biomux.document import Document, Question
from biomux.engine.graph_session import Place
from biomux.engine.onnx_session import OnnxSession
from biomux.engine.packing import Batch, Specials, lay_out
from biomux.recipes.run_folder import RunFolder
from biomux.recipes.schema import HeadSettings
from biomux.tasks.classification import Classification
from biomux.tasks.examples import ModelInput, Unit
from biomux.tasks.masked_lm import MaskedWords
from biomux.tasks.question_answering import Answers
from biomux.tasks.relation import Relations
from biomux.tasks.similarity import Similarity
from biomux.tasks.tagging import Tagging
from biomux.text import tokens as text_tokens
from biomux.training import encoders, graph
from biomux.training.build import make_head, make_model
from biomux.training.exportable import state_of
from biomux.training.graph.head_parts import taken_apart
from biomux.training.graph.heads import columns
from biomux.training.model import Model

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.tasks.task import Task

SIZE = len(tiny.PIECES)
_HIDDEN = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 64}
_TABLES = {"vocab_size": SIZE, "max_position_embeddings": 130, "pad_token_id": 0}
_STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

ENCODERS: dict[str, dict[str, Any]] = {
    "bert": tiny.config(),
    **{f"bert with {name}": {**tiny.config(), "hidden_act": name} for name in ("relu", "gelu_new", "silu", "tanh")},
    "distilbert": {
        "model_type": "distilbert",
        "dim": 32,
        "n_layers": 2,
        "n_heads": 4,
        "hidden_dim": 64,
        **_TABLES,
        "activation": "gelu",
        "dropout": 0.0,
        "attention_dropout": 0.0,
    },
    "mpnet": {"model_type": "mpnet", **_HIDDEN, **_TABLES, **_STILL},
    "mobilebert": {
        "model_type": "mobilebert",
        **_HIDDEN,
        **_TABLES,
        **_STILL,
        "embedding_size": 16,
        "intra_bottleneck_size": 16,
        "num_feedforward_networks": 3,
    },
    "mobilebert without bottlenecks": {
        "model_type": "mobilebert",
        **_HIDDEN,
        **_TABLES,
        **_STILL,
        "embedding_size": 32,
        "trigram_input": False,
        "use_bottleneck": False,
        "intra_bottleneck_size": 32,
        "num_feedforward_networks": 1,
        "normalization_type": "layer_norm",
    },
    "mobilebert with one bottleneck": {
        "model_type": "mobilebert",
        **_HIDDEN,
        **_TABLES,
        **_STILL,
        "embedding_size": 16,
        "intra_bottleneck_size": 16,
        "use_bottleneck_attention": True,
        "key_query_shared_bottleneck": False,
    },
    "convolution": {"kind": "convolution", "vocabulary": SIZE, "width": 32, "window": 2},
    "convolution of hashes": {
        "kind": "convolution",
        "vocabulary": SIZE,
        "width": 32,
        "activation": "maxout",
        "embedding": "hashed",
        "rows": 50,
    },
    "bilstm": {
        "kind": "bilstm",
        "vocabulary": SIZE,
        "own": 20,
        "given": 30,
        "alphabet": 60,
        "word_width": 12,
        "longest": 6,
        "character_width": 5,
        "character_hidden": 4,
        "hidden": 16,
        "layers": 2,
    },
    "bilstm without given vectors": {
        "kind": "bilstm",
        "vocabulary": SIZE,
        "own": 50,
        "given": 0,
        "alphabet": 60,
        "word_width": 12,
        "longest": 6,
        "character_width": 5,
        "character_hidden": 4,
        "hidden": 16,
        "frozen": True,
    },
}

HEADS: dict[str, tuple[Unit, str, int, dict[str, Any]]] = {
    "linear": ("word", "linear", 3, {}),
    "two-layer": ("word", "two-layer", 5, {"hidden": 16}),
    "another two-layer": ("word", "two-layer", 4, {"hidden": 8}),
    "crf": ("word", "crf", 3, {}),
    "bilstm": ("word", "bilstm", 4, {"hidden": 6}),
    "crf over bilstm": ("word", "crf", 4, {"head": "bilstm", "hidden": 6}),
    "mix": ("word", "mix", 3, {"head": "two-layer"}),
    "tokens": ("token", "linear", 5, {}),
    "cls": ("window", "linear", 3, {}),
    "deep cls": ("window", "two-layer", 3, {}),
    "mean": ("window", "pooled", 2, {"pooling": "mean"}),
    "max": ("window", "pooled", 2, {}),
    "pair of texts": ("window", "pair", 3, {}),
    "regression": ("window", "regression", 1, {}),
    "mean regression": ("window", "regression", 1, {"pooling": "mean"}),
    "mix of windows": ("window", "mix", 3, {"head": "pooled"}),
    "answer": ("answer", "answer", 2, {}),
    "relation": ("pair", "pair-of-spans", 4, {}),
    "narrow relation": ("pair", "pair-of-spans", 2, {"hidden": 7}),
    "mix of relations": ("pair", "mix", 4, {"head": "pair-of-spans"}),
}
"""Name → what the head speaks about, its kind, its labels and its settings."""


def model(encoder: str, heads: dict[str, tuple[Unit, str, int, dict[str, Any]]] | None = None) -> Model:
    """An encoder with heads; every weight and every table is random, so that none can be left out unnoticed."""
    torch.manual_seed(7)
    body: Any = encoders.build(dict(ENCODERS[encoder]))
    chosen = HEADS if heads is None else heads
    made = {
        name: make_head(HeadSettings(kind=kind, settings={**settings, "dropout": 0.0}), body, labels)
        for name, (_, kind, labels, settings) in chosen.items()
    }
    whole = Model(body, made, {name: head[0] for name, head in chosen.items()})
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
        if encoder.startswith("bilstm"):
            body.given.copy_(torch.randn_like(body.given))
            body.rows.copy_(torch.randint(0, 50, body.rows.shape))
            body.spelling.copy_(torch.randint(1, 60, body.spelling.shape))
            body.sizes.copy_(torch.randint(1, 7, body.sizes.shape))
            body.continues.copy_(torch.tensor([piece.startswith("##") for piece in tiny.PIECES]))
        elif encoder == "convolution of hashes":
            body.places.copy_(torch.randint(0, 50, body.places.shape))
    whole.eval()
    return whole


def written(whole: Model, *, segments: bool = True, **options: Any) -> tuple[graph.Written, dict[str, Place]]:
    """The graphs of a model, and where its heads' logits stand."""
    parts = [taken_apart(name, head, whole.units[name]) for name, head in whole.heads.items()]
    made = graph.write(state_of(whole), whole.encoder.describe(), parts, segments=segments, **options)
    return made, {name: Place(*place) for name, place in columns(parts).items()}


def session(whole: Model, **options: Any) -> OnnxSession:
    """The engine's session over a model's graphs."""
    made, places = written(whole, **options)
    return OnnxSession(made.graph, places, pairs=made.pairs, threads=1)


def batch(*, prefixes: bool = True, padding: int = 2, seed: int = 0) -> Batch:
    """Four windows of unlike length, with words of several tokens; two have a part before them, all have pairs of spans."""
    tokenizer = tiny.tokenizer()
    texts = [f"{tiny.text(size, seed=seed + size)} Zolmidine, q7x fever-mycin ulcer." for size in (9, 3, 6, 12)]
    asked = [text_tokens.split(tokenizer, text, [(0, len(text))])[0] for text in (tiny.text(4), "xyz of aspirin")]
    inputs = []
    for number, text in enumerate(texts):
        found = text_tokens.split(tokenizer, text, [(0, len(text))])[0]
        pairs = np.array([[0, 1, 2, 2], [3, 3, 0, found.words - 1]], np.int32)
        inputs.append(ModelInput(found, prefix=asked[number // 2] if prefixes and number % 2 else None, pairs=pairs))
    length = max(one.size for one in inputs) + padding
    return lay_out(inputs, length, Specials(0, 2, 3), windows=range(len(inputs)))


RECIPE: dict[str, dict[str, Any]] = {
    "drugs": {"corpus": "bc5cdr", "head": {"kind": "two-layer", "settings": {"hidden": 16}}},
    "links": {"corpus": "bc5cdr", "kind": "relation", "head": {"kind": "pair-of-spans"}},
    "tags": {"corpus": "bc5cdr", "kind": "relation", "head": {"kind": "pooled"}},
    "topics": {"corpus": "hoc", "kind": "classification", "head": {"kind": "pooled", "settings": {"pooling": "mean"}}},
    "roles": {"corpus": "nicta-piboso", "kind": "classification", "head": {"kind": "linear"}},
    "follows": {"corpus": "mednli", "kind": "classification", "head": {"kind": "pair"}},
    "alike": {"corpus": "biosses", "kind": "similarity", "head": {"kind": "regression"}},
    "asked": {"corpus": "covid-qa", "kind": "answers", "head": {"kind": "answer"}},
    "words": {"corpus": "bc5cdr", "kind": "masked-words", "head": {"kind": "masked-words"}},
}


def tasks() -> list[Task]:
    """A task of every kind; the relations are between what the tagger finds."""
    return [
        Tagging("drugs", ("Chemical", "Disease")),
        Relations("links", ("causes", "cures"), variant="one-pass"),
        Relations(
            "tags", ("causes", "cures", "worsens", "hides"), variant="markers", first=("Chemical",), second=("Disease",)
        ),
        Classification("topics", ("cell", "drug", "gene"), several=True),
        Classification("roles", ("aim", "method", "result"), of="sentence"),
        Classification("follows", ("yes", "no", "maybe"), of="pair"),
        Similarity("alike"),
        Answers("asked"),
        MaskedWords("words"),
    ]


def run(folder: Path, *, encoder: str = "bert", limit: int = tiny.LIMIT) -> Path:
    """A run with a head of every kind of task, as training leaves it, with random weights. Returns the folder."""
    folder.mkdir(parents=True)
    chosen = tasks()
    recipe = {"name": "every", "tasks": RECIPE, "model": {"encoder": {"name": "tiny", "limit": limit}}}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    torch.manual_seed(7)
    body: Any = encoders.build(dict(ENCODERS[encoder]))
    whole = make_model(RunFolder(folder).recipe, chosen, body, tiny.tokenizer())
    with torch.no_grad():
        for name, parameter in whole.named_parameters():
            parameter.add_(torch.randn_like(parameter) * (0.5 if name.startswith("heads.") else 0.15))
    described = {
        "encoder": body.describe(),
        "specials": {"pad": 0, "before": 2, "after": 3},
        "limit": limit,
        "tasks": [asdict(task) for task in chosen],  # type: ignore[call-overload]
    }
    (folder / "model.json").write_text(json.dumps(described))
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    save_file(dict(whole.state_dict()), folder / "model.safetensors")
    (folder / "counts.json").write_text(json.dumps({"examples": {task.name: {"sentences": 0} for task in chosen}}))
    return folder


def documents(number: int = 6) -> list[Document]:
    """Documents to be asked everything: a second text, a question, and entities to link."""
    made = []
    for seed in range(number):
        text = tiny.text(60, seed=seed)
        question = Question("q", "Which dose of aspirin was given?")
        made.append(Document(str(seed), text, pair=tiny.text(9, seed=seed + 90), questions=(question,)))
    return made
