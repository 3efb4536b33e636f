"""The members of a study: the recipes that it trains, one for each system, point and seed."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux.corpora import catalogue, own, view
from biomux.errors import CorpusError, RecipeError, did_you_mean
from biomux.recipes import read as recipes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from biomux.recipes.schema import Recipe, TaskSettings
    from biomux.studies.schema import ScoredColumn, Study, StudySystem, Transfer

Point = tuple[tuple[str, Any], ...]
LONGEST = 24
"""The longest value that is written into a member's name; for longer ones, their number in the grid is used."""


@dataclass(frozen=True, slots=True)
class Member:
    """One run of a study. `part` is the recipe's or task's name where a system has several; `after` are the members whose encoder or answers it needs.

    `columns` are heads that are scored on other corpora than their own, in place of the recipe's tasks.
    """

    name: str
    system: str
    recipe: Recipe
    seed: int
    point: Point = ()
    part: str = ""
    after: tuple[str, ...] = ()
    columns: Mapping[str, ScoredColumn] = field(default_factory=dict)

    @property
    def scored(self) -> dict[str, tuple[str, TaskSettings]]:
        """For each column of the table the task that is scored for it, and the settings by which its documents are read."""
        tasks = self.recipe.tasks
        if not self.columns:
            return {name: (name, task) for name, task in tasks.items() if task.scored}
        alone: dict[str, Any] = {"also": (), "join": "common", "types": None, "rename": {}}
        return {
            name: (column.task, tasks[column.task].model_copy(update={"corpus": column.corpus, **alone}))
            for name, column in self.columns.items()
        }

    def to_json(self) -> dict[str, Any]:
        """What the study's manifest says about it, besides its outcome."""
        corpora = {name: task.corpus for name, (_, task) in self.scored.items()}
        kinds = {name: task.kind for name, (_, task) in self.scored.items()}
        return {
            "name": self.name,
            "system": self.system,
            "part": self.part,
            "point": dict(self.point),
            "seed": self.seed,
            "run": f"runs/{self.name}",
            "tasks": corpora,
            "kinds": kinds,
        }


def of_study(
    study: Study,
    *,
    place: Path | None = None,
    settings: Sequence[str] = (),
    small: Callable[[Recipe], Recipe] | None = None,
    folder: Path | None = None,
) -> list[Member]:
    """The members in training order: seed by seed, so that an unfinished study has whole seeds. Teachers of which all seeds are needed come first.

    `place` is the folder of the study's own recipes, `small` makes recipes quick, `folder` is the study's, where the encoders of other members are.
    """
    from biomux.studies.schema import StudySystem

    systems = study.systems or {study.recipe or study.name: StudySystem()}
    changes = [recipes.parsed(setting) for setting in settings]
    axes = _labels(study.grid)
    members: dict[str, Member] = {}
    seeds = dict.fromkeys([*study.seeds, *(seed for system in systems.values() for seed in system.seeds or ())])
    for seed in seeds:
        for values in product(*study.grid.values()):
            point = tuple(zip(axes, values, strict=True))
            chosen = dict(zip(study.grid, values, strict=True))
            for name, system in systems.items():
                if seed not in (system.seeds or study.seeds):
                    continue
                overrides = {**study.set, **system.set, **chosen, **dict(changes), "loop.seed": seed}
                if system.teacher_of is not None:
                    overrides["teacher.models"] = [system.teacher_of]  # until its run has a name
                where = f"study {study.name!r} → {name}"
                for part, recipe in _recipes(study, system, overrides, place, where=where):
                    recipe = small(recipe) if small else recipe
                    member_name = _name(name, part, point, study.grid, seed)
                    member = Member(member_name, name, recipe, seed, point, part, columns=system.columns)
                    _columns_exist(member, where=where)
                    if system.encoder_of is not None:
                        member = _begun(member, system.encoder_of, members, folder)
                    if member.name in members:
                        raise RecipeError(
                            "BX305", f"two members have the name {member.name!r}", where=f"study {study.name!r}"
                        )
                    members[member.name] = member
    first = {system.teacher_of for system in systems.values() if system.teachers == "all-seeds"}
    ordered = sorted(members.values(), key=lambda member: member.system not in first)
    taught = [_taught(member, systems[member.system], ordered, folder) for member in ordered]
    _must_have(study.score.tasks, taught, where=f"study {study.name!r}")
    return taught


