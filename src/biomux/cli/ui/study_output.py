"""What `biomux study` and `biomux transfer` have in common: how a study is planned, run, shown and ended."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import typer

from biomux.cli.ui.display import duration, note, table
from biomux.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from biomux.recipes.schema import Recipe
    from biomux.report.blocks import Page
    from biomux.studies.estimate import Planned
    from biomux.studies.members import Member
    from biomux.studies.run import Outcome
    from biomux.studies.schema import Scoring, Study, Transfer

FAILED = 3
"""The exit code when a run failed: everything else is there, and a script must still notice."""
QUICK_SEEDS = 2
"""Seeds of a study with --quick."""


class MembersOf(Protocol):
    """Makes the runs of a study; `small` makes their recipes quick, `folder` is where the study goes."""

    def __call__(self, *, small: Callable[[Recipe], Recipe] | None, folder: Path) -> Sequence[Member]: ...


@dataclass(frozen=True)
class StudyOptions:
    """What both commands are asked for on the command line."""

    output: Path | None
    settings: Sequence[str]
    split: str | None
    corpora: Path | None
    quick: bool
    dry_run: bool


@dataclass(frozen=True)
class FinishedStudy:
    """A study whose runs have all been tried."""

    folder: Path
    members: Sequence[Member]
    outcomes: Mapping[str, Outcome]

    @property
    def done(self) -> list[Member]:
        """The runs that did not fail."""
        return [member for member in self.members if self.outcomes[member.name].state == "done"]

    def end(self) -> None:
        """Print the folder, and exit with 3 if a run failed."""
        print(self.folder)
        if failures(self.outcomes):
            raise typer.Exit(FAILED)


def run_or_plan(
    kind: Literal["study", "transfer"], study: Study | Transfer, options: StudyOptions, members_of: MembersOf
) -> FinishedStudy | None:
    """Run all that a study consists of; with --dry-run only show what that would be, and return None."""
    from biomux.cli.ui.training_output import needs_torch

    scoring = scoring_of(study.score, options.split)
    with needs_torch():
        from biomux.studies import run as studies
    name = f"{study.name}-quick" if options.quick else study.name
    folder = options.output or Path("studies") / name
    changes: list[str] = []
    members = members_of(small=smaller(changes) if options.quick else None, folder=folder)
    for change in changes:
        note(f"quick: {change}")
    if options.dry_run:
        from biomux.studies.estimate import plan

        studies.check(members, folder, scoring=scoring, directory=options.corpora)
        planned = plan(
            members,
            scoring=scoring,
            folder=folder,
            directory=options.corpora,
            listen=lambda member: note(f"measuring {member}"),
        )
        show_plan(planned)
        return None
    described = {**study.model_dump(mode="json"), "name": name, "settings": list(options.settings)}
    with stoppable(), followed(members) as listen:
        outcomes = studies.run_study(
            described,
            members,
            folder,
            kind=kind,
            scoring=scoring,
            keep=study.keep,
            directory=options.corpora,
            listen=listen,
        )
    return FinishedStudy(folder, members, outcomes)


def chosen_seeds(option: str | None, seeds: tuple[int, ...], *, quick: bool) -> tuple[int, ...]:
    """The seeds of `--seeds 1,2,3`, or those of the study."""
    if option is None:
        return seeds[:QUICK_SEEDS] if quick else seeds
    try:
        chosen = tuple(int(seed) for seed in option.split(","))
    except ValueError:
        chosen = ()
    if not chosen or len(set(chosen)) < len(chosen) or min(chosen) < 0:
        raise UsageError("BX001", f"--seeds must be whole numbers such as 1,2,3, got {option!r}")
    return chosen


class Course:
    """How far a study is, and how long the rest may take, judged by finished runs that are similar."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = {member.name: member for member in members}
        self.done: dict[str, float] = {}
        self.missing: set[str] = set(self.members)

    def take(self, name: str, seconds: float) -> None:
        """A run has finished, in this many seconds."""
        self.missing.discard(name)
        self.done[name] = seconds

    def left(self) -> float | None:
        """Seconds of all members that are still to come; None before one is done."""
        if not self.done:
            return None
        usual = sum(self.done.values()) / len(self.done)
        return sum(self._like(self.members[name], usual) for name in self.missing)

    def _like(self, member: Member, usual: float) -> float:
        """The time of a member: of the same system and point with another seed, of its tasks one by one, or of any."""
        same = [
            seconds
            for name, seconds in self.done.items()
            if (self.members[name].system, self.members[name].part, self.members[name].point)
            == (member.system, member.part, member.point)
        ]
        if same:
            return sum(same) / len(same)
        singles = {
            next(iter(self.members[name].recipe.tasks)): seconds
            for name, seconds in self.done.items()
            if len(self.members[name].recipe.tasks) == 1
        }
        if len(member.recipe.tasks) > 1 and not member.point and all(name in singles for name in member.recipe.tasks):
            return sum(singles[name] for name in member.recipe.tasks)
        return usual


