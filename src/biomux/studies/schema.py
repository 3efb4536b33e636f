"""Recipes over recipes: the schema of studies and transfer studies. As strict as recipes, with the same errors.

A study trains systems (recipes with values set) at every point of a grid with every seed, and compares them. A transfer study trains each
task of a recipe alone and every two of them together, and asks which task helps which.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from biomux.errors import RecipeError, nearest
from biomux.recipes import read as recipes
from biomux.recipes.schema import Section

Seeds = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


class Scoring(Section):
    """Where members are scored, and how differences are tested. `tasks`: only these; `limit`: the maximum number of documents of each."""

    split: str = "devel"
    tasks: tuple[str, ...] | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    samples: Annotated[int, Field(ge=10)] = 10_000
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05


class ScoredColumn(Section):
    """A column of the table for which a head is scored on a corpus other than its own, on the types that this corpus annotates."""

    task: str
    corpus: str


class StudySystem(Section):
    """A system: its recipe, or several recipes whose tasks together are the system; by default the study's recipe.

    `set` changes values. `alone` trains each task of the recipe as a separate model, which together are the system; all hold out what the whole recipe holds out.
    `encoder_of` names another system, or `system.recipe` if that has several: this system starts with the encoder that the other one ended with, at the same point
    and with the same seed. `teacher_of` names a system that teaches this one: its run of the same seed, or of all seeds together (`teachers`).
    `seeds` are the system's own, if they differ from the study's: for instance five teachers of students with two seeds.
    `columns` scores heads instead of the recipe's tasks, each on its own corpus: one head for several types can appear in several columns.
    """

    recipe: str | tuple[str, ...] | None = None
    set: dict[str, Any] = Field(default_factory=dict)
    alone: bool = False
    encoder_of: str | None = None
    teacher_of: str | None = None
    teachers: Literal["same-seed", "all-seeds"] = "same-seed"
    seeds: Seeds | None = None
    columns: dict[str, ScoredColumn] = Field(default_factory=dict)


class Study(Section):
    """Systems, a grid of values and seeds. The first system is the one that the others are tested against.

    `set` puts values in all recipes; `grid` gives paths in the recipe their values, and every combination is a point. `keep` says what stays of
    a run when it is scored: "all", "model" (no checkpoint to resume from, no cache), or "scores" (no weights either).
    """

    name: str
    about: str = ""
    paper: str | None = None
    table: str | None = None
    recipe: str | None = None
    set: dict[str, Any] = Field(default_factory=dict)
    systems: dict[str, StudySystem] = Field(default_factory=dict)
    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(default_factory=dict)
    seeds: Seeds = (1,)
    score: Scoring = Scoring()
    keep: Literal["all", "model", "scores"] = "model"

    @model_validator(mode="after")
    def _systems_have_recipes(self) -> Self:
        if not self.systems and self.recipe is None:
            raise ValueError("recipe: name one, or give every system its own")
        before: list[str] = []
        for name, system in self.systems.items():
            if system.recipe is None and self.recipe is None:
                raise ValueError(f"systems → {name} → recipe: field required, since the study names none")
            for key in ("encoder_of", "teacher_of"):
                reference = getattr(system, key)
                origin = (reference or "").partition(".")[0]
                if reference is not None and origin not in before:
                    raise ValueError(f"systems → {name} → {key}: there is no system {origin!r} before it")
            before.append(name)
        for where, seeds in (
            ("", self.seeds),
            *((f"systems → {name} → ", system.seeds) for name, system in self.systems.items()),
        ):
            if seeds is not None and len(set(seeds)) < len(seeds):
                raise ValueError(f"{where}seeds: each may be named only once")
        return self


class Transfer(Section):
    """A recipe whose tasks are trained alone and in pairs; `tasks`: only these of them. The rest is as in a study.

    `examples` is the number of training examples of each task that its vector on the map is made of; 0 draws no map.
    """

    name: str
    about: str = ""
    paper: str | None = None
    table: str | None = None
    recipe: str
    tasks: tuple[str, ...] | None = None
    set: dict[str, Any] = Field(default_factory=dict)
    seeds: Seeds = (1,)
    score: Scoring = Scoring()
    keep: Literal["all", "model", "scores"] = "model"
    examples: Annotated[int, Field(ge=0)] = 100


def read_study(name: str) -> tuple[Study, Path | None]:
    """The study of a file or of a name such as `d/learning-curve`, and the folder that its recipes may be in."""
    text, where, place = source(name, "studies")
    raw = recipes.mapping(
        text, where=where, what="a study must be a mapping with the keys name, recipe, systems, grid, seeds"
    )
    return recipes.checked(Study, raw, where=where, hint="see docs/how-to/studies.md"), place


def read_transfer(name: str) -> tuple[Transfer, Path | None]:
    """The transfer study of a file or a name; a recipe's file or name is one as well: all its tasks, one seed."""
    path = Path(name)
    if not path.is_file() and name not in names("transfers"):
        if name in recipes.names():
            return Transfer(name=f"{name.replace('/', '-')}-transfer", recipe=name), None
        raise _unknown(name, [*names("transfers"), *recipes.names()], "transfer study or recipe")
    text, where, place = source(name, "transfers")
    raw = recipes.mapping(
        text, where=where, what="a transfer study must be a mapping with the keys name, recipe, tasks, seeds"
    )
    if "model" in raw:
        recipe = recipes.check(raw, where=where)
        return Transfer(name=f"{recipe.name}-transfer", recipe=str(path)), None
    return recipes.checked(Transfer, raw, where=where, hint="see docs/how-to/studies.md"), place


def names(kind: Literal["studies", "transfers"]) -> list[str]:
    """The studies, or transfer studies, that come with Biomux."""
    return recipes.names(kind)


def source(name: str, kind: Literal["studies", "transfers"]) -> tuple[str, str, Path | None]:
    """The text of a study, its path, and the folder that its recipes may be in."""
    path = Path(name)
    if path.is_file():
        return *recipes.source(name), path.parent
    if name not in names(kind):
        raise _unknown(name, names(kind), "study")
    return resources.files("biomux.recipes").joinpath(f"{kind}/{name}.yaml").read_text(encoding="utf-8"), name, None


def _unknown(name: str, choices: list[str], noun: str) -> RecipeError:
    suggestion = nearest(name, choices)
    hint = f"did you mean {suggestion!r}?" if suggestion else f"give a file, or one of: {', '.join(choices)}"
    return RecipeError("BX303", f"unknown {noun} {name!r}", hint=hint)
