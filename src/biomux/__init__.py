"""Biomux: read biomedical text once, answer many questions about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux import privacy
from biomux.document import Answer, Argument, Document, Label, Passage, Question, Relation, Span
from biomux.errors import BiomuxError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from biomux.engine.annotator import Annotator
    from biomux.recipes.schema import Recipe
    from biomux.training.trained_run import TrainedRun

privacy.disable_telemetry()

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Argument",
    "BiomuxError",
    "Document",
    "Label",
    "Passage",
    "Question",
    "Relation",
    "Span",
    "__version__",
    "load",
    "train",
]


def load(
    path_or_name: str | Path | None = None,
    *,
    threads: int | None = None,
    budget: int | None = None,
    runtime: str = "auto",
) -> Annotator:
    """An annotator: of a bundle folder, of a bundle that comes with Biomux (by name, or the usual one), or of a run folder.

    A run is annotated with torch, as it was in training; that needs the `train` extra. A bundle is run by `runtime`: onnxruntime
    (which `auto` is too) or openvino. `threads` and `budget`, the tokens of a
    batch, are the engine's own choice unless given: they change the speed and no answer.

    >>> tagger = load()                                               # doctest: +SKIP
    >>> [span.type for span in tagger("Aspirin causes ulcers.").spans]  # doctest: +SKIP
    ['chemical', 'disease']
    """
    from dataclasses import replace

    if budget is not None:
        if not isinstance(budget, int) or budget < 1:
            from biomux.errors import UsageError

            raise UsageError(
                "BX001", f"budget must be at least 1 token, got {budget!r}", hint="leave it out for the default"
            )
        return replace(load(path_or_name, threads=threads, runtime=runtime), budget=budget)
    from biomux.engine import load as engine

    folder = engine.find(path_or_name)
    if (folder / "manifest.json").exists() or not (folder / "model.json").exists():
        return engine.load(folder, threads=threads, runtime=runtime)
    if runtime != "auto":
        from biomux.errors import UsageError

        raise UsageError(
            "BX001",
            f"this is a run, and runs are annotated with torch, not {runtime}",
            where=str(folder),
            hint="leave the runtime out, or export the run and load the bundle",
        )
    try:
        from biomux.training.load_run import load_run
    except ModuleNotFoundError as error:
        from biomux.errors import UsageError

        raise UsageError(
            "BX003",
            f"this is a run, and to load it the package {error.name!r} is needed",
            where=str(folder),
            hint="install biomux[train], or export the run and load the bundle",
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
    """Train a recipe (a file, or a name such as "a/mtl") or data of one's own, and give the run: `evaluate`, `export` and `load` are its methods.

    The run's folder is `run`, or the next runs/NAME-N. `settings` are those of `--set` ("loop.epochs=2"), `quick` tries the recipe out, `corpora` is the
    corpora directory, and `listen` hears each event of the run's journal. A run that was stopped in this folder is resumed.

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
