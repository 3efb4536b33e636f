"""Read a recipe from a file or from those that come with Biomux, with values set from outside."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from biomux.corpora import catalogue, view
from biomux.errors import RecipeError, nearest
from biomux.recipes.schema import Recipe
from biomux.validation import mistakes, yaml_mistake

if TYPE_CHECKING:
    from collections.abc import Sequence

Found = TypeVar("Found", bound=BaseModel)


def read(name: str, *, settings: Sequence[str] = ()) -> Recipe:
    """Read the recipe of a path or a name such as `a/mtl`, with `settings` such as `loop.epochs=2` applied."""
    raw, where = plain(name)
    for setting in settings:
        put(raw, *parsed(setting))
    return check(raw, where=where)


def plain(name: str) -> tuple[dict[str, Any], str]:
    """The content of a recipe, unchecked, and its path."""
    text, where = source(name)
    return mapping(
        text, where=where, what="a recipe must be a mapping with the keys name, tasks, model, regime, loop"
    ), where


def mapping(text: str, *, where: str, what: str) -> dict[str, Any]:
    """Parse YAML text that must be a mapping; `what` is the message if it is not."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RecipeError(
            "BX301", f"not valid YAML: {yaml_mistake(error)}", where=where, hint="check the indentation"
        ) from None
    if not isinstance(raw, dict):
        raise RecipeError("BX301", what, where=where)
    return raw


def check(raw: dict[str, Any], *, where: str) -> Recipe:
    """A recipe from plain data; every mistake is named at once, each with its path."""
    return checked(Recipe, raw, where=where, hint="see docs/reference/recipes.md")


def checked(part: type[Found], raw: dict[str, Any], *, where: str, hint: str) -> Found:
    """Plain data as a model, or an error that names every mistake."""
    try:
        return part.model_validate(raw)
    except ValidationError as error:
        message = "; ".join(mistakes(error, part))
        raise RecipeError("BX302", message, where=where, hint=hint) from None


def names(kind: str = "") -> list[str]:
    """The recipes that come with Biomux; with a `kind`, those in the folder of that name."""
    root = resources.files("biomux.recipes").joinpath(kind)
    return sorted(
        f"{folder.name}/{file.name.removesuffix('.yaml')}"
        for folder in root.iterdir()
        if folder.is_dir()
        for file in folder.iterdir()
        if file.name.endswith(".yaml")
    )


def corpora_in(names: Sequence[str]) -> list[str]:
    """Expand names to corpora: a recipe file means the corpora of its tasks, and a name that is not in the catalogue may be a path."""
    corpora: list[str] = []
    for name in names:
        if name not in catalogue.names() and name != "all" and Path(name).is_dir():
            name = f"{name.rstrip('/')}/"
        if name.endswith((".yaml", ".yml")) and Path(name).is_file():
            corpora += [view.spec(task.corpus, rename=task.rename) for task in read(name).tasks.values()]
        else:
            corpora.append(name)
    return list(dict.fromkeys(corpora))


def source(name: str, *, known: Sequence[str] | None = None) -> tuple[str, str]:
    """The text and the path of a recipe: a file, or one that comes with Biomux. `known` are the names to suggest for an unknown one."""
    path = Path(name)
    if path.is_file():
        try:
            return path.read_text(encoding="utf-8"), str(path)
        except (UnicodeDecodeError, OSError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise RecipeError(
                "BX301", f"cannot read the recipe: {reason}", where=str(path), hint="name a YAML file"
            ) from None
    if name not in names():
        known = known or names()
        message, suggestion = f"unknown recipe {name!r}", nearest(name, known)
        hint = (
            f"did you mean {suggestion!r}?" if suggestion else "give a file, or a name that `biomux recipes list` shows"
        )
        if name in names("encoders"):
            hint = f"it is a pre-training recipe: biomux pretrain {name} TEXT"
        elif name.endswith(("/", "\\")) or path.suffix:
            message = f"no such file or folder: {name!r}"
            hint = f"did you mean {suggestion!r}?" if (suggestion := _beside(path)) else "check the path"
        raise RecipeError("BX303", message, hint=hint)
    return resources.files("biomux.recipes").joinpath(f"{name}.yaml").read_text(encoding="utf-8"), name


def _beside(path: Path) -> str | None:
    """The file or folder beside it with the most similar name."""
    try:
        siblings = [sibling.name for sibling in path.parent.iterdir()]
    except OSError:
        return None
    suggestion = nearest(path.name, siblings)
    return str(path.parent / suggestion) if suggestion else None


def parsed(setting: str) -> tuple[str, Any]:
    """The path and the value of a setting such as `loop.epochs=2`."""
    path, equals, value = setting.partition("=")
    if not equals or not path:
        raise RecipeError(
            "BX304",
            f"--set must be of the form a.b=value, got {setting!r}",
            hint="write, for instance, --set loop.epochs=2",
        )
    try:
        return path, yaml.safe_load(value)
    except yaml.YAMLError:
        raise RecipeError("BX304", f"the value of {path!r} must be valid YAML, got {value!r}", where="--set") from None


def put(raw: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path such as `loop.epochs`; missing or null parts are created."""
    *parents, last = path.split(".")
    place = raw
    for parent in parents:
        if place.get(parent) is None:
            place[parent] = {}
        place = place[parent]
        if not isinstance(place, dict):
            raise RecipeError("BX304", f"cannot set {path!r}: {parent!r} has no keys", where="--set")
    place[last] = value
