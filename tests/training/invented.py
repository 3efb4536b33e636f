"""Invented corpora and a recipe on them: a small encoder with random weights, trained in a second."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import tiny
from corpora.samples import put

from biomux.recipes.read import check

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.recipes.schema import Recipe

DRUGS = ("aspirin", "zolmide", "quatrine", "bexol", "velarin")
ILLS = ("ulcer", "fever", "tumour")
GENES = ("kinase", "receptor")


def sentences(number: int, *, seed: int, types: dict[str, str]) -> str:
    """CoNLL sentences; words that `types` knows are mentions."""
    chance = random.Random(seed)
    lines = []
    for _ in range(number):
        for _ in range(chance.randint(6, 14)):
            word = chance.choice(tiny.WORDS)
            lines.append(f"{word}\t{'B-' + types[word] if word in types else 'O'}")
        lines += [".\tO", ""]
    return "\n".join(lines) + "\n"


def corpora(root: Path, *, number: int = 40) -> Path:
    """A corpora directory with BC5CDR, NCBI-disease and BC2GM as their cards want them, in content invented."""
    drugs = {**dict.fromkeys(DRUGS, "Chemical"), **dict.fromkeys(ILLS, "Disease")}
    kinds = {"BC5CDR": drugs, "NCBI-disease": dict.fromkeys(ILLS, "Disease"), "BC2GM": dict.fromkeys(GENES, "GENE")}
    for which, (folder, types) in enumerate(kinds.items()):
        for part, (split, size) in enumerate({"train": number, "devel": 8, "test": 8}.items()):
            put(root, f"ner/{folder}/{split}.tsv", sentences(size, seed=10 * which + part, types=types))
    return root


def recipe(**changes: Any) -> Recipe:
    """Two taggers in mixed batches; keyword arguments replace keys."""
    described: dict[str, Any] = {
        "name": "invented",
        "tasks": {"drugs": {"corpus": "bc5cdr"}, "genes": {"corpus": "bc2gm"}},
        "model": {"encoder": {"kind": "random", "dropout": 0.1, "layers": 1}},
        "regime": {"kind": "mixed"},
        "loop": {"epochs": 2, "batch_tokens": 160, "learning_rate": 1e-3, "threads": 1, "precision": "fp32"},
    }
    for key, value in changes.items():
        described[key] = {**described[key], **value} if key == "loop" else value
    return check(described, where="test")


NO_DROPOUT: dict[str, Any] = {
    "encoder": {"kind": "random", "layers": 1},
    "head": {"kind": "linear", "settings": {"dropout": 0.0}},
}
