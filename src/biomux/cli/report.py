"""`biomux report`: a page of what runs and scores say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biomux.cli.options import Overwrite  # noqa: TC001 (typer reads annotations)


def command(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL=]PATH", help="Runs, folders of scores, studies, bundles, files of biomux bench --json."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A new folder for the page.")] = Path(
        "report"
    ),
    overwrite: Overwrite = False,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline", metavar="[LABEL=]DIR", help="Scores of a model that learned a task alone; may be repeated."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="The title of the page.")] = None,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Examples of each class of mistakes.")] = 2,
    samples: Annotated[int, typer.Option("--samples", min=10, help="Resampled sets of documents.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.")] = 0,
    alpha: Annotated[float, typer.Option("--alpha", min=0.0001, max=0.5, help="What counts as significant.")] = 0.05,
) -> None:
    """Make one page of runs, scores and studies.

    DIR gets report.html, one file that needs nothing else, and report.md with its drawings. The page has a section for everything that was
    given: figures beside those of the papers, scores by every definition with signatures, mistakes in their text, calibration,
    learning curves, cost, systems compared (ranks from three systems on), studies with their drawings.

    With --baseline, models of many tasks are held against those that learned a task alone, and an alarm is told where one falls
    significantly below. Folders of one label are seeds of one system. docs/how-to/reports.md says how to read the page.

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
        page, found = report.make(
            given, baselines=baseline or [], title=title, examples=examples, samples=samples, seed=seed, alpha=alpha
        )
        report.write(page, place)
    for one in found:
        if one.alarm:
            note(f"alarm: {one.sentence()}")
    print(output / "report.html")
