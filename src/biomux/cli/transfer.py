"""`biomux transfer`: which task helps which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from biomux.studies.members import Member


def command(
    recipe: Annotated[
        str,
        typer.Argument(metavar="RECIPE", help="Recipe or transfer study: a file, or a name such as b/transfer."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for the study. Default: studies/NAME."),
    ] = None,
    tasks: Annotated[
        str | None, typer.Option("--tasks", metavar="TASK,...", help="Only these tasks of the recipe.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="A.B=VALUE", help="Override a value of the recipe, for instance loop.epochs=2. Repeatable."
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="N,...", help="Seeds to use instead of the study's.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split", help="Split to score on instead of the study's. Use test only when all decisions are made."
        ),
    ] = None,
    corpora: Annotated[
        Path | None,
        typer.Option("--corpora", metavar="DIR", help="Corpora directory. Default: see biomux corpora --help."),
    ] = None,
    task_map: Annotated[bool, typer.Option("--map/--no-map", help="Also draw the map of tasks.")] = True,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Try it out with few documents, a small encoder, one epoch and at most two seeds."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done and how long it would take, then stop.")
    ] = False,
) -> None:
    """Find out which tasks help each other.

    Trains every task of the recipe alone, and every pair of tasks together. Whether one task improves with another is decided by
    significance tests over documents (paired bootstrap and approximate randomisation, with Holm's correction). A graph, a heat map and
    plain sentences say what to train together, and a map shows which tasks change the encoder in similar ways. Tasks of different kinds
    can be mixed; each is judged by its own main metric.

    Repeat the command to resume a study that was stopped. If a run fails it is reported, the others continue, and the exit code is 3.

        biomux transfer b/transfer --dry-run

        biomux transfer b/transfer --set model.encoder.name=weights/minilm -o studies/transfer

        biomux transfer d/joint-max --set 'tasks.ner.train=[train]' --seeds 1,2,3

        biomux transfer b/refine --tasks chemprot,ddi,nli4ct --quick
    """
    from biomux.cli.study import studying_seeds
    from biomux.cli.train import needs_torch
    from biomux.cli.ui import study_output
    from biomux.cli.ui.display import note
    from biomux.studies.members import of_transfer
    from biomux.studies.schema import read_transfer

    found, place = read_transfer(recipe)
    changes: dict[str, Any] = {}
    if seeds is not None:
        changes["seeds"] = studying_seeds(seeds)
    elif quick:
        changes["seeds"] = found.seeds[: study_output.QUICK_SEEDS]
    if tasks is not None:
        changes["tasks"] = tuple(one.strip() for one in tasks.split(",") if one.strip())
    found = found.model_copy(update=changes)
    scoring = study_output.scoring_of(found.score, split)
    with needs_torch():
        from biomux.studies import run as studies
    said: list[str] = []
    name = f"{found.name}-quick" if quick else found.name
    folder = output or Path("studies") / name
    small = study_output.smaller(said) if quick else None
    members = of_transfer(found, place=place, settings=settings or [], small=small)
    for change in said:
        note(f"quick: {change}")
    described = {**found.model_dump(mode="json"), "name": name, "settings": list(settings or [])}
    if dry_run:
        from biomux.studies.estimate import plan

        studies.check(members, folder, scoring=scoring, directory=corpora)
        study_output.show_plan(
            plan(
                members, scoring=scoring, folder=folder, directory=corpora, listen=lambda one: note(f"measuring {one}")
            )
        )
        return
    with study_output.stoppable(), study_output.followed(members) as listen:
        outcomes = studies.run_study(
            described,
            members,
            folder,
            kind="transfer",
            scoring=scoring,
            keep=found.keep,
            directory=corpora,
            listen=listen,
        )
    done = [member for member in members if outcomes[member.name].state == "done"]
    mapped = _map(done, folder, corpora, found.examples) if task_map and found.examples else None
    if found.keep == "scores":
        studies.drop_weights(members, folder)
    if any(len(member.recipe.tasks) == 1 for member in done):
        _report(folder, mapped)
    print(folder)
    if study_output.failures(outcomes):
        raise typer.Exit(study_output.FAILED)


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
    from biomux.cli.ui.display import table
    from biomux.cli.ui.study_output import write_report
    from biomux.report import transfer_page
    from biomux.report.blocks import Grid
    from biomux.studies import findings, transfer

    content = transfer.report(findings.read(folder), map=mapped)
    page = transfer_page.page(content)
    write_report(folder, content, page)
    for sentence in content["advice"]:
        print(sentence)
    print()
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Grid):
                table(block.columns, block.rows, title=block.title or section.title)
                print()
