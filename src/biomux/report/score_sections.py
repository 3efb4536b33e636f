"""Sections of a report that come from scores: figures at a glance, compared with the papers', per type, mistakes, calibration, comparisons, alarms."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from biomux.errors import BiomuxError
from biomux.evaluation import score_tables
from biomux.evaluation.compare import compare_systems, figure_of
from biomux.evaluation.comparison_tables import (
    difference_line,
    difference_table,
    pair_table,
    rank_line,
    rank_table,
    value_table,
)
from biomux.evaluation.negative_transfer import contrast_line, contrast_table
from biomux.evaluation.published import SOURCES
from biomux.report import charts
from biomux.report.beside_published import DIFFERS, beside, comparable, ours
from biomux.report.blocks import (
    Excerpt,
    Excerpts,
    Facts,
    Fold,
    Gallery,
    Grid,
    Notice,
    PageSection,
    Picture,
    Prose,
    grid,
)
from biomux.scoring.error_analysis import KINDS, MARGIN
from biomux.scoring.signature import common_signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from biomux.evaluation.compare import ComparedSystem
    from biomux.evaluation.negative_transfer import Contrast
    from biomux.evaluation.score_folder import ScoreFolder
    from biomux.report.blocks import Block
    from biomux.report.charts import Point
    from biomux.scoring.ranks import Ranking

METRIC_NAMES = {
    "f1-strict": "strict F1",
    "f1-subword": "sub-word F1",
    "f1": "micro-F1",
    "f1-macro": "macro-F1",
    "f1-binary": "F1",
    "pearson": "Pearson's correlation, in percent",
    "mrr": "mean reciprocal rank",
}


def glance(scored: Sequence[ScoreFolder], found: Sequence[Contrast]) -> PageSection:
    """What to see first: how much was scored, the mean, alarms, and a drawing of all corpora."""
    facts: list[tuple[str, str, str]] = []
    for system_scores in scored:
        own_columns = [column for column in system_scores.columns.values() if not column.get("cross")]
        values = [figure_of(column) for column in own_columns if "spans" in column]
        if values:
            mean = 100 * sum(values) / len(values)
            facts.append(
                (
                    system_scores.system,
                    f"{mean:.2f}",
                    f"mean strict F1 of {len(values)} corpora" if len(values) > 1 else "strict F1",
                )
            )
    documents = {
        column.get("checksum", name): column.get("documents")
        for system_scores in scored
        for name, column in system_scores.columns.items()
    }
    total = sum(number for number in documents.values() if isinstance(number, int))
    if total:
        facts.append(("scored", f"{total:,}", "documents, each counted once"))
    if found:
        alarms = sum(contrast.alarm for contrast in found)
        facts.append(("negative transfer", str(alarms), f"of {_many(len(found), 'comparison', 'comparisons')}"))
    blocks: list[Block] = [Facts(tuple(facts))] if facts else []
    blocks += [Notice(contrast.sentence()) for contrast in found if contrast.alarm]
    if picture := _dots(scored):
        blocks += [picture]
    return PageSection("At a glance", "glance", tuple(blocks))


def _dots(scored: Sequence[ScoreFolder]) -> Picture | None:
    rows: dict[str, dict[str, charts.Dot]] = {}
    for system_scores in scored:
        for name, column in system_scores.columns.items():
            if "spans" in column and not column.get("cross"):
                micro = column["spans"]["matchings"]["strict"]["micro"]
                error = micro.get("f1_error")
                dot = charts.Dot(100 * micro["f1"], 100 * error if error is not None and error == error else 0.0)
                rows.setdefault(name, {})[system_scores.system] = dot
    if not rows:
        return None
    names = {
        name: str(column["corpus"])
        for system_scores in scored
        for name, column in system_scores.columns.items()
        if comparable(column)
    }
    tables_beside = beside(
        [
            figure
            for system_scores in scored
            for figure in ours(system_scores.system, system_scores.columns.values())
            if figure.metric == "f1-strict"
        ]
    )
    ranges: dict[str, tuple[float, float]] = {}
    for name, corpus in names.items():
        pairs = [table.ranges[corpus] for table in tables_beside if corpus in table.ranges]
        if pairs and name in rows:
            ranges[name] = (min(low for low, _ in pairs), max(high for _, high in pairs))
    order = sorted(rows, key=lambda name: -max(dot.value for dot in rows[name].values()))
    values = "; ".join(
        f"{name}: " + ", ".join(f"{system} {dot.value:.1f}" for system, dot in rows[name].items()) for name in order
    )
    svg = charts.dot_plot({name: rows[name] for name in order}, ranges=ranges, alt=f"Strict F1 by corpus. {values}.")
    caption = "Strict micro-F1 in percent; lines are two standard errors over documents to both sides. " + (
        "Grey bars: what the papers published for the same test part by the same definition, from the median of their systems to the highest; other encoders, other training data (see below)."
        if ranges
        else ""
    )
    return Picture("glance", svg, "Strict F1 by corpus", caption.strip())


def alarms(found: Sequence[Contrast]) -> PageSection | None:
    """Models of many tasks against those that learned a task alone."""
    if not found:
        return None
    hurt = [contrast for contrast in found if contrast.alarm]
    untested = [contrast for contrast in found if contrast.p is None]
    blocks: list[Block] = []  # the alarms themselves are at the top of the page
    if not hurt:
        blocks.append(Notice("No task is significantly below its single-task baseline.", fine=True))
    if untested:
        blocks.append(
            Prose(
                f"{_many(len(untested), 'comparison', 'comparisons')} could not be tested: there are no rows of documents (score both with biomux evaluate -o)."
            )
        )
    blocks.append(grid("Together against alone", contrast_table(found), below=contrast_line(found)))
    return PageSection("Negative transfer", "transfer-alarm", tuple(blocks))


def papers(scored: Sequence[ScoreFolder]) -> PageSection | None:
    """Our figures beside published ones."""
    tables_beside = beside(
        [figure for system_scores in scored for figure in ours(system_scores.system, system_scores.columns.values())]
    )
    if not tables_beside:
        return None
    blocks: list[Block] = [
        Prose(
            "Published figures are as printed, in percent. Only figures of the same corpus, its test part and the same definition of the score are set "
            "side by side; encoders and training data differ, so a difference here is not a finding about a method. ± is our standard error over "
            "documents.",
            note=True,
        )
    ]
    for table in tables_beside:
        title = f"Paper {table.paper}, {'table' if len(table.tables) == 1 else 'tables'} {_and(table.tables)}: {METRIC_NAMES.get(table.metric, table.metric)}"
        blocks += [
            Fold(
                title,
                (
                    Prose(SOURCES[table.paper] + "."),
                    Grid("", table.columns, table.rows),
                    Prose(f"What differs: {DIFFERS[table.paper]}", note=True),
                ),
                open=len(tables_beside) < 4,
            )
        ]
    left_out = sorted({name for system in scored for name, column in system.columns.items() if not comparable(column)})
    if left_out:
        blocks.append(
            Prose(
                f"Not set beside anything (cross-corpus, not the whole test part, or a view): {', '.join(left_out)}.",
                note=True,
            )
        )
    return PageSection("Beside the papers", "papers", tuple(blocks))


def scores(scored: Sequence[ScoreFolder]) -> list[PageSection]:
    """All tables of all columns, with their signatures."""
    sections = []
    for place, system in enumerate(scored):
        columns = list(system.columns.values())
        blocks: list[Block] = []
        spans = [column for column in columns if "spans" in column]
        if len(spans) > 1 and all("signature" in column for column in spans):
            below = common_signature([column["signature"] for column in spans])
            trained_on = sum(not column.get("cross") for column in spans)
            blocks.append(
                grid(
                    "All columns", _figures_first(score_tables.summary(spans)), below=below, strong=int(trained_on > 1)
                )
            )
            blocks.append(
                Prose(
                    "F1 in percent by every definition, ± its standard error over documents. Strict: offsets and type. Word: widened to whole words, as "
                    "conlleval. Boundary: whatever the type. Type: overlap with a mention of the type. Overlap: with any mention. SemEval: partial "
                    "credit. Sub-word: paper C's way of counting. (cross): by a head that was trained on another corpus.",
                    note=True,
                )
            )
        untagged = [column for column in columns if "main" in column]
        if len(untagged) > 1:
            below = common_signature([column["signature"] for column in untagged])
            blocks.append(grid("Heads that do not tag", score_tables.main_table(untagged), below=below))
        blocks += [_column(column, open=len(columns) < 3) for column in columns]
        sections.append(PageSection(f"Scores: {system.system}", f"scores{place + 1}", tuple(blocks)))
    return sections


def _figures_first(table: score_tables.Table) -> score_tables.Table:
    """The summary with split, heads and documents behind the figures: on a narrow page they matter less."""
    columns, rows = table
    return [columns[0], *columns[4:], *columns[1:4]], [(row[0], *row[4:], *row[1:4]) for row in rows]


def _column(column: Mapping[str, Any], *, open: bool) -> Fold:
    inner: list[Block] = []
    for title, table in score_tables.tables(column, bins=False):
        strong = 2 if title in ("spans", "labels", "relations") else 0
        inner.append(grid(title, table, below=str(column.get("signature", "")), strong=strong))
    inner += [Prose(f"{line[0].upper()}{line[1:]}.") for line in score_tables.remarks(column)]
    return Fold(f"{column['name']}: {_headline(column)}", tuple(inner), open=open)


def _headline(column: Mapping[str, Any]) -> str:
    if "spans" in column:
        headline = f"strict F1 {score_tables.with_error(column['spans']['matchings']['strict']['micro'])}"
    elif "main" in column:
        headline = " ".join(score_tables.main_figure(column))
        if candidates := column.get("relations", {}).get("matchings", {}).get("candidates"):
            headline += f", on candidate pairs {score_tables.with_error(candidates['micro'])}"
    else:
        kind = next((kind for kind in ("labels", "relations", "numbers", "answers") if kind in column), "scores")
        value = figure_of(column)
        names = {"labels": "micro-F1", "relations": "micro-F1", "numbers": "Pearson", "answers": "token F1"}
        name = names.get(kind, kind)
        headline = f"{name} {100 * value:.2f}"
    return headline + (", cross-corpus" if column.get("cross") else "")


def mistakes(scored: Sequence[ScoreFolder], *, examples: int = 2) -> list[PageSection]:
    """Classes of mistakes by column, and examples in their text."""
    sections = []
    for place, system_scores in enumerate(scored):
        by_column = [
            (name, column["spans"]["mistakes"])
            for name, column in system_scores.columns.items()
            if "mistakes" in column.get("spans", {})
        ]
        if not by_column:
            continue
        rows = []
        for name, column_mistakes in by_column:
            numbers = [column_mistakes["kinds"].get(kind, 0) for kind in KINDS]
            rows.append((name, f"{sum(numbers):,}", *(f"{number:,}" for number in numbers)))
        blocks: list[Block] = [
            grid("Wrong mentions, by class", (["corpus", "all", *KINDS], rows)),
            Prose(
                "Boundary: overlap, the same type. Type: the same place, another type. Split: one mention found as several. Merged: several found as one. "
                "Missed and spurious: nothing else explains them.",
                note=True,
            ),
        ]
        if examples:
            blocks.append(
                Prose(
                    "Examples were drawn at random from each class. In the text, a background marks what the corpus has, an underline what the system found; in Markdown these are [ ] and { }.",
                    note=True,
                )
            )
            for name, column_mistakes in by_column:
                shown = tuple(_excerpts(column_mistakes, examples))
                if shown:
                    blocks.append(Fold(f"Examples: {name}", (Excerpts(shown),), open=len(by_column) == 1))
        sections.append(
            PageSection(
                f"Mistakes: {system_scores.system}" if len(scored) > 1 else "Mistakes",
                f"mistakes{place + 1}",
                tuple(blocks),
            )
        )
    return sections


def _excerpts(column_mistakes: Mapping[str, Any], most: int) -> Iterator[Excerpt]:
    shown: dict[str, int] = {}
    for mistake in column_mistakes["examples"]:
        shown[mistake["kind"]] = shown.get(mistake["kind"], 0) + 1
        if shown[mistake["kind"]] <= most:
            types = f"{score_tables.types_of(mistake['gold'])} → {score_tables.types_of(mistake['predicted'])}"
            shown_text, (before, after) = pieces(mistake), _cut(mistake)
            text = [("…", False, False)] * before + shown_text + [("…", False, False)] * after
            marked = "…" * before + score_tables.marked(mistake) + "…" * after
            yield Excerpt(mistake["kind"], types, tuple(text), marked, str(mistake["document"]))


def _cut(mistake: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether the text continues before and after the context."""
    ends = [end for side in ("gold", "predicted") for span in mistake[side] for _, end in span["ranges"]]
    return mistake["offset"] > 0, mistake["offset"] + len(mistake["context"]) - max(ends, default=0) >= MARGIN