def of_transfer(
    transfer: Transfer,
    *,
    place: Path | None = None,
    settings: Sequence[str] = (),
    small: Callable[[Recipe], Recipe] | None = None,
) -> list[Member]:
    """Each task alone, then every two together, seed by seed. All hold out the same documents: what one task is scored on, none is trained on."""
    where = f"transfer study {transfer.name!r}"
    members: list[Member] = []
    for seed in transfer.seeds:
        overrides = {**transfer.set, **dict(map(recipes.parsed, settings)), "loop.seed": seed}
        full_recipe = _recipe(transfer.recipe, overrides, place, where=where)
        full_recipe = small(full_recipe) if small else full_recipe
        tasks = transfer.tasks or tuple(full_recipe.tasks)
        unknown = [name for name in tasks if name not in full_recipe.tasks]
        if unknown or len(set(tasks)) < 2:
            message = (
                f"the recipe has no task {unknown[0]!r}" if unknown else "a transfer study needs at least two tasks"
            )
            raise RecipeError(
                "BX305",
                message,
                where=f"{where} → tasks",
                hint=did_you_mean(unknown[0] if unknown else "", full_recipe.tasks),
            )
        held_out = tuple(dict.fromkeys(_corpora(full_recipe, tasks)))
        for names in [*((name,) for name in tasks), *combinations(tasks, 2)]:
            recipe = _only(full_recipe, names, held_out, where=where)
            system = " + ".join(names)
            members.append(Member(_name("+".join(names), "", (), {}, seed), system, recipe, seed))
    _must_have(transfer.score.tasks, members, where=where)
    return members


def _recipes(
    study: Study, system: StudySystem, overrides: Mapping[str, Any], place: Path | None, *, where: str
) -> Iterator[tuple[str, Recipe]]:
    """The recipes of a system with its values, each with the short name of its part where there are several."""
    for part, source in _parts(study, system):
        recipe = _recipe(source, overrides, place, where=where)
        if not system.alone:
            yield part, recipe
            continue
        held_out = tuple(dict.fromkeys((*_corpora(recipe, recipe.tasks), *recipe.hold_out)))
        for task in recipe.tasks:
            yield task, _only(recipe, [task], held_out, where=where)


def _corpora(recipe: Recipe, names: Iterable[str]) -> list[str]:
    """The corpora of these tasks, without the brackets of views."""
    tasks = [recipe.tasks[name] for name in names]
    return [_base(corpus) for task in tasks for corpus in (task.corpus, *task.also)]


def _parts(study: Study, system: StudySystem) -> Iterator[tuple[str, str]]:
    """The recipes of a system, each with its short name where there are several."""
    source = system.recipe or study.recipe or ""
    if isinstance(source, str):
        yield "", source
        return
    for recipe in source:
        yield Path(recipe).stem, recipe


def _recipe(source: str, overrides: Mapping[str, Any], place: Path | None, *, where: str) -> Recipe:
    beside = place / source if place is not None else None
    raw, where_found = recipes.plain(str(beside) if beside is not None and beside.is_file() else source)
    raw = copy.deepcopy(raw)
    for path, value in overrides.items():
        recipes.put(raw, path, value)
    return recipes.check(raw, where=f"{where}: {where_found}")


def _parts_held(recipe: Recipe) -> tuple[str, ...]:
    """The parts that all of a recipe's models hold out of every corpus: without the development parts if all tasks are trained on them."""
    return tuple(part for part in ("devel", "test") if any(part not in task.train for task in recipe.tasks.values()))


def _only(recipe: Recipe, names: Sequence[str], held_out: tuple[str, ...], *, where: str) -> Recipe:
    """The recipe with these tasks alone. An auxiliary task without the task that it is derived from makes its own examples."""
    tasks = {name: recipe.tasks[name] for name in names}
    for name, task in tasks.items():
        if task.of is not None and task.of not in tasks:
            tasks[name] = task.model_copy(update={"of": None})
    settings = dict(recipe.regime.settings)
    for key in ("weights", "boost"):
        if isinstance(settings.get(key), dict):
            settings[key] = {name: value for name, value in settings[key].items() if name in tasks}
    kind = recipe.regime.kind
    if kind == "single" and len(names) > 1:
        raise RecipeError(
            "BX305",
            "the regime 'single' trains one task, but a transfer study trains two together",
            where=where,
            hint="set regime.kind=mixed",
        )
    parts = tuple(part for part in recipe.hold_out_parts if part in _parts_held(recipe)) or ("test",)
    regime = recipe.regime.model_copy(update={"settings": settings})
    changed = recipe.model_copy(
        update={"tasks": tasks, "regime": regime, "types": {}, "hold_out": held_out, "hold_out_parts": parts}
    )
    return recipes.check(changed.model_dump(mode="json"), where=where)


