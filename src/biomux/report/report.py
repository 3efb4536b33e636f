"""A report of runs, scores, studies and measurements: one page as HTML and as Markdown.

>>> from pathlib import Path
>>> report(read(["runs/first", "scores/first"]))  # doctest: +SKIP
Page(title='Report: first', ...)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from biomux import __version__
from biomux.errors import UsageError
from biomux.evaluation.compare import ComparedSystem, systems_of
from biomux.evaluation.negative_transfer import contrasts
from biomux.report import run_sections, score_sections
from biomux.report.blocks import Page, PageSection
from biomux.report.page_html import html
from biomux.report.page_markdown import FIGURES, markdown
from biomux.report.report_inputs import Given, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from biomux.evaluation.negative_transfer import Contrast

__all__ = ["make", "read", "report", "write"]


def make(
    arguments: Sequence[str],
    *,
    baselines: Sequence[str] = (),
    title: str | None = None,
    examples: int = 2,
    samples: int = 1000,
    seed: int = 0,
    alpha: float = 0.05,
) -> tuple[Page, list[Contrast]]:
    """The page of everything named by PATH or LABEL=PATH, and the contrasts that show negative transfer.

    `baselines` are scores (or runs) of models that learned a task alone. Raises `UsageError` for a path of unknown kind, and
    the error of its own kind (`ScoreError`, `TrainingError`, `BundleError`) for a broken one.
    """
    if not arguments:
        raise UsageError("BX001", "nothing to report on", hint="name runs, scores, studies or bundles")
    inputs = read(arguments)
    found_contrasts: list[Contrast] = []
    if baselines:
        models = systems_of([argument for argument, _ in inputs.scores]) or _runs(inputs)
        if not models:
            raise UsageError(
                "BX001", "cannot compare with baselines: no scores were given", hint="also name scores or runs"
            )
        alone = systems_of(baselines)
        found_contrasts = contrasts(models, alone, samples=samples, seed=seed, alpha=alpha)
    return report(
        inputs, found=found_contrasts, title=title, examples=examples, samples=samples, seed=seed, alpha=alpha
    ), found_contrasts


def report(
    given: Given,
    *,
    found: Sequence[Contrast] = (),
    title: str | None = None,
    examples: int = 2,
    samples: int = 1000,
    seed: int = 0,
    alpha: float = 0.05,
) -> Page:
    """The page: one section for each subject that the inputs cover."""
    scored = [scores for _, scores in given.scores]
    systems = systems_of([argument for argument, _ in given.scores])

    def compared(these: Sequence[ComparedSystem], heading: str, anchor: str) -> PageSection | None:
        return score_sections.comparison(these, title=heading, anchor=anchor, samples=samples, seed=seed, alpha=alpha)

    sections: list[PageSection | None] = [
        score_sections.glance(scored, found) if scored or found else None,
        score_sections.alarms(found),
        score_sections.papers(scored),
        compared(systems, "Systems compared", "compared"),
        *score_sections.scores(scored),
        *score_sections.mistakes(scored, examples=examples),
        *score_sections.trust(scored),
        run_sections.training(given),
        compared(_runs(given), "Runs compared, by development scores", "runs"),
        run_sections.cost(given),
        *run_sections.studies(given),
    ]
    names = _names(given)
    return Page(
        title or f"Report: {', '.join(names[:3])}{' and others' if len(names) > 3 else ''}",
        f"Made by Biomux {__version__} from {_and(_parts(given))}. Figures are in percent unless stated otherwise.",
        tuple(section for section in sections if section is not None),
        "report.html needs no other file and no script; report.md and its figures say the same.",
    )


FILES = ("report.html", "report.md", f"{FIGURES}/*.svg")
"""What `write` makes, as patterns."""


def write(page: Page, folder: Path) -> None:
    """Write report.html (which needs no other file), report.md and figures/*.svg."""
    (folder / "report.html").write_text(html(page), encoding="utf-8", errors="backslashreplace")
    (folder / "report.md").write_text(markdown(page), encoding="utf-8", errors="backslashreplace")
    pictures = page.pictures()
    if pictures:
        (folder / FIGURES).mkdir()
    for picture in pictures:
        path = folder / FIGURES / f"{picture.name}.svg"
        path.write_text(picture.svg, encoding="utf-8", errors="backslashreplace")


def _runs(inputs: Given) -> list[ComparedSystem]:
    return [ComparedSystem(run.name, (run.scores,)) for run in inputs.runs if run.scores is not None]


def _names(inputs: Given) -> list[str]:
    names = [
        *(item.system for _, item in inputs.scores),
        *(item.name for part in (inputs.runs, inputs.studies, inputs.bundles, inputs.benches) for item in part),
    ]
    return list(dict.fromkeys(names))


def _parts(inputs: Given) -> list[str]:
    kinds = (
        (len(inputs.scores), "folder of scores", "folders of scores"),
        (len(inputs.runs), "run", "runs"),
        (len(inputs.studies), "study", "studies"),
        (len(inputs.bundles), "bundle", "bundles"),
        (len(inputs.benches), "measurement", "measurements"),
    )
    return [f"{number} {singular if number == 1 else plural}" for number, singular, plural in kinds if number]


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