@contextmanager
def followed(members: Sequence[Member]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show the events of a study and of its runs."""
    from biomux.cli.ui.training_output import shown

    course = Course(members)
    with ExitStack() as stack:
        shows: list[Callable[[dict[str, Any]], None]] = []

        def listen(event: dict[str, Any]) -> None:
            if event["event"] != "member":
                for show in shows:
                    show(event)
                return
            stack.close()  # each run is shown by itself: its steps and its time left are its own
            shows.clear()
            place = f"{event['number']} of {event['of']}: {event['name']}"
            if event["state"] == "begun":
                seconds_left = course.left()
                note(f"run {place}" + ("" if seconds_left is None else f"; about {duration(seconds_left)} left"))
                shows.append(stack.enter_context(shown()))
            elif event["state"] == "done":
                course.take(event["name"], event["seconds"])
                note(f"done {place}, {duration(event['seconds'])}")
            else:
                course.missing.discard(event["name"])
                note(f"failed {place}: {event['error']}")

        yield listen


@contextmanager
def stoppable() -> Iterator[None]:
    """Say how to resume after Ctrl-C."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        note("stopped; repeat the command to resume")
        raise


def show_plan(planned: Sequence[Planned]) -> None:
    """Print what a study would do, and how long it would take."""
    rows = [
        [
            run.member.name,
            "+".join(run.member.recipe.tasks),
            run.examples,
            run.steps,
            run.tokens,
            duration(run.seconds),
            duration(run.scoring),
            "done" if run.known else "",
        ]
        for run in planned
    ]
    table(["run", "tasks", "examples", "steps", "tokens", "training", "scoring", ""], rows, title="runs")
    waiting = [run for run in planned if not run.known]
    training, scoring = sum(run.seconds for run in waiting), sum(run.scoring for run in waiting)
    print(
        f"\n{len(planned)} runs, {len(planned) - len(waiting)} done; {sum(run.tokens for run in waiting):,} tokens to read; "
        f"estimated time: {duration(training)} of training and about {duration(scoring)} of scoring"
    )


def smaller(changes: list[str]) -> Callable[[Recipe], Recipe]:
    """How `--quick` makes recipes small. What it changed in the first one is added to `changes`."""
    from biomux.recipes.quick import quick
    from biomux.training.encoders.availability import at_hand

    def small(recipe: Recipe) -> Recipe:
        made, changed = quick(recipe, at_hand=at_hand)
        if not changes:
            changes.extend(changed)
        return made

    return small


def scoring_of(scoring: Scoring, split: str | None) -> Scoring:
    """The study's scoring, with the split of the command line."""
    return scoring if split is None else scoring.model_copy(update={"split": split})


def write_report(folder: Path, content: Mapping[str, Any], page: Page) -> None:
    """Write report.json, report.md and report.html, and the drawings beside them."""
    from biomux.formats import target
    from biomux.report.page_html import html
    from biomux.report.page_markdown import FIGURES, markdown

    (folder / FIGURES).mkdir(exist_ok=True)
    written = {f"{FIGURES}/{picture.name}.svg": picture.svg for picture in page.pictures()}
    written |= {"report.md": markdown(page), "report.html": html(page)}
    written["report.json"] = json.dumps({**content, "figures": sorted(written)}, ensure_ascii=False, indent=1) + "\n"
    for name, text in written.items():
        with target(folder / name) as stream:
            stream.write(text.encode())


def show_tables(page: Page) -> None:
    """Print the tables of a report."""
    from biomux.report.blocks import Grid

    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Grid):
                table(block.columns, block.rows, title=block.title or section.title)
                print(f"{block.below}\n" if block.below else "")


def failures(outcomes: Mapping[str, Outcome]) -> int:
    """Report which runs failed, and return how many."""
    failed = {name: outcome for name, outcome in outcomes.items() if outcome.state == "failed"}
    for name, outcome in failed.items():
        note(f"failed: {name}: {outcome.error}")
    if failed:
        note(f"{len(failed)} of {len(outcomes)} runs failed; the same command tries them again")
    return len(failed)
