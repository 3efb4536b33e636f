"""From a bundle to an annotator."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from biomux.engine import runtimes
from biomux.engine.annotator import Annotator
from biomux.engine.bundle import checksums, reader, tokenizer_check
from biomux.engine.word_vectors import memory_of
from biomux.errors import BundleError, did_you_mean
from biomux.text.word_splitter import as_tokenizer

DEFAULT = "default"
"""The bundle that comes with Biomux and is used unless another is named."""
MODEL_FILES = (checksums.MANIFEST, "model.json")
"""One of these is in the folder of every bundle or run."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)


def load(path_or_name: str | Path | None = None, *, threads: int | None = None, runtime: str = "auto") -> Annotator:
    """The annotator of a bundle: a folder, or the name of one that comes with Biomux; without either, of the usual one."""
    runtimes.named(runtime)
    return annotator(reader.read(find(path_or_name)), threads=threads, runtime=runtime)


def annotator(read: reader.Bundle, *, threads: int | None = None, runtime: str = "auto") -> Annotator:
    """The annotator of a bundle that has been read."""
    memory = None if read.words is None else memory_of(read.words)
    if memory is not None:
        tokenizer = as_tokenizer(memory.numbers)
    else:
        tokenizer = tokenizer_check.build(read.tokenizer, where=str(read.folder / "tokenizer.json"))
    return Annotator.of_tasks(
        runtimes.open_session(
            read.graph, read.places, pairs=read.pairs, threads=threads, runtime=runtime, memory=memory
        ),
        tokenizer,
        read.specials,
        read.tasks,
        limit=read.limit,
        temperatures=read.temperatures,
        merges=read.merges,
        curves=read.curves,
        thresholds=read.thresholds,
        name=read.folder.resolve().name,
    )


def shipped() -> tuple[str, ...]:
    """The names of the bundles that come with Biomux."""
    root = Path(str(resources.files("biomux") / "bundles"))
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{checksums.MANIFEST}")))


def shipped_folder(name: str) -> Path:
    """Where a shipped bundle of that name is, if there is one."""
    return Path(str(resources.files("biomux") / "bundles" / name))


def _added(folder: Path) -> Path:
    """A folder, or the bundle in it: `biomux train --with` leaves one there, and no other model."""
    inner = folder / "bundle"
    return (
        inner
        if (inner / checksums.MANIFEST).is_file() and not any((folder / name).exists() for name in MODEL_FILES)
        else folder
    )


def find(path_or_name: str | Path | None = None) -> Path:
    """The folder of a bundle. What names an existing folder is that folder, or the bundle that `biomux train --with` left in it; anything else is the name of a shipped bundle.

    A folder that is called like a shipped bundle and holds no model does not stand in its way.
    """
    name = DEFAULT if path_or_name is None else str(path_or_name)
    if path_or_name is not None and Path(path_or_name).exists():
        folder = _added(Path(path_or_name))
        if name not in shipped() or any((folder / file).exists() for file in MODEL_FILES):
            return folder
    if _NAME.fullmatch(name) and name in shipped():
        return shipped_folder(name)
    if path_or_name is None:
        raise BundleError(
            "BX501",
            "this installation of Biomux has no bundle",
            hint="name the folder of a bundle that `biomux export` made",
        )
    raise BundleError(
        "BX501",
        f"unknown bundle {name!r}",
        hint=f"name a folder that `biomux export` made; {did_you_mean(name, shipped())}".removesuffix(
            "; there are none"
        ),
    )
