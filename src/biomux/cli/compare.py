"""`biomux compare`: is a difference between systems real?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biomux.cli.ui.options import AsJson, Overwrite

if TYPE_CHECKING:
    from biomux.evaluation.compare import ComparedSystem, ComparisonResult


FILES = ("comparison.json", "ranks.svg")
"""What a comparison is written to."""


class Bars(StrEnum):
    """The test that decides the bars of the picture."""

    conover = "conover"
    nemenyi = "nemenyi"


def command(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL=]DIR",
            help="Folders of scores, or runs. Folders with the same label are seeds of one system.",
        ),
    ] = None,
    matching: Annotated[
        str,
        typer.Option(
            "--matching",
            help="Which scores to compare. Spans: strict, word, boundary, type, overlap, subword, semeval. Relations: relations, "
            "undirected, candidates.",
        ),
    ] = "strict",
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            help="f1, precision, recall, macro-f1, accuracy, exact, mrr, pearson, ... Default: the main metric of each column.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text", metavar="TEXT", help="Show what models find in one text, side by side. Give models, not scores."
        ),
    ] = None,
    published: Annotated[
        str | None,
        typer.Option(
            "--published", metavar="PAPER:TABLE,...", help="Add the systems in a paper's tables, for instance E:1,2."
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline", metavar="[LABEL=]DIR", help="Scores of a model trained on one task alone. Repeatable."
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", min=10, help="Number of resamples for the significance tests.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed of the resampling.")] = 0,
    alpha: Annotated[
        float, typer.Option("--alpha", metavar="P", min=0.0001, max=0.5, help="Significance level.")
    ] = 0.05,
    bars: Annotated[
        Bars,
        typer.Option("--bars", help="Test by which bars in the diagram join systems that do not differ significantly."),
    ] = Bars.conover,
    title: Annotated[str, typer.Option("--title", metavar="TITLE", help="Title of the diagram.")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for comparison.json and ranks.svg.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compare systems, and test whether they differ significantly.

    Give folders written by biomux evaluate -o or biomux score -o, or runs (then development scores are compared, without tests over
    documents). Seeds of one system share a label; their mean, standard deviation and all values are shown.

    Every system is compared with the first one by a paired bootstrap (interval and p) and by approximate randomisation (p, and p with
    Holm's correction for all tests shown) over documents. With --baseline, every system is compared with models trained on one task alone,
    and a warning is shown where it is significantly worse (negative transfer). With at least three systems and two corpora, Friedman's
    test, average ranks, and Conover's (Holm) and Nemenyi's tests of all pairs follow; these need the extra biomux[report]. With -o, a
    critical-difference diagram is drawn.

    With --text, runs or bundles are compared on one text: the table has a row for every mention that any of them finds, with the score
    from each.

    Examples:

        biomux compare scores/first scores/second
        biomux compare stm=scores/stm-1 stm=scores/stm-2 mtm=scores/mtm-1 mtm=scores/mtm-2
        biomux compare mtl=scores/mtl --baseline scores/tissue-alone --baseline scores/strain-alone
        biomux compare --published E:1,2 -o ranks
        biomux compare runs/d-single-1 runs/d-joint-max-1 --text "Familial Mediterranean fever is recessively inherited."
    """
    if text is not None:
        from biomux.errors import UsageError

        others = {"--published": published, "--baseline": baseline, "--output": output, "--metric": metric}
        if unused := next((option for option, value in others.items() if value), None):
            raise UsageError("BX001", f"{unused} is for scores, not for --text", hint="leave one of them out")
        _case(folders or [], text, as_json)
        return
    import json
    from contextlib import nullcontext

    from biomux.cli.ui.display import note, table
    from biomux.errors import UsageError
    from biomux.evaluation import compare
    from biomux.evaluation.negative_transfer import contrast_line, contrast_table, contrasts
    from biomux.formats import folder_target

    systems: list[ComparedSystem] = compare.systems_of(folders or [])
    if published:
        paper, _, tables = published.partition(":")
        systems += compare.published_systems(paper, tables.split(","), metric=metric if not folders else None)
    alone = compare.systems_of(baseline or [])
    if len(systems) < 1 or (len(systems) == 1 and len(systems[0].seeds) == 1 and not alone):
        raise UsageError("BX001", "nothing to compare", hint="name at least two folders, or use --published")
    how: dict[str, Any] = {"matching": matching, "metric": metric, "samples": samples, "seed": seed, "alpha": alpha}
    with folder_target(output, overwrite=overwrite, ours=FILES) if output else nullcontext() as place:
        result = compare.compare_systems(systems, **how)
        drops = contrasts(systems, alone, **how)
        report = {**result.to_json(), **({"baselines": [drop.to_json() for drop in drops]} if alone else {})}
        if place is not None:
            content = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
            (place / "comparison.json").write_text(content, encoding="utf-8")
            if result.ranking:
                from biomux.report.rank_diagram import rank_diagram

                picture = rank_diagram(result.ranking, test=bars.value, title=title)
                (place / "ranks.svg").write_text(picture, encoding="utf-8")
    if as_json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        _show(result)
        if drops:
            print()
            table(*contrast_table(drops), title="together against alone")
            print(contrast_line(drops))
    for remark in result.remarks:
        note(remark)
    for drop in drops:
        if drop.alarm:
            note(f"alarm: {drop.sentence()}")


def _case(models: list[str], text: str, as_json: bool) -> None:
    """Show what models find in one text."""
    import json

    import biomux
    from biomux.cli.ui.display import table
    from biomux.errors import UsageError
    from biomux.evaluation.case_study import case_study
    from biomux.evaluation.compare import argument_of

    named = {label or Path(path).name: path for label, path in map(argument_of, models)}
    if len(named) < 2 or len(named) < len(models):
        raise UsageError(
            "BX001",
            "--text needs at least two models with different names",
            hint="name runs or bundles, as LABEL=PATH where their names are equal",
        )
    mentions = case_study({name: biomux.load(path) for name, path in named.items()}, text)
    if as_json:
        print(
            json.dumps(
                {"text": text, "mentions": [mention.to_json() for mention in mentions]}, ensure_ascii=False, indent=2
            )
        )
        return
    rows = [
        [mention.text, mention.type, f"{mention.start}-{mention.end}"]
        + ["" if score is None else f"{score:.3f}" for score in mention.scores.values()]
        for mention in mentions
    ]
    table(["mention", "type", "place", *named], rows, title=text)


def _show(result: ComparisonResult) -> None:
    from biomux.cli.ui.display import table
    from biomux.evaluation.comparison_tables import (
        difference_line,
        difference_table,
        pair_table,
        rank_line,
        rank_table,
        value_table,
    )

    table(*value_table(result), title="values")
    if result.signature:
        print(result.signature)
    if result.tests:
        print()
        table(*difference_table(result), title="by documents")
        print(difference_line(result))
    if result.ranking:
        ranking = result.ranking
        print()
        print(
            f"Friedman: chi2 = {ranking.statistic:.2f}, p = {ranking.p:.2g}, {len(ranking.systems)} systems, {ranking.corpora} corpora"
        )
        if not ranking.significant:
            print("no significant difference between the systems: do not interpret the ranks below")
        table(*rank_table(ranking), title="average ranks")
        print(f"critical difference (Nemenyi, {ranking.alpha:g}): {ranking.critical_difference:.3f}")
        print(rank_line(result.signature, ranking))
        print()
        table(*pair_table(ranking), title="pairs")
        print(rank_line(result.signature, ranking))
