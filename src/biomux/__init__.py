"""Biomux reads biomedical text once and answers many questions about it.

    import biomux

    tagger = biomux.load()
    for entity in tagger("Aspirin inhibits COX-2.").entities:
        print(entity.text, entity.type, entity.score)

The names in `__all__` are public. Most of them are loaded only when they are first used, so that `import biomux` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from biomux import privacy
from biomux.document import Answer, Argument, Document, Entity, Label, Passage, Question, Relation, Span
from biomux.errors import (
    AnnotateError,
    BiomuxError,
    BundleError,
    CorpusError,
    DocumentError,
    FormatError,
    RecipeError,
    ScoreError,
    TrainingError,
    UnreadableError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from biomux import corpora, formats, scoring
    from biomux.annotate.batch_annotator import annotator
    from biomux.engine.annotator import Annotator
    from biomux.formats import LossWarning, read, write
    from biomux.frames import annotate_frame, to_dataframe
    from biomux.recipes.schema import Recipe
    from biomux.tagger import SkipWarning, Tagger
    from biomux.training.trained_run import TrainedRun

privacy.disable_telemetry()

__version__ = "0.1.0"

LAZY = {
    "LossWarning": "biomux.formats",
    "SkipWarning": "biomux.tagger",
    "Tagger": "biomux.tagger",
    "annotate_frame": "biomux.frames",
    "annotator": "biomux.annotate.batch_annotator",
    "corpora": "",
    "formats": "",
    "read": "biomux.formats",
    "scoring": "",
    "to_dataframe": "biomux.frames",
    "write": "biomux.formats",
}
"""Public names that are loaded when they are first asked for, and the module that has them; none for a module of that name itself."""

__all__ = [
    "AnnotateError",
    "Answer",
    "Argument",
    "BiomuxError",
    "BundleError",
    "CorpusError",
    "Document",
    "DocumentError",
    "Entity",
    "FormatError",
    "Label",
    "LossWarning",
    "Passage",
    "Question",
    "RecipeError",
    "Relation",
    "ScoreError",
    "SkipWarning",
    "Span",
    "Tagger",
    "TrainingError",
    "UnreadableError",
    "UsageError",
    "__version__",
    "annotate_frame",
    "annotator",
    "corpora",
    "formats",
    "load",
    "read",
    "scoring",
    "to_dataframe",
    "train",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'biomux' has no attribute {name!r}")
    module = LAZY[name]
    found = getattr(import_module(module), name) if module else import_module(f"biomux.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY})


def load(
    path_or_name: str | Path | None = None,
    *,
    threads: int | None = None,
    budget: int | None = None,
    runtime: str = "auto",
) -> Tagger:
    """Load a tagger from a bundle's folder, from a bundle that comes with Biomux (by its name; the default bundle if no name is given), or from a run's folder.

    A run is computed with torch, which needs the `train` extra. For a bundle, `runtime` is onnxruntime or openvino; `auto` means onnxruntime.
    `threads` and `budget` (the number of tokens in a batch) change only the speed, not the answers; by default the engine chooses them.

    >>> tagger = load()                                               # doctest: +SKIP
    >>> [entity.text for entity in tagger("Aspirin causes ulcers.").entities]  # doctest: +SKIP
    ['Aspirin', 'ulcers']
    """
    from dataclasses import replace

    from biomux.engine import load as engine
    from biomux.tagger import Tagger, origin_of

    if budget is not None and (not isinstance(budget, int) or budget < 1):
        raise UsageError(
            "BX001", f"budget must be at least 1 token, got {budget!r}", hint="leave it out for the default"
        )
    folder = engine.find(path_or_name)
    if (folder / "manifest.json").exists() or not (folder / "model.json").exists():
        annotator = engine.load(folder, threads=threads, runtime=runtime)
    else:
        annotator = _load_run(folder, threads=threads, runtime=runtime)
    shipped = folder.name if folder == engine.shipped_folder(folder.name) else None
    tagger = Tagger.of(annotator, origin_of(folder, shipped, threads=threads, runtime=runtime))
    return tagger if budget is None else replace(tagger, budget=budget)


def _load_run(folder: Path, *, threads: int | None, runtime: str) -> Annotator:
    if runtime != "auto":
        raise UsageError(
            "BX001",
            f"this is a run, which only torch can compute, not {runtime}",
            where=str(folder),
            hint="leave the runtime out, or export the run and load the bundle",
        )
    try:
        from biomux.training.load_run import load_run
    except ModuleNotFoundError as error:
        raise UsageError(
            "BX003",
            f"loading a run needs the package {error.name!r}, which is not installed",
            where=str(folder),
            hint="pip install 'biomux[train]', or export the run and load the bundle",
        ) from None
    return load_run(folder, threads=threads)


def train(
    recipe: str | Path | Recipe,
    *,
    run: str | Path | None = None,
    settings: Sequence[str] = (),
    quick: bool = False,
    corpora: str | Path | None = None,
    listen: Callable[[dict[str, Any]], None] = lambda _: None,
) -> TrainedRun:
    """Train a recipe (a file, or a name such as "a/mtl") or a recipe made for your own data, and return the run, whose methods are `evaluate`, `export` and `load`.

    The run's folder is `run`, or the next runs/NAME-N. `settings` are as in `--set` ("loop.epochs=2"), `quick` only tries the recipe out, `corpora` is the
    corpora directory, and `listen` is called with each event of the run's journal. If the folder has an unfinished run of the same recipe, it is resumed.

    >>> run = train("my.yaml")                        # doctest: +SKIP
    >>> run.evaluate("test"), run.export("bundles/mine")  # doctest: +SKIP
    """
    try:
        from biomux.training import trained_run
    except ModuleNotFoundError as error:
        from biomux.errors import UsageError

        raise UsageError(
            "BX003",
            f"training needs the package {error.name!r}, which is not installed",
            hint="pip install 'biomux[train]'",
        ) from None
    return trained_run.train(recipe, run=run, settings=settings, quickly=quick, corpora=corpora, listen=listen)
