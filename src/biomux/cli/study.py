"""`biomux study`: recipes over recipes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biomux.cli.ui.options import CorporaFolder, DryRun, Seeds, StudyFolder, StudySettings, StudySplit

if TYPE_CHECKING:
    from collections.abc import Mapping


def command(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Study file, or a name such as d/learning-curve.")],
    output: StudyFolder = None,
    settings: StudySettings = None,
    seeds: Seeds = None,
    split: StudySplit = None,
    corpora: CorporaFolder = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Try the study out with few documents, a small encoder, one epoch and two seeds."),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Run a study: recipes over a grid of settings and seeds.

    A study names systems (recipes with some values changed), a grid of values, and seeds. Every combination is an ordinary run in DIR/runs.
    Repeat the command to resume a study that was stopped: finished runs are kept and failed ones are tried again. You can add systems and
    seeds later. At the end, report.md, report.html and report.json give all values, mean and standard deviation over seeds, curves, and
    significance tests between systems on the same documents. If a run fails it is reported, the others continue, and the exit code is 3.

    Examples:

        biomux study d/learning-curve --dry-run
        biomux study d/ten-percent --set model.encoder.name=weights/minilm --set loop.epochs=20
        biomux study a/table --quick -o try
        biomux study mine.yaml --seeds 1,2,3,4,5
    """
    from biomux.cli.ui import study_output
    from biomux.studies.members import of_study
    from biomux.studies.schema import read_study

    chosen, place = read_study(study)
    changes: dict[str, Any] = {"seeds": study_output.chosen_seeds(seeds, chosen.seeds, quick=quick)}
    if quick:
        changes["systems"] = {
            name: system.model_copy(update={"seeds": None}) for name, system in chosen.systems.items()
        }
    chosen = chosen.model_copy(update=changes)
    options = study_output.StudyOptions(output, settings or [], split, corpora, quick, dry_run)
    finished = study_output.run_or_plan(
        "study", chosen, options, partial(of_study, chosen, place=place, settings=options.settings)
    )
    if finished is None:
        return
    if chosen.keep == "scores":
        from biomux.studies.run import drop_weights

        drop_weights(finished.members, finished.folder)
    if finished.done:
        _report(finished.folder)
    finished.end()


def _report(folder: Path) -> None:
    from biomux.cli.ui.display import note
    from biomux.cli.ui.study_output import show_tables, write_report
    from biomux.report import study_page
    from biomux.studies import findings

    content: Mapping[str, Any] = findings.report(findings.read(folder))
    page = study_page.page(content)
    write_report(folder, content, page)
    show_tables(page)
    for alarm in content["alarms"]:
        note(f"alarm: {alarm}")
