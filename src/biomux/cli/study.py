"""`biomux study`: recipes over recipes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping


def command(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Study file, or a name such as d/learning-curve.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for the study. Default: studies/NAME."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="A.B=VALUE",
            help="Override a value in every recipe, for instance loop.epochs=2. Repeatable.",
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
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Try the study out with few documents, a small encoder, one epoch and two seeds."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done and how long it would take, then stop.")
    ] = False,
) -> None:
    """Run a study: recipes over a grid of settings and seeds.

    A study names systems (recipes with some values changed), a grid of values, and seeds. Every combination is an ordinary run in DIR/runs.
    Repeat the command to resume a study that was stopped: finished runs are kept and failed ones are tried again. You can add systems and
    seeds later. At the end, report.md, report.html and report.json give all values, mean and standard deviation over seeds, curves, and
    significance tests between systems on the same documents. If a run fails it is reported, the others continue, and the exit code is 3.

        biomux study d/learning-curve --dry-run

        biomux study d/ten-percent --set model.encoder.name=weights/minilm --set loop.epochs=20

        biomux study a/table --quick -o try

        biomux study mine.yaml --seeds 1,2,3,4,5
    """
    from biomux.cli.train import needs_torch
    from biomux.cli.ui import study_output
    from biomux.cli.ui.display import note
    from biomux.studies.members import of_study
    from biomux.studies.schema import read_study

    found, place = read_study(study)
    if seeds is not None or quick:
        chosen = studying_seeds(seeds) if seeds is not None else found.seeds[: study_output.QUICK_SEEDS]
        found = found.model_copy(update={"seeds": chosen})
    scoring = study_output.scoring_of(found.score, split)
    with needs_torch():
        from biomux.studies import run as studies
    said: list[str] = []
    name = f"{found.name}-quick" if quick else found.name
    folder = output or Path("studies") / name
    small = study_output.smaller(said) if quick else None
    members = of_study(found, place=place, settings=settings or [], small=small, folder=folder)
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
            described, members, folder, kind="study", scoring=scoring, keep=found.keep, directory=corpora, listen=listen
        )
    if found.keep == "scores":
        studies.drop_weights(members, folder)
    if any(one.state == "done" for one in outcomes.values()):
        _report(folder)
    print(folder)
    if study_output.failures(outcomes):
        raise typer.Exit(study_output.FAILED)


def studying_seeds(given: str) -> tuple[int, ...]:
    """Seeds from `1,2,3`."""
    from biomux.errors import UsageError

    try:
        found = tuple(int(one) for one in given.split(","))
    except ValueError:
        found = ()
    if not found or len(set(found)) < len(found) or min(found) < 0:
        raise UsageError("BX001", f"--seeds must be whole numbers such as 1,2,3, got {given!r}")
    return found


def _report(folder: Path) -> None:
    from biomux.cli.ui.display import note, table
    from biomux.cli.ui.study_output import write_report
    from biomux.report import study_page
    from biomux.studies import findings

    content: Mapping[str, Any] = findings.report(findings.read(folder))
    page = study_page.page(content)
    write_report(folder, content, page)
    from biomux.report.blocks import Grid

    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Grid):
                table(block.columns, block.rows, title=block.title or section.title)
                print(f"{block.below}\n" if block.below else "")
    for alarm in content["alarms"]:
        note(f"alarm: {alarm}")
