"""Sections of a report that come from runs and measurements: learning curves, cost, studies."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from biomux.errors import ScoreError
from biomux.report import charts
from biomux.report.blocks import Fold, Gallery, PageSection, Picture, Prose, grid
from biomux.report.cost import cost_table, costs, machine_line, time_taken
from biomux.report.journal import thinned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from biomux.report.blocks import Block
    from biomux.report.report_inputs import Given, ReportRun, ReportStudy


def training(given: Given) -> PageSection | None:
    """Learning curves of every run: the loss of each task and its development score, against updates."""
    if not given.runs:
        return None
    blocks: list[Block] = []
    several = {run.name: run.history.means for run in given.runs if run.history.means}
    if len(several) > 1:
        last_values = "; ".join(f"{name} ends at {points[-1][1]:.2f}" for name, points in several.items())
        svg = charts.curves(
            several,
            alt=f"Mean development score by update: {last_values}.",
            across="updates",
            up="mean development score, percent",
        )
        blocks.append(Picture("development", svg, last_values, "Mean development score over tasks, of all runs."))
    for place, run in enumerate(given.runs):
        inner = list(_run(run, f"run{place + 1}"))
        blocks.append(Fold(f"{run.name}: {_about(run)}", tuple(inner), open=len(given.runs) <= 2))
    return PageSection("Training", "training", tuple(blocks))


def _run(run: ReportRun, name: str) -> Iterator[Block]:
    history = run.history
    yield grid("", _facts(run))
    if history.unread:
        yield Prose(f"{history.unread:,} lines of the journal could not be read and are not shown.")
    if history.means:
        points = "; ".join(f"{value:.2f} after {step:,.0f} updates" for step, value in history.means)
        yield Prose(f"Mean development score over tasks: {points}.")
    if guesses := history.perplexities:
        values = "; ".join(f"{value:.2f} after {step:,.0f} updates" for step, value in guesses)
        yield Prose(f"Perplexity of held-out text: {values}.")
        if len(guesses) > 1:
            alt = f"Held-out perplexity: from {guesses[0][1]:.2f} to {guesses[-1][1]:.2f}."
            svg = charts.curve(guesses, title="perplexity", alt=alt, marks=True, logarithmic=True)
            yield Gallery((Picture(f"{name}-perplexity", svg, alt),))
    if not history.losses:
        yield Prose("The journal holds no losses.")
        return
    yield Prose(
        "Loss of each task against updates, each on its own logarithmic scale; the figure is its last value. Points are means of neighbouring "
        "entries of the journal.",
        note=True,
    )
    yield Gallery(tuple(_losses(run, name)))
    curves = {task: points for task, points in history.scores.items() if len(points) > 1}
    if curves:
        yield Prose("Development score of each task in percent, each on its own scale.", note=True)
        pictures = (
            Picture(
                f"{name}-score-{place + 1}",
                charts.curve(
                    points,
                    title=task,
                    alt=f"Development score of {task}: from {points[0][1]:.2f} to {points[-1][1]:.2f}.",
                    marks=True,
                ),
                f"Development score of {task}",
            )
            for place, (task, points) in enumerate(curves.items())
        )
        yield Gallery(tuple(pictures))
    if history.scores:
        rows = [
            (task, f"{points[-1][1]:.2f}", f"{max(value for _, value in points):.2f}", f"{len(points)}")
            for task, points in history.scores.items()
        ]
        yield Fold("Development scores", (grid("", (["task", "last", "best", "times scored"], rows)),))


def _losses(run: ReportRun, name: str) -> Iterator[Picture]:
    for place, (task, points) in enumerate(run.history.losses.items()):
        shown = thinned(points)
        alt = f"Loss of {task}: from {shown[0][1]:.3g} to {shown[-1][1]:.3g} in {points[-1][0]:,.0f} updates."
        yield Picture(f"{name}-loss-{place + 1}", charts.curve(shown, title=task, alt=alt, logarithmic=True), alt)


def _about(run: ReportRun) -> str:
    tasks = run.recipe.get("tasks")
    number = len(tasks) if isinstance(tasks, dict) else 0
    kind = f"{number} {'task' if number == 1 else 'tasks'}" if tasks is not None else "pre-training"
    share = f", {run.history.step:,} of {run.history.steps:,} updates" if run.history.steps else ""
    return f"{kind}, {run.history.state}{share}"


def _facts(run: ReportRun) -> tuple[list[str], list[tuple[str, ...]]]:
    recipe, history = run.recipe, run.history
    loop = recipe.get("loop") if isinstance(recipe.get("loop"), dict) else {}
    rows = [
        ("recipe", str(recipe.get("name", "?"))),
        ("about", " ".join(str(recipe.get("about") or "").split())),
        ("paper", f"{recipe['paper']}, table {recipe.get('table')}" if recipe.get("paper") else ""),
        ("regime", _named(recipe.get("regime"), "kind")),
        (
            "encoder",
            _named(
                (recipe.get("model") or {}).get("encoder") if isinstance(recipe.get("model"), dict) else None, "name"
            ),
        ),
        ("teacher", _named(recipe.get("distil"), "teacher")),
        ("seed", str(loop.get("seed", "")) if loop else ""),
        ("updates", f"{history.step:,} of {history.steps:,}" if history.steps else ""),
        ("tokens read", f"{history.tokens:,}" if history.tokens else ""),
        (
            "training time",
            f"{time_taken(history.seconds)}, started {history.begun} times"
            if history.begun > 1
            else time_taken(history.seconds)
            if history.seconds
            else "",
        ),
        ("machine", machine_line(run.machine)),
    ]
    return ["", ""], [row for row in rows if row[1]]


def _named(part: Any, key: str) -> str:
    """The name of a recipe's part, without the folders of a path."""
    if not isinstance(part, dict):
        return ""
    return re.split(r"[\\/]", str(part.get(key) or "").rstrip("\\/"))[-1]


