"""Train, evaluate and export from Python: what `biomux train`, `evaluate` and `export` do, by one object.

>>> import biomux
>>> run = biomux.train("my.yaml")                     # doctest: +SKIP
>>> run.evaluate("test")["my-data"].figures["f1"]     # doctest: +SKIP
>>> run.export("bundles/mine")                        # doctest: +SKIP
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from biomux.errors import TrainingError, UsageError
from biomux.recipes import initial, quick
from biomux.recipes.read import check, names, parsed, put, read
from biomux.recipes.run_folder import RunFolder
from biomux.tasks import restored
from biomux.training import run as runs
from biomux.training.development_scores import predict
from biomux.training.encoders.availability import at_hand
from biomux.training.task_documents import Library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from biomux.recipes.schema import Recipe
    from biomux.tagger import Tagger
    from biomux.tasks.task import Evaluation


@dataclass(frozen=True)
class TrainedRun:
    """A run in its folder. `corpora` is the corpora directory that it was trained with, if one was named."""

    path: Path
    corpora: Path | None = None

    @property
    def recipe(self) -> Recipe:
        """The recipe, fully expanded."""
        return RunFolder(self.path).recipe

    @property
    def scores(self) -> dict[str, Any]:
        """The development scores of the best weights, as in `scores.json`."""
        return RunFolder(self.path).scores

    def load(self, *, threads: int | None = None) -> Tagger:
        """The tagger of the best weights, running on torch."""
        from biomux import load

        return load(self.path, threads=threads)

    def evaluate(self, split: str = "test", *, limit: int | None = None) -> dict[str, Evaluation]:
        """The scores of each task on a split of its own corpus, of at most `limit` documents. Tasks whose corpus does not have the split are left out."""
        recipe = self.recipe
        library = Library(self.corpora, recipe.documents)
        annotator = self.load()
        evaluations: dict[str, Evaluation] = {}
        for described in RunFolder(self.path).description["tasks"]:
            task = restored(described)
            part = recipe.tasks[task.name]
            if split in library.splits(part):
                gold = library.part(part, split)[:limit]
                evaluations[task.name] = task.evaluate(gold, predict(annotator, task, gold))
        if not evaluations:
            raise TrainingError(
                "BX404",
                f"no corpus of the run has a split {split!r}",
                where=str(self.path),
                hint="score another split: devel, or one that the data have",
            )
        return evaluations

    def export(
        self, bundle: str | Path, *, precision: Literal["int8", "fp32", "auto"] = "auto", **options: Any
    ) -> Path:
        """Write the run as a bundle; `options` are those of `biomux.training.export.export`."""
        from biomux.training.export import export

        export(self.path, Path(bundle), precision=precision, directory=self.corpora, **options)
        return Path(bundle)


def train(
    recipe: str | Path | Recipe,
    *,
    run: str | Path | None = None,
    settings: Sequence[str] = (),
    quickly: bool = False,
    corpora: str | Path | None = None,
    listen: Callable[[dict[str, Any]], None] = lambda _: None,
) -> TrainedRun:
    """Train a recipe: a file, a name, your own data, or a recipe in memory."""
    chosen = described(recipe, settings=settings)
    if quickly:
        chosen, _ = quick.quick(chosen, at_hand=at_hand)
    folder = Path(run) if run is not None else next_folder(Path("runs"), chosen.name)
    directory = None if corpora is None else Path(corpora)
    runs.start(chosen, folder, directory=directory, listen=listen)
    return TrainedRun(folder, directory)


def described(recipe: str | Path | Recipe, *, settings: Sequence[str] = ()) -> Recipe:
    """The recipe that an argument means. Data instead of a recipe get the one that `biomux init` would write."""
    if not isinstance(recipe, str | Path):
        if settings:
            raise UsageError("BX001", "cannot use settings with a recipe in memory", hint="change the recipe itself")
        return recipe
    if not is_data(recipe):
        return read(str(recipe), settings=settings)
    data = initial.read(str(recipe))
    encoder, reason = initial.encoder(at_hand=at_hand)
    raw = yaml.safe_load(initial.text(data, encoder=encoder, said=reason))
    for setting in settings:
        put(raw, *parsed(setting))
    return check(raw, where=str(recipe))


def is_data(name: str | Path) -> bool:
    """Whether a name is the name of data, not of a recipe. The name of one of our recipes is never a folder: `./a/mtl` is."""
    path = Path(name)
    if isinstance(name, str) and name in names():
        return False
    if str(name).startswith("{") or "*" in str(name):
        return True
    return path.is_dir() or (path.is_file() and path.suffix not in (".yaml", ".yml"))


def next_folder(root: Path, name: str) -> Path:
    """The folder of the next run of a recipe: one above the highest existing number."""
    plain = re.sub(r"[^\w.-]+", "-", name)
    numbers = [
        int(match.group(1))
        for path in (root.iterdir() if root.is_dir() else ())
        if (match := re.fullmatch(rf"{re.escape(plain)}-(\d+)", path.name))
    ]
    return root / f"{plain}-{max(numbers, default=0) + 1}"
