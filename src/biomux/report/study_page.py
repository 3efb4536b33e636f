"""A study's report as sections: tables with all seeds, tests, curves, and what the paper printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.evaluation.comparison_tables import p_value, rank_line
from biomux.evaluation.published import SUMMARIES, published
from biomux.evaluation.score_tables import percent
from biomux.report import curves
from biomux.report.blocks import Grid, Notice, Page, PageSection, Picture, Prose
from biomux.report.score_sections import rank_blocks
from biomux.scoring.ranks import Ranking
from biomux.studies.findings import systems_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from biomux.report.blocks import Block


def page(found: Mapping[str, Any]) -> Page:
    """The page of a report.json of kind "study"."""
    tasks = list(dict.fromkeys(value["task"] for value in found["values"]))
    sections = [section(found, task) for task in tasks]
    alarms = tuple(Notice(f"{alarm}.") for alarm in found.get("alarms", ()))
    first = [PageSection("Negative transfer", "alarms", alarms)] if alarms else []
    return Page(found["name"], found["about"], (*first, *sections, *ranks(found), *last_sections(found)), foot(found))


def section(found: Mapping[str, Any], task: str) -> PageSection:
    """One task: values, curves, tests."""
    values = systems_of(found["values"], task)
    systems = list(dict.fromkeys(name for systems in values.values() for name in systems))
    axis = ", ".join(found["axes"])
    about = found["documents"][task]
    rows = tuple(
        (point or about["corpus"], *(said(systems_here.get(name, ())) for name in systems))
        for point, systems_here in values.items()
    )
    blocks: list[Block] = [
        Grid(
            f"{task}: {about['main']} on {found['split']}",
            (axis or "corpus", *systems),
            rows,
            below=signature(found, task),
        ),
        Picture(
            f"{_plain(task)}-curve", drawn(values, axis, f"{task}, {about['main']}"), f"Figures of {task} by system"
        ),
    ]
    tests = [test for test in found["tests"] if test["task"] == task]
    if tests:
        blocks.append(
            Grid(
                "against the first system, over documents",
                ("point", "system", "difference", "interval", "p bootstrap", "p randomisation", "p Holm", ""),
                tuple(
                    (test["point"] or "all", f"{test['second']} − {test['first']}", *tested(test, found["alpha"]))
                    for test in tests
                ),
            )
        )
    return PageSection(task, f"task-{_plain(task)}", tuple(blocks))


def ranks(found: Mapping[str, Any]) -> list[PageSection]:
    """The systems ranked over tasks, at each point; none if there are too few."""
    sections = []
    for ranked in found.get("ranks", ()):
        ranking = Ranking.from_json(ranked)
        title = f"Ranks over tasks, {ranked['point']}" if ranked["point"] else "Ranks over tasks"
        below = rank_line(f"biomux:{found['biomux']}|split:{found['split']}|values:means over seeds", ranking)
        anchor = _plain(title.lower())
        sections.append(PageSection(title, anchor, tuple(rank_blocks(ranking, anchor, below))))
    return sections


def drawn(values: Mapping[str, Mapping[str, Sequence[float]]], axis: str, title: str) -> str:
    """Curves if there is an axis, else one row per system."""
    if len(values) > 1:
        return curves.curves(values, axis=axis, title=title)
    return curves.rows(next(iter(values.values())), title=title)


def last_sections(found: Mapping[str, Any]) -> list[PageSection]:
    """What the paper printed, what failed, and remarks."""
    sections = []
    printed = published(paper=found["paper"], table=found["table"]) if found["paper"] and found["table"] else []
    corpora = {about["corpus"] for about in found["documents"].values()}
    rows = tuple(
        (figure.system, figure.corpus, figure.metric, f"{figure.value:g}", figure.note)
        for figure in printed
        if figure.corpus in corpora or (figure.corpus in SUMMARIES and len(corpora) > 1)
    )
    if rows:
        note = Prose(
            "Printed by the paper, on its own encoder, data and split: facts to compare with ours, not measurements.",
            note=True,
        )
        title = f"Paper {found['paper']}, table {found['table']}"
        sections.append(
            PageSection(title, "published", (note, Grid("", ("system", "corpus", "metric", "value", "note"), rows)))
        )
    if found["failed"]:
        notices = tuple(
            Notice(f"{member['name']}: {member['error'] or 'not trained yet'}") for member in found["failed"]
        )
        sections.append(PageSection("Members that are missing", "failed", notices))
    if found.get("remarks"):
        sections.append(PageSection("Remarks", "remarks", tuple(Prose(remark) for remark in found["remarks"])))
    return sections


def foot(found: Mapping[str, Any]) -> str:
    """How it was made."""
    done = found["members"]
    hours = found["seconds"] / 3600
    took = f"{hours:.1f} h" if hours >= 1 else f"{found['seconds'] / 60:.1f} min"
    return (
        f"{done['done']} of {done['of']} runs; {found['tokens']:,} tokens in {took} of training and scoring. Tests resample documents "
        f"(paired bootstrap, approximate randomisation; the larger p of both, by Holm over all tests of the page, {found['alpha']:g}); they do "
        "not cover the choice of seeds, which the standard deviation shows."
    )


def said(values: Sequence[float]) -> str:
    """Mean, standard deviation and all values in percent."""
    from biomux.evaluation.compare import spread

    if not values:
        return ""
    if len(values) == 1:
        return percent(values[0])
    summary = spread(values)
    return f"{percent(summary['mean'] or 0.0)} ±{100 * (summary['sd'] or 0.0):.2f} ({', '.join(map(percent, values))})"


def tested(one: Mapping[str, Any], alpha: float) -> tuple[str, ...]:
    """Difference, interval, three p and a word."""
    word = "no difference shown" if one["p_holm"] >= alpha else ("better" if one["difference"] > 0 else "worse")
    return (
        f"{100 * one['difference']:+.2f}",
        f"{100 * one['low']:+.2f} to {100 * one['high']:+.2f}",
        p_value(one["p_bootstrap"]),
        p_value(one["p_randomisation"]),
        p_value(one["p_holm"]),
        word,
    )


def signature(found: Mapping[str, Any], task: str) -> str:
    """The line under a table: what was scored, by what."""
    about = found["documents"][task]
    return (
        f"biomux:{found['biomux']}|figure:{about['main']}|corpus:{about['corpus']}|split:{found['split']}|"
        f"documents:{about['documents']}|sha256:{about['sha256'][:12]}"
    )


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
