"""`biomux report`: a page of what runs and scores say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biomux.cli.ui.options import Overwrite


def command(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL=]PATH", help="Runs, folders of scores, studies, bundles, or files from biomux bench --json."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="New folder for the report.")] = Path(
        "report"
    ),
    overwrite: Overwrite = False,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline", metavar="[LABEL=]DIR", help="Scores of a model trained on one task alone. Repeatable."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", min=0, help="Number of examples of each kind of mistake.")
    ] = 2,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", min=10, help="Number of resamples for the significance tests.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed of the resampling.")] = 0,
    alpha: Annotated[
        float, typer.Option("--alpha", metavar="P", min=0.0001, max=0.5, help="Significance level.")
    ] = 0.05,
) -> None:
    """Make one report page from runs, scores and studies.

    Writes report.html, a single self-contained file, and report.md with its figures. The page has a section for everything you give it:
    scores beside published ones, scores by every definition with signatures, mistakes in context, calibration, learning curves, cost,
    comparisons between systems (with ranks for three or more), and studies with their figures.

    With --baseline, multi-task models are compared with models trained on one task alone, and a warning is shown where one is
    significantly worse. Folders with the same label are seeds of one system. docs/how-to/reports.md explains the page.

    Examples:

        biomux report scores/first -o report
        biomux report runs/first scores/first bench.json -o report
        biomux report mtl=scores/mtl --baseline scores/tissue-alone --baseline scores/strain-alone -o report
        biomux report studies/transfer -o report
    """
    from biomux.cli.ui.display import note
    from biomux.formats import folder_target
    from biomux.report import report

    with folder_target(output, overwrite=overwrite, ours=report.FILES) as place:
        page, drops = report.make(
            given, baselines=baseline or [], title=title, examples=examples, samples=samples, seed=seed, alpha=alpha
        )
        report.write(page, place)
    for drop in drops:
        if drop.alarm:
            note(f"alarm: {drop.sentence()}")
    print(output / "report.html")