def pieces(mistake: Mapping[str, Any]) -> list[tuple[str, bool, bool]]:
    """The context cut where marks begin or end: each piece with whether it is in a gold mention and whether in a predicted one.

    >>> mistake = {"context": "old heart failure", "offset": 10, "gold": [{"ranges": [[14, 27]]}], "predicted": [{"ranges": [[20, 27]]}]}
    >>> pieces(mistake)
    [('old ', False, False), ('heart ', True, False), ('failure', True, True)]
    """
    text, offset = str(mistake["context"]), int(mistake["offset"])
    ranges = {
        side: [(start - offset, end - offset) for span in mistake[side] for start, end in span["ranges"]]
        for side in ("gold", "predicted")
    }
    cuts = sorted(
        {0, len(text), *(min(max(cut, 0), len(text)) for spans in ranges.values() for pair in spans for cut in pair)}
    )

    def inside(side: str, place: int) -> bool:
        return any(start <= place < end for start, end in ranges[side])

    return [(text[begin:end], inside("gold", begin), inside("predicted", begin)) for begin, end in pairwise(cuts)]


def trust(scored: Sequence[ScoreFolder]) -> list[PageSection]:
    """Calibration: whether the scores of mentions can be trusted."""
    sections = []
    for place, system_scores in enumerate(scored):
        by_column = [
            (name, column["spans"]["confidence"])
            for name, column in system_scores.columns.items()
            if "confidence" in column.get("spans", {})
        ]
        if not by_column:
            continue
        rows = [
            (
                name,
                f"{confidence['number']:,}",
                score_tables.percent(confidence["mean_score"]),
                score_tables.percent(confidence["accuracy"]),
                score_tables.figure(confidence["ece"], confidence["ece_error"]),
                score_tables.figure(confidence["aurc"], confidence["aurc_error"]),
            )
            for name, confidence in by_column
        ]
        pictures = tuple(
            _trust(name, confidence, f"trust{place + 1}-{number + 1}")
            for number, (name, confidence) in enumerate(by_column)
        )
        blocks: tuple[Block, ...] = (
            Prose(
                "Left: of mentions with a score (across), the share that is right (up); on the dashed line scores mean what they say, and discs are larger "
                "where there are more mentions. Right: if only the surest are kept (across), the share of them that is wrong (up; its scale is on "
                "the axis). ECE is the mean distance from the dashed line, AURC the mean height of the right curve: lower is better for both.",
                note=True,
            ),
            Gallery(pictures, least=260),
            Fold(
                "Figures",
                (grid("Confidence, in percent", (["corpus", "mentions", "mean score", "right", "ECE", "AURC"], rows)),),
            ),
        )
        sections.append(
            PageSection(
                f"Calibration: {system_scores.system}" if len(scored) > 1 else "Calibration",
                f"trust{place + 1}",
                blocks,
            )
        )
    return sections


