"""`biomux transfer`: which task helps which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biomux.cli.ui.options import CorporaFolder, DryRun, RecipeSettings, Seeds, StudyFolder, StudySplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.studies.members import Member


def command(
    recipe: Annotated[
        str,
        typer.Argument(metavar="RECIPE", help="Recipe or transfer study: a file, or a name such as b/transfer."),
    ],
    output: StudyFolder = None,
    tasks: Annotated[
        str | None, typer.Option("--tasks", metavar="TASK,...", help="Only these tasks of the recipe.")
    ] = None,
    settings: RecipeSettings = None,
    seeds: Seeds = None,
    split: StudySplit = None,
    corpora: CorporaFolder = None,
    task_map: Annotated[bool, typer.Option("--map/--no-map", help="Also draw the map of tasks.")] = True,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Try it out with few documents, a small encoder, one epoch and at most two seeds."
        ),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Find out which tasks help each other.

    Trains every task of the recipe alone, and every pair of tasks together. Whether one task improves with another is decided by
    significance tests over documents (paired bootstrap and approximate randomisation, with Holm's correction). A graph, a heat map and
    plain sentences say what to train together, and a map shows which tasks change the encoder in similar ways. Tasks of different kinds
    can be mixed; each is judged by its own main metric.

    Repeat the command to resume a study that was stopped. If a run fails it is reported, the others continue, and the exit code is 3.

    Examples:

        biomux transfer b/transfer --dry-run
        biomux transfer b/transfer --set model.encoder.name=weights/minilm -o studies/transfer
        biomux transfer d/joint-max --set 'tasks.ner.train=[train]' --seeds 1,2,3
        biomux transfer b/refine-open --tasks chemprot,ddi,nli4ct --quick
    """
    from biomux.cli.ui import study_output
    from biomux.studies.members import of_transfer
    from biomux.studies.schema import read_transfer

    chosen, place = read_transfer(recipe)
    changes: dict[str, Any] = {"seeds": study_output.chosen_seeds(seeds, chosen.seeds, quick=quick)}
    if tasks is not None:
        changes["tasks"] = tuple(name.strip() for name in tasks.split(",") if name.strip())
    chosen = chosen.model_copy(update=changes)
    options = study_output.StudyOptions(output, settings or [], split, corpora, quick, dry_run)
    finished = study_output.run_or_plan(
        "transfer",
        chosen,
        options,
        lambda small, folder: of_transfer(chosen, place=place, settings=options.settings, small=small),  # noqa: ARG005
    )
    if finished is None:
        return
    mapped = _map(finished.done, finished.folder, corpora, chosen.examples) if task_map and chosen.examples else None
    if chosen.keep == "scores":
        from biomux.studies.run import drop_weights

        drop_weights(finished.members, finished.folder)
    if any(len(member.recipe.tasks) == 1 for member in finished.done):
        _report(finished.folder, mapped)
    finished.end()


def _map(members: Sequence[Member], folder: Path, corpora: Path | None, examples: int) -> dict[str, Any] | None:
    """The map of the tasks that were trained alone with the first seed; None where there are fewer than two, or their weights are gone."""
    from biomux.cli.tasks import gathered
    from biomux.recipes.run_folder import WEIGHTS

    first = min((member.seed for member in members), default=0)
    runs = [
        folder / "runs" / member.name for member in members if len(member.recipe.tasks) == 1 and member.seed == first
    ]
    runs = [run for run in runs if (run / WEIGHTS).is_file()]
    return gathered(runs, corpora, examples) if len(runs) > 1 else None


def _report(folder: Path, mapped: dict[str, Any] | None) -> None:
    from biomux.cli.ui.study_output import show_tables, write_report
    from biomux.report import transfer_page
    from biomux.studies import findings, transfer

    content = transfer.report(findings.read(folder), map=mapped)
    page = transfer_page.page(content)
    write_report(folder, content, page)
    for sentence in content["advice"]:
        print(sentence)
    print()
    show_tables(page)
