"""Whether a teacher may have been trained on text that its student is selected or scored on; such a teacher is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from biomux.errors import TrainingError
from biomux.recipes.run_folder import RunFolder
from biomux.training.task_documents import corpora_of
from biomux.training.teachers import folder_of

if TYPE_CHECKING:
    from biomux.recipes.schema import Recipe

Held = frozenset[tuple[str, str]]
"""Parts of corpora, as (corpus, split), that a model was not trained on."""


def check_held_out(recipe: Recipe) -> None:
    """Refuse a teacher that may have been trained on text that its student is selected or scored on; a mere encoder has not learned labels."""
    if recipe.distil is not None and RunFolder(Path(recipe.distil.teacher)).exists:
        _check_run(recipe, recipe.distil.teacher)
    for path in () if recipe.teacher is None else recipe.teacher.models:
        if RunFolder(folder_of(path)).exists:
            _check_run(recipe, path)
        else:
            _check_bundle(recipe, path)


def _check_bundle(recipe: Recipe, path: str) -> None:
    if not (folder_of(path) / "manifest.json").is_file():
        raise TrainingError(
            "BX452",
            "no run or bundle found to learn from",
            where=path,
            hint="name the folder of a finished run or of a bundle in teacher.models",
        )
    if recipe.teacher is None or not recipe.teacher.unchecked:
        raise TrainingError(
            "BX451",
            "a bundle does not record which text was held out of its training",
            where=path,
            hint="name the run that it was exported from; or set teacher.unchecked to true if you know that it held out what this recipe holds out",
        )


def _check_run(recipe: Recipe, path: str) -> None:
    needed = held_out(recipe)
    missing = sorted(f"{corpus} {split}" for corpus, split in needed - held_out(RunFolder(Path(path)).recipe))
    if missing:
        listed = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
        corpora = ", ".join(sorted({corpus for corpus, _ in needed}))
        raise TrainingError(
            "BX451",
            f"this teacher did not hold out {listed}",
            where=path,
            hint=f"train it with leaks: filter and hold_out: [{corpora}]",
        )


def held_out(recipe: Recipe) -> Held:
    """The development and test parts whose text a recipe keeps out of training, in whatever corpus it occurs."""
    own_parts = {
        (name.partition("[")[0], split)
        for task in recipe.tasks.values()
        for name in corpora_of(task)
        for split in ("devel", "test")
        if split not in task.train
    }
    if recipe.leaks == "filter":
        return frozenset(own_parts | {(corpus, part) for corpus in recipe.hold_out for part in recipe.hold_out_parts})
    # Without the filter, text of a part may occur in another corpus that is trained on.
    return frozenset(
        own_parts if len({name for task in recipe.tasks.values() for name in corpora_of(task)}) == 1 else ()
    )
