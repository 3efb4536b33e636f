"""Every recipe that comes with Biomux is valid and says how it is run; mistakes in one are named all at once, each with its place."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest
import yaml

from biomux.corpora import catalogue, view
from biomux.errors import RecipeError
from biomux.recipes.quick import quick
from biomux.recipes.read import check, names, read
from biomux.recipes.schema import Recipe

GOOD: dict[str, Any] = {
    "name": "good",
    "tasks": {"ner": {"corpus": "bc5cdr"}},
    "model": {"encoder": {"name": "somewhere/some-encoder"}},
}


def text_of(name: str) -> str:
    return resources.files("biomux.recipes").joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def broken(**changes: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        check({**GOOD, **changes}, where="r.yaml")
    assert caught.value.code == "BX302"
    return str(caught.value)


def test_the_recipes_of_the_papers_are_there() -> None:
    found = set(names())
    wanted = {
        f"a/{one}"
        for one in (
            "stl-cell-line",
            "stl-tissue",
            "stl-strain",
            "mtl",
            "frozen1",
            "frozen2",
            "multi-class",
            "auxiliary-tissue",
        )
    }
    wanted |= {"b/refine", "b/refine-eight", "b/refine-open", "d/single", "d/joint-max", "d/twelve"}
    wanted |= {"c/ner", "c/gad", "c/chemprot", "c/qa", "e/stm", "e/mtm", "e/student"}
    assert wanted <= found


@pytest.mark.parametrize("name", names())
def test_a_recipe_is_valid_and_begins_with_the_command_that_runs_it(name: str) -> None:
    recipe = read(name)
    first, second = text_of(name).splitlines()[:2]
    assert re.match(rf"# biomux train {re.escape(name)}( |$)", first)
    settings = re.findall(r"--set (?:'([^']*)'|(\S+))", second)
    assert second.startswith(f"# biomux train {name} ")
    assert settings
    assert read(name, settings=[one or other for one, other in settings]) != recipe
    assert recipe.about
    if not name.startswith("default/"):
        assert recipe.paper == name[0].upper()
        assert recipe.table
        assert recipe.name == name.replace("/", "-")


@pytest.mark.parametrize("name", names())
def test_the_corpora_splits_and_types_that_a_recipe_names_exist(name: str) -> None:
    for task in read(name).tasks.values():
        for corpus in (task.corpus, *task.also):
            card = catalogue.card(corpus)
            assert set(task.train) <= set(card.splits)
            view.check_types(task.types or (), card.types, corpus=corpus)


@pytest.mark.parametrize("name", names())
def test_a_recipe_stays_the_same_when_it_is_written_down(name: str) -> None:
    recipe = read(name)
    assert check(yaml.safe_load(yaml.safe_dump(recipe.model_dump(mode="json"))), where="kept") == recipe


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("here", [True, False])
def test_a_recipe_made_quick_is_a_recipe(name: str, here: bool) -> None:
    made, changes = quick(read(name), at_hand=lambda _: here)
    assert made.documents
    assert made.documents <= 60
    assert made.loop.epochs == 1
    assert len(changes) == 5 + bool(made.teacher and made.teacher.text)
    encoder = read(name).model.encoder
    assert (made.model.encoder.kind == "random") == (not here and encoder.kind != "bilstm" and not encoder.bundle)
    assert made.tasks == read(name).tasks
    assert made.regime == read(name).regime


def test_a_recipe_with_teachers_made_quick_reads_little_text_and_compares_no_other_tokens() -> None:
    taught = {"models": ["runs/t"], "text": {"files": ["texts/"]}}
    distil = {"teacher": "runs/t", "features": [{"loss": "hidden-mse"}]}
    recipe = check({**GOOD, "teacher": taught, "distil": distil}, where="r.yaml")
    made, changes = quick(recipe, at_hand=lambda _: False)
    assert made.teacher is not None
    assert made.teacher.text is not None
    assert made.teacher.text.documents == 60
    assert made.distil is None
    assert len(changes) == 7
    assert quick(recipe, at_hand=lambda _: True)[0].distil == recipe.distil


def test_an_unknown_key_names_its_nearest_neighbour() -> None:
    assert "loop → epoch: unknown key (did you mean 'epochs'?)" in broken(loop={"epoch": 3})
    assert "taks: unknown key (did you mean 'tasks'?)" in broken(taks={})
    assert "tasks → ner → scheem: unknown key (did you mean 'scheme'?)" in broken(
        tasks={"ner": {"corpus": "bc5cdr", "scheem": "bio"}}
    )
    assert "model → encoder → vocabulary → files: unknown key (did you mean 'file'?)" in broken(
        model={"encoder": {"name": "x", "vocabulary": {"files": "v.txt"}}}
    )


def test_a_bad_value_names_its_path() -> None:
    assert "loop → epochs: " in broken(loop={"epochs": 0})
    assert "loop → optimizer: must be 'adamw', 'adam' or 'adamax'" in broken(loop={"optimizer": "sgd"})
    assert "model → encoder → limit: " in broken(model={"encoder": {"name": "x", "limit": "long"}})


def test_settings_of_a_task_that_would_have_no_effect_are_refused() -> None:
    task = {"corpus": "bc5cdr"}
    assert "tasks → ner: join: union needs further corpora" in broken(tasks={"ner": {**task, "join": "union"}})
    settings = {"by": "passage", "longest": 30}
    assert "it cannot be used with by: passage" in broken(tasks={"ner": {**task, "settings": settings}})


def test_several_mistakes_are_told_at_once() -> None:
    said = broken(loop={"epoch": 3, "clip": -1}, development={"split": 4}, leeks="filter")
    for part in (
        "loop → epoch: unknown",
        "loop → clip: ",
        "development → split: ",
        "leeks: unknown key (did you mean 'leaks'?)",
    ):
        assert part in said


def test_values_are_set_from_outside() -> None:
    recipe = read("a/mtl", settings=["loop.epochs=2", "model.encoder.name=here", "tasks.tissue.types=[TISSUE]"])
    assert isinstance(recipe, Recipe)
    assert (recipe.loop.epochs, recipe.model.encoder.name) == (2, "here")
    assert recipe.tasks["tissue"].types == ("TISSUE",)


@pytest.mark.parametrize(
    ("setting", "said"),
    [("loop.epochs", "must be of the form"), ("name.x=1", "has no keys"), ("a.b=[", "must be valid YAML")],
)
def test_a_setting_that_is_not_usable_is_refused(setting: str, said: str) -> None:
    with pytest.raises(RecipeError, match=said) as caught:
        read("a/mtl", settings=[setting])
    assert caught.value.code == "BX304"


def test_an_unknown_recipe_names_its_nearest_neighbour() -> None:
    with pytest.raises(RecipeError, match="did you mean 'a/mtl'") as caught:
        read("a/mlt")
    assert caught.value.code == "BX303"