def _columns_exist(member: Member, *, where: str) -> None:
    for name, column in member.columns.items():
        if column.task not in member.recipe.tasks:
            raise RecipeError(
                "BX305",
                f"the recipe has no task {column.task!r}",
                where=f"{where} → columns → {name}",
                hint=did_you_mean(column.task, member.recipe.tasks),
            )
        try:
            base, _ = view.parse(column.corpus)
            if own.of_spec(base) is None:
                catalogue.card(base)
        except CorpusError as error:
            raise RecipeError(
                error.code, error.message, where=f"{where} → columns → {name} → corpus", hint=error.hint
            ) from None


def _begun(member: Member, origin: str, members: Mapping[str, Member], folder: Path | None) -> Member:
    """The member with the encoder of another member, one that was made before it."""
    system, _, part = origin.partition(".")
    origins = [
        candidate
        for candidate in members.values()
        if (candidate.system, candidate.point, candidate.seed) == (system, member.point, member.seed)
        and part in ("", candidate.part)
    ]
    if len(origins) != 1:
        names = sorted({f"{candidate.system}.{candidate.part}".rstrip(".") for candidate in members.values()})
        raise RecipeError(
            "BX305",
            f"encoder_of must name exactly one member, got {origin!r}",
            where=f"systems → {member.system} → encoder_of",
            hint=f"{system!r} has no seed {member.seed}: give both the same seeds"
            if member.seed not in {candidate.seed for candidate in members.values() if candidate.system == system}
            else did_you_mean(origin, names),
        )
    run = str((folder or Path()) / "runs" / origins[0].name)
    encoder = member.recipe.model.encoder.model_copy(update={"run": run})
    model = member.recipe.model.model_copy(update={"encoder": encoder})
    recipe = member.recipe.model_copy(update={"model": model})
    return replace(member, recipe=recipe, after=(origins[0].name,))


def _taught(member: Member, system: StudySystem, members: Sequence[Member], folder: Path | None) -> Member:
    """The member with its teachers, if it has any: those of its seed, or of all."""
    if system.teacher_of is None:
        return member
    name, _, part = system.teacher_of.partition(".")
    teachers = [
        candidate
        for candidate in members
        if (candidate.system, candidate.point) == (name, member.point)
        and part in ("", candidate.part)
        and (system.teachers == "all-seeds" or candidate.seed == member.seed)
        and (not candidate.part or part or candidate.part == member.part)
    ]
    if not teachers:
        raise RecipeError(
            "BX305",
            f"teacher_of must name a system that has the same points and parts, got {system.teacher_of!r}",
            where=f"systems → {member.system} → teacher_of",
            hint=f"{name!r} has no seed {member.seed}: give both the same seeds, or set teachers: all-seeds"
            if system.teachers == "same-seed"
            and member.seed not in {candidate.seed for candidate in members if candidate.system == name}
            else did_you_mean(system.teacher_of, {candidate.system for candidate in members}),
        )
    runs = [str((folder or Path()) / "runs" / candidate.name) for candidate in teachers]
    raw = member.recipe.model_dump(mode="json")
    raw["teacher"] = {**(raw["teacher"] or {}), "models": runs}
    recipe = recipes.check(raw, where=f"systems → {member.system}")
    return replace(member, recipe=recipe, after=(*member.after, *(candidate.name for candidate in teachers)))


def _labels(grid: Iterable[str]) -> list[str]:
    """A short name for each path: its last part, or the whole path if that is ambiguous."""
    paths = list(grid)
    last = [path.rpartition(".")[2] for path in paths]
    return [path if last.count(short) > 1 else short for path, short in zip(paths, last, strict=True)]


def _name(system: str, part: str, point: Point, grid: Mapping[str, tuple[Any, ...]], seed: int) -> str:
    pieces = [system, part]
    for (label, value), values in zip(point, grid.values(), strict=True):
        shown = plain(str(value))
        pieces.append(f"{label}-{shown if len(shown) <= LONGEST else values.index(value) + 1}")
    return ".".join(plain(piece) for piece in [*pieces, f"seed-{seed}"] if piece)


def plain(text: str) -> str:
    """Text as a folder's name.

    >>> plain("bc5cdr+ncbi disease")
    'bc5cdr+ncbi-disease'
    """
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or "x"


def _base(corpus: str) -> str:
    return corpus.partition("[")[0]


def _must_have(tasks: Sequence[str] | None, members: Iterable[Member], *, where: str) -> None:
    task_names = dict.fromkeys(name for member in members for name in member.scored)
    for name in tasks or ():
        if name not in task_names:
            raise RecipeError(
                "BX305",
                f"no member has the task {name!r}",
                where=f"{where} → score → tasks",
                hint=did_you_mean(name, task_names),
            )
