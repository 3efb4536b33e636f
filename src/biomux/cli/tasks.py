"""`biomux tasks`: how similar tasks are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biomux.cli.ui.options import AsJson, CorporaFolder, Overwrite, RecipeSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

FILES = ("map.json", "vectors.npy", "task-map.svg")
"""What a map is written to."""

app = typer.Typer(help="Compare the tasks of runs.", no_args_is_help=True)


@app.callback()
def _tasks() -> None:
    """Compare the tasks of runs.

    Examples:

        biomux tasks map runs/b-refine-1
    """


@app.command("map")
def map_command(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN|RECIPE", help="Folders of runs; or a recipe, which is trained first."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for map.json, vectors.npy and task-map.svg."),
    ] = None,
    overwrite: Overwrite = False,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", min=1, help="Number of training examples per task.")
    ] = 100,
    settings: RecipeSettings = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Train the recipe with few documents, a small encoder and one epoch.")
    ] = False,
    corpora: CorporaFolder = None,
    as_json: AsJson = False,
) -> None:
    """Draw a map of tasks: neighbours change the encoder in similar ways.

    A task's vector is the root-mean-square gradient of its loss at each unit of the encoder's layers (the diagonal of the Fisher
    information), over some training examples. Give one run with several tasks, or several runs that started from the same encoder.

    A recipe is trained first, into runs/NAME-map. If you repeat the command, it resumes a stopped run and uses a finished one as it is.
    --set and --quick apply to the recipe. d/twelve is paper D's map of twelve tasks.

    Examples:

        biomux tasks map runs/b-refine-1 -o map
        biomux tasks map d/twelve --set model.encoder.name=weights/minilm -o map
        biomux tasks map runs/single-* --json
    """
    import json
    from contextlib import nullcontext

    import numpy as np

    from biomux.cli.ui.display import table
    from biomux.formats import folder_target, must_be_new

    if output is not None:  # before anything is trained
        must_be_new(output, overwrite=overwrite, folder=True, ours=FILES)
    vectors: dict[str, Any] = {}
    folders = [_trained(run, settings or [], quick, corpora, alone=len(runs) == 1) for run in runs]
    content = gathered(folders, corpora, examples, keep=vectors)
    with folder_target(output, overwrite=overwrite, ours=FILES) if output else nullcontext() as place:
        if place is not None:
            from biomux.report.transfer_page import map_section

            section = map_section(content)
            picture: Any = section.blocks[0]
            (place / "map.json").write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            (place / "task-map.svg").write_text(picture.svg, encoding="utf-8")
            np.save(place / "vectors.npy", np.stack(list(vectors.values())))
    if as_json:
        print(json.dumps(content, ensure_ascii=False, indent=2))
        return
    names = list(content["points"])
    rows = [
        [name, content["kinds"][name], *(f"{value:.3f}" for value in content["points"][name])]
        + [f"{content['similarity'][name][column]:.3f}" for column in names]
        for name in names
    ]
    table(["task", "kind", "x", "y", *names], rows, title="tasks: place on the map, and cosine with each other")
    print(content["method"])


def _trained(source: str, settings: list[str], quick: bool, corpora: Path | None, *, alone: bool) -> Path:
    """The folder of a run; of a recipe, the one that it is trained into. `alone`: its tasks are all that the map is to show."""
    from biomux.cli.ui.display import note
    from biomux.cli.ui.training_output import followed, needs_torch
    from biomux.errors import UsageError
    from biomux.recipes import quick as quickly
    from biomux.recipes import read as recipes

    folder = Path(source)
    if folder.is_dir():
        if settings or quick:
            raise UsageError("BX001", "--set and --quick are for recipes, not for runs", where=source)
        return folder
    recipe = recipes.read(source, settings=settings)
    if alone and len(recipe.tasks) < 2:
        raise UsageError(
            "BX704",
            "a map needs at least two tasks, and the recipe has one",
            where=source,
            hint="name more recipes or runs",
        )
    with needs_torch():
        from biomux.training import run as runs
        from biomux.training.encoders.availability import at_hand
    if quick:
        recipe, changes = quickly.quick(recipe, at_hand=at_hand)
        note(f"quick: {'; '.join(changes)}")
    folder = Path("runs") / f"{recipe.name}-map"
    with followed(folder, command="train") as show:
        runs.start(recipe, folder, directory=corpora, listen=show)
    return folder


def gathered(
    runs: Sequence[Path], corpora: Path | None, examples: int, *, keep: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The map of all tasks of some runs; tasks with the same name in several runs are distinguished by their run. `keep` gets the vectors."""
    import numpy as np

    from biomux.cli.ui.display import progress
    from biomux.cli.ui.training_output import needs_torch
    from biomux.errors import UsageError
    from biomux.studies.task_map import project

    with needs_torch():
        from biomux.training import task_embeddings
    vectors_of_runs = []
    with progress("tasks", total=len(runs), unit="runs") as bar:
        for run in runs:
            made = task_embeddings.of_run_tasks(run, directory=corpora, examples=examples)
            vectors_of_runs += [(run, vector) for vector in made]
            bar.advance(1)
    names = [vector.task for _, vector in vectors_of_runs]
    labels = [
        vector.task if names.count(vector.task) == 1 else f"{vector.task} ({run.name})"
        for run, vector in vectors_of_runs
    ]
    if len({vector.values.shape for _, vector in vectors_of_runs}) > 1:
        raise UsageError(
            "BX001", "cannot compare runs with different encoders", hint="name runs that started from the same encoder"
        )
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(
            "BX001",
            f"several runs have a task called {twice!r}",
            hint="name each run once, and rename folders of the same name",
        )
    values = {label: vector.values for label, (_, vector) in zip(labels, vectors_of_runs, strict=True)}
    if keep is not None:
        keep.update(values)
    kinds = {label: vector.kind for label, (_, vector) in zip(labels, vectors_of_runs, strict=True)}
    most = max((vector.examples for _, vector in vectors_of_runs), default=0)
    method = task_embeddings.METHOD.format(examples=f"at most {most}")
    return project(list(values), np.stack(list(values.values())), kinds=kinds, method=method)