def cost(given: Given) -> PageSection | None:
    """What the models cost."""
    rows = costs(given)
    if not rows:
        return None
    blocks: tuple[Block, ...] = (
        grid("", cost_table(rows)),
        Prose(
            "Parameters and sizes are those of the files given. Training time is the time of updates, without scoring. Words per second, latency "
            "(median, one text at a time) and memory come from biomux bench --json if its output is given; they hold for that machine.",
            note=True,
        ),
    )
    return PageSection("Cost", "cost", blocks)


def studies(given: Given) -> list[PageSection]:
    """One section per study: the content of its own page, with its drawings."""
    return [_study(study, f"study{place + 1}") for place, study in enumerate(given.studies)]


def _study(study: ReportStudy, name: str) -> PageSection:
    title = f"Study: {study.name}"
    if study.found is None:
        return PageSection(title, name, (Prose("The study is not finished: it has no report yet."),))
    from biomux.report import study_page, transfer_page

    try:
        page = (transfer_page if study.found.get("kind") == "transfer" else study_page).page(study.found)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ScoreError(
            "BX705",
            f"cannot read the study's report: {type(error).__name__} {error}",
            where=str(study.folder / "report.json"),
            hint="make it again with the command that made the study",
        ) from None
    folds = tuple(Fold(section.title, _renamed(section.blocks, name), open=True) for section in page.sections)
    return PageSection(title, name, (*([Prose(page.about)] if page.about else []), *folds, Prose(page.foot, note=True)))


def _renamed(blocks: tuple[Block, ...], name: str) -> tuple[Block, ...]:
    """The blocks, with drawings renamed so that no other part of the page has the same names."""
    renamed: list[Block] = []
    for block in blocks:
        if isinstance(block, Picture):
            block = replace(block, name=f"{name}-{block.name}")
        elif isinstance(block, Gallery):
            block = replace(
                block, pictures=tuple(replace(picture, name=f"{name}-{picture.name}") for picture in block.pictures)
            )
        elif isinstance(block, Fold):
            block = replace(block, blocks=_renamed(block.blocks, name))
        renamed.append(block)
    return tuple(renamed)
