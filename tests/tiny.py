"""A tiny model for tests: BERT with two layers of 32, random weights, a vocabulary invented here. No corpora, no torch, no network.

    run(tmp_path / "run")                 a run folder, as training leaves it
    bundle(tmp_path / "bundle")           a bundle made from such a run
    text(40, seed=3)                      forty words that the vocabulary knows, in sentences

Its answers are arbitrary but always the same, and of every type there are some.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import yaml
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from biomux.tasks.tagging import Tagging

if TYPE_CHECKING:
    from biomux.document import Document
    from biomux.tasks.examples import ModelInput
    from biomux.tasks.task import Task

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WORDS = (
    "the of in and with was were by after patients given treated mice cells showed level high low dose severe rare ulcer fever "
    "aspirin zolmide quatrine bexol velarin kinase receptor gene protein tumour liver acute chronic growth factor"
)
WORDS = tuple(_WORDS.split())
SIGNS = ".,;:()-/%+'"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PIECES = (
    *SPECIALS,
    *WORDS,
    *SIGNS,
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    "##ine",
    "##ase",
    "##osis",
    "##mycin",
)
TASKS = (Tagging("drugs", ("Chemical", "Disease")), Tagging("genes", ("Gene",), "bioes"))
CORPORA = {"drugs": "bc5cdr", "genes": "bc2gm"}
POSITIONS = 128
LIMIT = 62


def tokenizer() -> Tokenizer:
    """Lower-casing WordPiece over `PIECES`."""
    made = Tokenizer(models.WordPiece({token: index for index, token in enumerate(PIECES)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(list(SPECIALS))
    return made


def inputs(task: Task, document: Document, *, limit: int = LIMIT) -> list[ModelInput]:
    """What a task reads of a document."""
    return list(task.inputs(document, tokenizer(), limit=limit, counts=Counter()))


def text(words: int, *, seed: int = 0) -> str:
    """So many words in sentences of three to fifteen."""
    chance = random.Random(seed)
    sentences = []
    while words > 0:
        size = min(words, chance.randint(3, 15))
        sentences.append(" ".join(chance.choice(WORDS) for _ in range(size)).capitalize() + ".")
        words -= size
    return " ".join(sentences)


def run(
    folder: Path,
    *,
    seed: int = 0,
    layers: int = 2,
    width: int = 32,
    tasks: tuple[Tagging, ...] = TASKS,
    head: Literal["linear", "two-layer", "crf"] = "two-layer",
    limit: int = LIMIT,
) -> Path:
    """A run folder with random weights. Returns the folder."""
    folder.mkdir(parents=True)
    described = {
        "encoder": config(layers=layers, width=width),
        "specials": {"pad": 0, "before": 2, "after": 3},
        "limit": limit,
        "tasks": [asdict(task) for task in tasks],
    }
    (folder / "model.json").write_text(json.dumps(described, indent=2) + "\n")
    tokenizer().save(str(folder / "tokenizer.json"))
    save_file(weights(tasks, seed=seed, layers=layers, width=width, head=head), folder / "model.safetensors")
    settings = {"hidden": 16} if head == "two-layer" else {}
    recipe = {
        "name": "tiny",
        "about": "Random weights for tests.",
        "tasks": {task.name: {"corpus": CORPORA.get(task.name, "bc5cdr"), "scheme": task.scheme} for task in tasks},
        "model": {"encoder": {"name": "tiny", "limit": limit}, "head": {"kind": head, "settings": settings}},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
    (folder / "counts.json").write_text(json.dumps({"examples": {task.name: {"sentences": 0} for task in tasks}}))
    return folder


def bundle(folder: Path, *, precision: Literal["fp32", "int8"] = "fp32", **options: Any) -> Path:
    """A bundle of such a run; `options` are those of `run`. Returns the folder."""
    from biomux.training.export import export

    with tempfile.TemporaryDirectory() as place:
        export(run(Path(place) / "run", **options), folder, precision=precision, measure=False)
    return folder


def config(*, layers: int = 2, width: int = 32) -> dict[str, Any]:
    """The encoder's description, as `transformers` writes it."""
    return {
        "model_type": "bert",
        "vocab_size": len(PIECES),
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * width,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }


def weights(
    tasks: tuple[Tagging, ...], *, seed: int, layers: int, width: int, head: str
) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Random weights under the names that a run's model has; wide enough that answers differ from word to word."""
    chance = np.random.default_rng(seed)
    made: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {}

    def normal(name: str, *shape: int, spread: float) -> None:
        made[name] = (chance.standard_normal(shape) * spread).astype(np.float32)

    def linear(name: str, outputs: int, inputs: int) -> None:
        normal(f"{name}.weight", outputs, inputs, spread=1.2 / inputs**0.5)
        normal(f"{name}.bias", outputs, spread=0.1)

    def norm(name: str) -> None:
        made[f"{name}.weight"] = np.ones(width, np.float32)
        made[f"{name}.bias"] = np.zeros(width, np.float32)

    body = "encoder.body"
    normal(f"{body}.embeddings.word_embeddings.weight", len(PIECES), width, spread=1.0)
    normal(f"{body}.embeddings.position_embeddings.weight", POSITIONS, width, spread=0.1)
    normal(f"{body}.embeddings.token_type_embeddings.weight", 2, width, spread=0.1)
    norm(f"{body}.embeddings.LayerNorm")
    for layer in range(layers):
        place = f"{body}.encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            linear(f"{place}.attention.self.{part}", width, width)
        linear(f"{place}.attention.output.dense", width, width)
        norm(f"{place}.attention.output.LayerNorm")
        linear(f"{place}.intermediate.dense", 2 * width, width)
        linear(f"{place}.output.dense", width, 2 * width)
        norm(f"{place}.output.LayerNorm")
    for task in tasks:
        if head == "linear":
            linear(f"heads.{task.name}.1", len(task.labels), width)
        elif head == "crf":
            linear(f"heads.{task.name}.head.1", len(task.labels), width)
            normal(f"heads.{task.name}.between", len(task.labels), len(task.labels), spread=1.5)
            normal(f"heads.{task.name}.first", len(task.labels), spread=1.5)
            normal(f"heads.{task.name}.last", len(task.labels), spread=1.5)
        else:
            linear(f"heads.{task.name}.1", 16, width)
            linear(f"heads.{task.name}.3", len(task.labels), 16)
    return made