def _trust(title: str, confidence: Mapping[str, Any], name: str) -> Picture:
    bins = [(bin_["score"], bin_["right"], bin_["number"]) for bin_ in confidence["bins"]]
    figures = f"ECE {100 * confidence['ece']:.1f}", f"AURC {100 * confidence['aurc']:.1f}"
    alt = f"{title}: {figures[0]} %, {figures[1]} %; mean score {score_tables.percent(confidence['mean_score'])}, right {score_tables.percent(confidence['accuracy'])}."
    return Picture(name, charts.trust(bins, _risks(confidence), title=title, alt=alt, figures=figures), alt)


def _risks(confidence: Mapping[str, Any]) -> list[Point]:
    """The curve of risk and coverage. Scores of earlier versions lack it: then it goes through the bins, where it is exact."""
    if confidence.get("risks"):
        return [(float(covered), float(risk)) for covered, risk in confidence["risks"]]
    total = sum(bin_["number"] for bin_ in confidence["bins"]) or 1
    covered = wrong = 0.0
    points: list[Point] = []
    for bin_ in sorted(confidence["bins"], key=lambda bin_: -bin_["low"]):
        covered += bin_["number"]
        wrong += bin_["number"] * (1 - bin_["right"])
        points.append((covered / total, wrong / covered))
    return [(0.0, points[0][1]), *points] if points else []


