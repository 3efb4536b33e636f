"""From a bundle to an annotator."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from tokenizers import Tokenizer

from biomux.engine import bundle
from biomux.engine.annotator import Annotator
from biomux.engine.onnx import OnnxSession

SHIPPED = "first"


def load(path: str | Path | None = None, *, threads: int | None = None) -> Annotator:
    """The annotator of a bundle; without a path, of the one that comes with Biomux."""
    folder = Path(path) if path is not None else Path(str(resources.files("biomux") / "bundles" / SHIPPED))
    found = bundle.read(folder)
    session = OnnxSession(found.graph, found.columns, threads=threads)
    return Annotator(
        session,
        Tokenizer.from_str(found.tokenizer),
        found.specials,
        found.tasks,
        limit=found.limit,
        temperatures=found.temperatures,
    )
