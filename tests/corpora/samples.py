"""Invented corpora for the tests."""

from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING, Any

from biomux.corpora.card import Card, parse

if TYPE_CHECKING:
    from pathlib import Path

CONLL = """\
Aspirin\tB-Chemical
soothes\tO
headache\tB-Disease
.\tO

Ibuprofen\tB-Chemical
sodium\tI-Chemical
works\tO
too\tO
.\tO

"""


def card(**changes: Any) -> Card:
    """A card of an invented corpus; keyword arguments replace its keys."""
    data: dict[str, Any] = {
        "name": "toy",
        "title": "Toy",
        "tasks": ["ner"],
        "types": ["Chemical", "Disease"],
        "format": {"name": "conll"},
        "home": {"repository": "someone/toy", "path": "data", "commit": "0" * 40},
        "licence": [{"name": "CC0", "stated": "the repository"}],
        "citation": ["Nobody 2020"],
        "files": [{"path": "ner/Toy/train.tsv.gz", "sha256": sha256(CONLL.encode()), "source": "data/train.tsv"}],
        "splits": {
            "train": {
                "files": ["ner/Toy/train.tsv.gz"],
                "counts": {"documents": 2, "sentences": 2, "tokens": 9, "mentions": {"Chemical": 2, "Disease": 1}},
            }
        },
        **changes,
    }
    return parse({key: value for key, value in data.items() if value is not None}, where="toy.yaml")


def put(root: Path, path: str, text: str) -> Path:
    """Write a file of a corpora directory, gzipped if its name says so."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    target.write_bytes(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)
    return target


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
