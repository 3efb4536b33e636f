"""How long a study would take: one member of each kind is measured for a few seconds, and the others follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from biomux.corpora import catalogue, own, view
from biomux.studies.run import finished
from biomux.training.task_documents import corpora_of
from biomux.training.time_estimate import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from biomux.recipes.schema import Recipe
    from biomux.studies.members import Member
    from biomux.studies.schema import Scoring

MEASURE = 4.0
"""Seconds that each kind of member is measured for."""
FASTER = 3.0
"""Roughly how much faster inference is than training."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a member would cost. `steps` and `tokens` are totals over all epochs; `known` says whether it is done already."""

    member: Member
    examples: int
    steps: int
    tokens: int
    seconds: float
    scoring: float
    known: bool


def plan(
    members: Sequence[Member],
    *,
    scoring: Scoring,
    folder: Path,
    directory: Path | None = None,
    listen: Callable[[str], None] = lambda _: None,
) -> list[Planned]:
    """The members with their costs. Those that differ in their seed alone are measured once; a pair of tasks costs what both cost alone."""
    estimates: dict[str, Estimate] = {}
    planned: list[Planned] = []
    alone = {frozenset(single.recipe.tasks): single for single in reversed(members) if len(single.recipe.tasks) == 1}
    for member in members:
        names = frozenset(member.recipe.tasks)
        singles = [alone.get(frozenset({name})) for name in names] if len(names) == 2 and not member.point else []
        costs = [single for single in singles if single is not None and _pairs(single, member)]
        parts = costs if len(costs) == 2 else [member]
        measured = []
        for part in parts:
            key = _key(part.recipe)
            if key not in estimates:
                listen(part.name)
                estimates[key] = estimate(_measurable(part.recipe), directory=directory, measure=MEASURE)
            measured.append((part, estimates[key]))
        planned.append(
            Planned(
                member,
                sum(number for _, cost in measured for number, _ in cost.sizes.values()),
                sum(steps for _, cost in measured for steps, _ in cost.epochs),
                sum(tokens for _, cost in measured for _, tokens in cost.epochs),
                sum(cost.seconds for _, cost in measured),
                sum(cost.scoring + _held(part.recipe, cost, scoring) for part, cost in measured),
                finished(member, folder, split=scoring.split),
            )
        )
    return planned


def _measurable(recipe: Recipe) -> Recipe:
    """The recipe with an encoder that can be loaded before the study has run: the one that the other run itself starts from."""
    if recipe.model.encoder.run is None:
        return recipe
    encoder = recipe.model.encoder.model_copy(update={"run": None})
    return recipe.model_copy(update={"model": recipe.model.model_copy(update={"encoder": encoder})})


def _pairs(single: Member, pair: Member) -> bool:
    """Whether a single and a pair belong to the same transfer study."""
    name = next(iter(single.recipe.tasks))
    return single.recipe.hold_out == pair.recipe.hold_out != () and name in pair.recipe.tasks


def _key(recipe: Recipe) -> str:
    without_seed = _measurable(recipe).model_copy(update={"loop": recipe.loop.model_copy(update={"seed": 0})})
    return str(sorted(without_seed.training().items()))


def _held(recipe: Recipe, cost: Estimate, scoring: Scoring) -> float:
    """Seconds to score a split that training does not score, by the number of documents on its card."""
    if scoring.split == recipe.development.split:
        return 0.0
    total = 0.0
    for name, task in recipe.tasks.items():
        if scoring.tasks is not None and name not in scoring.tasks:
            continue
        documents = cost.counts[name]["documents"] if name in cost.counts else 0
        tokens = cost.sizes.get(name, (0, 0))[1]
        name = view.parse(corpora_of(task)[0])[0]
        card = None if own.of_spec(name) else catalogue.card(name).splits.get(scoring.split)
        number = (card.counts.documents or 0) if card else 0
        for most in (recipe.documents, scoring.limit):
            number = min(number, most) if most else number
        total += number * tokens / max(documents, 1) / (FASTER * cost.speed)
    return total
