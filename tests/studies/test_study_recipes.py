"""Studies that come with Biomux are valid and say how they are run; members follow from them; mistakes are named as in recipes."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from pydantic import ValidationError

from biomux.errors import RecipeError
from biomux.recipes.quick import quick
from biomux.recipes.schema import Recipe
from biomux.studies.members import of_study, of_transfer
from biomux.studies.schema import Study, Transfer, names, read_study, read_transfer


def small(recipe: Recipe) -> Recipe:
    return quick(recipe, at_hand=lambda _: False)[0]


def study(**changes: Any) -> Study:
    return Study.model_validate({"name": "mine", "recipe": "d/single", **changes})


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ("studies", "transfers") for name in names(kind)])
def test_what_is_shipped_begins_with_its_command_and_has_members(
    kind: Literal["studies", "transfers"], name: str
) -> None:
    text = resources.files("biomux.recipes").joinpath(f"{kind}/{name}.yaml").read_text(encoding="utf-8")
    word = "study" if kind == "studies" else "transfer"
    first, second = text.splitlines()[:2]
    assert first == f"# biomux {word} {name}"
    assert second.startswith(f"{first} --set ")
    settings = re.findall(r"--set (\S+)", second)
    if kind == "studies":
        found: Study | Transfer = read_study(name)[0]
        members = of_study(read_study(name)[0], settings=settings)
        quickly = of_study(read_study(name)[0], small=small)
    else:
        found = read_transfer(name)[0]
        members = of_transfer(read_transfer(name)[0], settings=settings)
        quickly = of_transfer(read_transfer(name)[0], small=small)
    assert found.about
    assert found.name == name.replace("/", "-")
    assert len(members) == len(quickly) > 1
    encoders = [member.recipe.model.encoder for member in members]
    at_hand = ("weights/minilm", "sentence-transformers/all-MiniLM-L6-v2")
    assert all(
        one.name in at_hand or one.name.startswith("runs/") or (one.bilstm and one.bilstm.vectors == "vectors.npz")
        for one in encoders
    )
    assert all(member.recipe.loop.epochs == 1 for member in quickly)
    assert {member.seed for member in members} >= set(found.seeds)


def test_members_are_every_system_point_and_seed() -> None:
    members = of_study(read_study("d/learning-curve")[0])
    assert len(members) == 2 * 4 * 3
    assert len({member.name for member in members}) == 24
    one = next(member for member in members if member.name == "joint.fraction-0.1.seed-3")
    assert one.recipe.regime.settings["fraction"] == 0.1
    assert one.recipe.loop.seed == 3
    assert {task.train for task in one.recipe.tasks.values()} == {("train",)}


def test_a_later_word_overrules_an_earlier_one() -> None:
    made = study(set={"loop.epochs": 2, "loop.warmup": 0.2}, systems={"s": {"set": {"loop.epochs": 3}}})
    (member,) = of_study(made)
    assert (member.recipe.loop.epochs, member.recipe.loop.warmup) == (3, 0.2)
    (member,) = of_study(made, settings=["loop.epochs=4"])
    assert member.recipe.loop.epochs == 4


def test_a_system_of_several_recipes_and_one_with_the_encoder_of_another(tmp_path: Path) -> None:
    members = {member.name: member for member in of_study(read_study("a/table")[0], folder=tmp_path)}
    assert [name for name in members if name.startswith("stl.")] == [
        f"stl.stl-{kind}.seed-1" for kind in ("cell-line", "tissue", "strain")
    ]
    frozen = members["frozen2.seed-1"]
    assert frozen.after == ("stl.stl-cell-line.seed-1",)
    assert frozen.recipe.model.encoder.run == str(tmp_path / "runs" / "stl.stl-cell-line.seed-1")
    assert len({member.recipe.hold_out for member in members.values()}) == 1


def test_the_encoder_of_another_may_have_begun_as_that_of_a_bundle(tmp_path: Path) -> None:
    settings = ["model.encoder={bundle: default, layers: 2}"]
    members = of_study(read_study("a/table")[0], settings=settings, folder=tmp_path)
    (frozen,) = (member for member in members if member.system == "frozen2")
    again = Recipe.model_validate(frozen.recipe.model_dump())  # as evaluate and export read it from the run's folder
    assert again.model.encoder.run == str(tmp_path / "runs" / "stl.stl-cell-line.seed-1")


def test_recipes_beside_a_study_are_found(tmp_path: Path) -> None:
    recipe = {"name": "own", "tasks": {"ner": {"corpus": "bc5cdr"}}, "model": {"encoder": {"kind": "random"}}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(recipe))
    (tmp_path / "study.yaml").write_text("name: s\nrecipe: own.yaml\nseeds: [1, 2]\n")
    found, place = read_study(str(tmp_path / "study.yaml"))
    assert [member.recipe.name for member in of_study(found, place=place)] == ["own", "own"]


def test_singles_and_pairs_hold_out_the_same_documents() -> None:
    transfer = Transfer(name="t", recipe="b/refine-open", tasks=("chemprot", "ddi", "nli4ct"))
    members = of_transfer(transfer)
    assert [member.name for member in members] == [
        f"{name}.seed-1" for name in ("chemprot", "ddi", "nli4ct", "chemprot+ddi", "chemprot+nli4ct", "ddi+nli4ct")
    ]
    assert {member.recipe.hold_out for member in members} == {("chemprot", "ddi", "nli4ct")}


def test_an_auxiliary_task_may_be_trained_without_the_one_it_follows_from() -> None:
    members = {member.name: member.recipe for member in of_transfer(read_transfer("d/transfer")[0])}
    assert members["bcls.seed-1"].tasks["bcls"].of is None
    assert members["bcls.seed-1"].tasks["bcls"].corpus == "ncbi-disease"
    assert members["ner+bcls.seed-1"].tasks["bcls"].of == "ner"


def test_a_recipe_is_a_transfer_study() -> None:
    assert read_transfer("b/refine")[0] == Transfer(name="b-refine-transfer", recipe="b/refine")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nrecpe: d/single\n", "recpe: unknown key (did you mean 'recipe'?)"),
        ("name: x\n", "name one, or give every system its own"),
        ("name: x\nrecipe: d/single\nscore: {spilt: test}\n", "score → spilt: unknown key (did you mean 'split'?)"),
        ("name: x\nsystems: {a: {sett: {}}}\n", "systems → a → sett: unknown key (did you mean 'set'?)"),
        ("name: x\nsystems: {a: {}}\n", "systems → a → recipe: field required"),
        ("name: x\nrecipe: r\nsystems: {a: {encoder_of: b}, b: {}}\n", "there is no system 'b' before it"),
        ("name: x\nrecipe: r\nseeds: [1, 1]\n", "each may be named only once"),
        ("name: x\nrecipe: r\nseeds: []\n", "seeds: "),
        ("- x\n", "a study must be a mapping"),
        ("name: [\n", "not valid YAML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(RecipeError) as caught:
        read_study(str(tmp_path / "s.yaml"))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"score": {"tasks": ["nre"]}}, "no member has the task 'nre'"),
        ({"grid": {"loop.epochz": [1]}}, "did you mean 'epochs'"),
        ({"recipe": "d/singel"}, "did you mean 'd/single'"),
        ({"systems": {"a": {"recipe": ["a/mtl", "a/mtl"]}}}, "two members have the name"),
        ({"systems": {"a": {}, "b": {"encoder_of": "a.x"}}}, "exactly one member, got 'a.x'"),
    ],
)
def test_what_does_not_fit_together_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError) as caught:
        of_study(study(**changes))
    assert said in str(caught.value)


def test_pairs_need_a_regime_for_two() -> None:
    with pytest.raises(RecipeError, match="trains one task, but"):
        of_transfer(Transfer(name="t", recipe="d/joint-max", set={"regime.kind": "single"}))
    with pytest.raises(RecipeError, match="at least two tasks"):
        of_transfer(Transfer(name="t", recipe="d/single"))


def test_the_study_in_the_docs_is_one() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "how-to" / "studies.md"
    if not page.is_file():
        pytest.skip("needs the source tree, not the installed package")
    text = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    members = of_study(Study.model_validate(yaml.safe_load(text)))
    assert len(members) == (1 + 1 + 3) * 2 * 3


def test_tasks_of_a_recipe_can_be_trained_alone_and_hold_out_what_the_whole_recipe_does() -> None:
    study, place = read_study("e/students")
    members = {member.name: member for member in of_study(study, place=place, folder=Path("study"))}
    alone = members["stm.ncbi-disease.seed-1"].recipe
    assert list(alone.tasks) == ["ncbi-disease"]
    assert {"bc5cdr", "jnlpba"} <= set(alone.hold_out)
    assert alone.regime.kind == "single"
    assert alone.teacher is None


def test_students_have_the_teacher_of_their_seed_or_all_of_them() -> None:
    study, place = read_study("e/students")
    members = of_study(study, place=place, folder=Path("study"))
    by_name = {member.name: member for member in members}
    one = by_name["student-alpha-0.bc2gm.seed-2"]
    assert one.recipe.teacher is not None
    assert one.recipe.teacher.models == (str(Path("study/runs/mtm.seed-2")),)
    assert one.recipe.teacher.label_weight == 0
    assert one.after == ("mtm.seed-2",)
    several = by_name["ensemble-alpha-0.5.bc2gm.seed-1"]
    assert several.after == tuple(f"mtm.seed-{seed}" for seed in range(1, 6))
    order = [member.name for member in members]
    assert max(order.index(name) for name in several.after) < order.index(several.name)


def test_a_system_may_have_seeds_of_its_own() -> None:
    study, place = read_study("e/students-small")
    members = of_study(study, place=place, folder=Path("study"))
    seeds: dict[str, set[int]] = {}
    for member in members:
        seeds.setdefault(member.system, set()).add(member.seed)
    assert seeds.pop("mtm") == {1, 2, 3, 4, 5}
    assert set(map(frozenset, seeds.values())) == {frozenset({1, 2})}
    assert [member.name for member in members][:5] == [f"mtm.seed-{seed}" for seed in range(1, 6)]
    taught = {member.name: len(member.after) for member in members}
    assert (taught["ensemble-alpha-0.bc5cdr.seed-2"], taught["student-alpha-0.bc5cdr.seed-2"]) == (5, 1)
    with pytest.raises(ValidationError, match="systems → a → seeds: each may be named only once"):
        Study.model_validate({"name": "s", "recipe": "e/mtm", "systems": {"a": {"seeds": [1, 1]}}})


def test_teachers_must_be_systems_that_come_before() -> None:
    raw = {"name": "s", "recipe": "e/mtm", "systems": {"a": {"teacher_of": "b"}, "b": {}}}
    with pytest.raises(ValidationError, match="there is no system 'b' before it"):
        Study.model_validate(raw)
