"""What `biomux study` and `biomux transfer` have in common: how a study is shown, planned and ended."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from biomux.cli.ui.display import duration, note, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from biomux.recipes.schema import Recipe
    from biomux.report.blocks import Page
    from biomux.studies.estimate import Planned
    from biomux.studies.members import Member
    from biomux.studies.run import Outcome
    from biomux.studies.schema import Scoring

FAILED = 3
"""The exit code when a member failed: all else is there, and a script must still notice."""
QUICK_SEEDS = 2
"""Seeds of a study that is made quick."""


class Course:
    """How far a study is, and how long the rest may take: by the tokens of members that are like those to come, else by the mean."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = {member.name: member for member in members}
        self.done: dict[str, float] = {}
        self.missing: set[str] = set(self.members)

    def take(self, name: str, seconds: float) -> None:
        """A member is done, in so many seconds."""
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
                left = course.left()
                note(f"run {place}" + ("" if left is None else f"; about {duration(left)} left"))
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
    """Say how to go on after Ctrl-C."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        note("stopped; repeat the command to resume")
        raise


def show_plan(planned: Sequence[Planned]) -> None:
    """Print what a study would do, and how long it would take."""
    rows = [
        [
            one.member.name,
            "+".join(one.member.recipe.tasks),
            one.examples,
            one.steps,
            one.tokens,
            duration(one.seconds),
            duration(one.scoring),
            "done" if one.known else "",
        ]
        for one in planned
    ]
    table(["run", "tasks", "examples", "steps", "tokens", "training", "scoring", ""], rows, title="runs")
    waiting = [one for one in planned if not one.known]
    training, scoring = sum(one.seconds for one in waiting), sum(one.scoring for one in waiting)
    print(
        f"\n{len(planned)} runs, {len(planned) - len(waiting)} done; {sum(one.tokens for one in waiting):,} tokens to read; "
        f"estimated time: {duration(training)} of training and about {duration(scoring)} of scoring"
    )


def smaller(said: list[str]) -> Callable[[Recipe], Recipe]:
    """How `--quick` makes recipes small; what it changes is told once."""
    from biomux.recipes.quick import quick
    from biomux.training.encoders.availability import at_hand

    def small(recipe: Recipe) -> Recipe:
        made, changes = quick(recipe, at_hand=at_hand)
        if not said:
            said.extend(changes)
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


def failures(outcomes: Mapping[str, Outcome]) -> int:
    """Tell which members failed; how many."""
    failed = {name: one for name, one in outcomes.items() if one.state == "failed"}
    for name, one in failed.items():
        note(f"failed: {name}: {one.error}")
    if failed:
        note(f"{len(failed)} of {len(outcomes)} runs failed; the same command tries them again")
    return len(failed)
