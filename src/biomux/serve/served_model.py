"""The model that answers: an annotator with what clients may know about it. A reload makes a new one; requests keep the one they started with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import biomux
from biomux.document import Document
from biomux.engine import load
from biomux.engine.bundle import checksums, reader
from biomux.engine.query import Query
from biomux.text import tokens as text_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.engine.annotator import Annotator
    from biomux.serve.settings import ServeSettings

PROBE = "Aspirin inhibits COX-2 in mice."
"""What a model must be able to read before it is put in service."""

SLICE = 50_000
"""Characters to tokenize at a time, so that a hostile text cannot fill the memory before it is refused."""


@dataclass(frozen=True, eq=False)
class ServedModel:
    """An annotator, its card, and the checksum of its manifest, which contains those of all files."""

    annotator: Annotator
    card: str
    checksum: str

    @property
    def version(self) -> str:
        """Name and checksum, for people and caches: it changes if and only if answers may."""
        return f"{self.annotator.name}@{self.checksum[:12]}"

    def tokens(self, text: str, *, most: int) -> int:
        """What a text costs in tokens: its own, at least one per 16 characters, and the two special ones around it. Stops counting above `most`.

        Blanks and very long words have few tokens, but must be held and read like any other text.
        """
        total = 2
        for start in range(0, len(text), SLICE):
            piece = text[start : start + SLICE]
            number = len(text_tokens.split(self.annotator.tokenizer, piece, [(0, len(piece))])[0])
            total += max(number, len(piece) // 16)
            if total > most:
                break
        return total

    def info(self) -> dict[str, Any]:
        """What `/info` says about it."""
        annotator = self.annotator
        return {
            "name": annotator.name,
            "version": self.version,
            "biomux": biomux.__version__,
            "runtime": getattr(annotator.session, "runtime", "unknown"),
            "types": [_type(annotator, name) for name in annotator.types],
            "heads": [{"name": task.name, "types": list(task.types)} for task in annotator.tasks],
            "tasks": [{"name": task.name, "kind": task.kind} for task in annotator.asking],
            "card": self.card,
        }


def open_model(settings: ServeSettings) -> ServedModel:
    """Load the bundle and let it read a sentence: a model that cannot answer is not put in service."""
    folder = load.find(settings.bundle)
    bundle = reader.read(folder)
    annotator = load.annotator(bundle, threads=settings.threads, runtime=settings.runtime)
    list(annotator.annotate_query([Document("probe", PROBE)], Query()))
    return ServedModel(annotator, _card(folder, bundle.manifest), _checksum(folder))


def _type(annotator: Annotator, name: str) -> dict[str, Any]:
    """A type with its default threshold (null: given only if asked for by name) and the precision from each score on."""
    rule = (annotator.merges or {}).get(name)
    if rule is None:
        return {"name": name, "threshold": 0.0, "precision": []}
    points = [{"score": score, "precision": precision} for score, precision in rule.curve]
    return {"name": name, "threshold": rule.threshold, "precision": points}


def _card(folder: Path, manifest: checksums.Manifest) -> str:
    if "card.md" not in manifest.files:
        return ""
    return checksums.read_file(folder, "card.md", manifest).decode("utf-8", "replace")


def _checksum(folder: Path) -> str:
    return hashlib.sha256((folder / checksums.MANIFEST).read_bytes()).hexdigest()