def comparison(
    systems: Sequence[ComparedSystem], *, title: str, anchor: str, samples: int, seed: int, alpha: float
) -> PageSection | None:
    """Several systems: values, tests by documents, and, for at least three systems on two corpora, the rank diagram."""
    if len(systems) < 2 and not any(len(system.seeds) > 1 for system in systems):
        return None
    try:
        result = compare_systems(systems, samples=samples, seed=seed, alpha=alpha)
    except BiomuxError as error:
        return PageSection(title, anchor, (Prose(f"The systems were not compared: {error.message}."),))
    blocks: list[Block] = [
        grid(
            f"Values ({result.metric}, percent)",
            value_table(result),
            below=result.signature,
            strong=int(len(result.values) > 1),
        )
    ]
    if result.tests:
        blocks.append(
            Fold(
                "Differences, document by document",
                (grid("", difference_table(result), below=difference_line(result)),),
                open=len(result.tests) < 20,
            )
        )
    if result.ranking:
        blocks += rank_blocks(result.ranking, anchor, rank_line(result.signature, result.ranking))
    blocks += [Prose(line + ".", note=True) for line in result.remarks]
    return PageSection(title, anchor, tuple(blocks))


def rank_blocks(ranking: Ranking, anchor: str, below: str) -> list[Block]:
    """Friedman's test, the picture of average ranks, and the pairs."""
    from biomux.report.rank_diagram import rank_diagram

    friedman = f"Friedman: chi2 = {ranking.statistic:.2f}, p = {ranking.p:.2g}, {len(ranking.systems)} systems, {ranking.corpora} corpora."
    if not ranking.significant:
        friedman += " No difference between the systems is shown: the rest of this section means nothing."
    order = sorted(ranking.average_ranks.items(), key=lambda item: item[1])
    alt = "Average ranks: " + ", ".join(f"{name} {rank:.2f}" for name, rank in order)
    return [
        Prose(friedman),
        Picture(f"{anchor}-ranks", rank_diagram(ranking, title="Average ranks"), alt, wide=True),
        Fold(
            "Ranks and pairs",
            (
                grid("Average ranks", rank_table(ranking), below=below),
                grid("Pairs", pair_table(ranking), below=below),
            ),
        ),
    ]


def _many(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _and(names: Sequence[str]) -> str:
    return re.sub(r", ([^,]*)$", r" and \1", ", ".join(names))
