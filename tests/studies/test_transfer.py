"""What a transfer study concludes, and its pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from biomux.errors import ScoreError
from biomux.report import curves, svg, transfer_pictures
from biomux.studies.task_map import project
from biomux.studies.transfer import advice, together

TASKS = ["ner", "relations", "pairs", "a-task-with-a-long-name"]


def edges(**verdicts: tuple[str, float]) -> list[dict[str, Any]]:
    """Edges between all tasks; `a__b` names those that have an effect."""
    made = []
    for source, target in permutations(TASKS[:3], 2):
        verdict, gain = verdicts.get(f"{source}__{target}", ("no effect", 0.001))
        made.append({"source": source, "target": target, "verdict": verdict, "gain": gain})
    return made


def by_pair(found: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(edge["source"], edge["target"]): edge for edge in found}


def test_tasks_are_grouped_where_one_helps_and_never_where_one_hurts() -> None:
    found = by_pair(
        edges(ner__relations=("helps", 0.02), pairs__ner=("hurts", -0.03), relations__pairs=("helps", 0.05))
    )
    assert together(TASKS[:3], found) == [["ner"], ["relations", "pairs"]]
    found = by_pair(edges(ner__relations=("helps", 0.02), relations__pairs=("helps", 0.05)))
    assert together(TASKS[:3], found) == [["ner", "relations", "pairs"]]


def test_advice_is_in_plain_sentences() -> None:
    said = advice(TASKS[:3], edges(ner__relations=("helps", 0.021), pairs__ner=("hurts", -0.03)), seeds=1)
    assert "relations gets better with ner (+2.10)." in said
    assert "ner gets worse with pairs (-3.00)." in said
    assert "pairs shows no difference with any other task." in said
    assert "Train together: ner, relations." in said
    assert any("Only one seed was used" in one for one in said)
    said = advice(TASKS[:3], edges(), seeds=3)
    assert any(one.startswith("No two tasks were shown to help") for one in said)
    assert not any("One seed" in one for one in said)


@pytest.mark.parametrize("number", [2, 3, 4, 9])
def test_pictures_are_whole_and_fit_a_telephone(number: int) -> None:
    names = [f"task {place} <&>" for place in range(number)]
    tasks = [{"name": name, "value": 0.5} for name in names]
    some = [
        {
            "source": one,
            "target": other,
            "gain": 0.01 * (place % 5 - 2),
            "verdict": ("helps", "hurts", "no effect")[place % 3],
        }
        for place, (one, other) in enumerate(permutations(names, 2))
    ]
    points = {name: (float(place), float(place % 2)) for place, name in enumerate(names)}
    drawn = [
        transfer_pictures.graph(tasks, some, title="t"),
        transfer_pictures.heat_map(tasks, some[:-1], title="t"),
        transfer_pictures.task_map(points, kinds=dict.fromkeys(names, "tagging"), shares=[0.6, 0.4], title="t"),
    ]
    for text in drawn:
        root = ET.fromstring(text)
        assert float(root.attrib["width"]) <= (520 if number < 9 else 600)
        assert root.find("{http://www.w3.org/2000/svg}desc") is not None


def test_curves_draw_every_seed() -> None:
    values = {"1.0": {"a": [0.8, 0.81], "b": [0.7]}, "0.5": {"a": [0.7, 0.72], "b": []}}
    text = curves.curves(values, axis="fraction", title="f1")
    ET.fromstring(text)
    assert text.count("<circle") >= 4
    ET.fromstring(curves.rows({"a": [0.8, 0.8], "b": [0.7]}, title="f1"))
    assert svg.ticks(0.5, 0.5)


def test_a_map_keeps_distances_where_two_axes_are_enough() -> None:
    chance = np.random.default_rng(2)
    vectors = chance.normal(size=(3, 50))
    found = project(["a", "b", "c"], vectors)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for left, right in (("a", "b"), ("b", "c"), ("a", "c")):
        one, other = ("abc".index(left), "abc".index(right))
        far = np.linalg.norm(np.array(found["points"][left]) - np.array(found["points"][right]))
        assert far == pytest.approx(np.linalg.norm(units[one] - units[other]))
    assert sum(found["shares"]) == pytest.approx(1.0)
    assert project(["a", "b", "c"], vectors) == found


def test_a_map_of_one_task_is_refused() -> None:
    with pytest.raises(ScoreError, match="at least two tasks"):
        project(["a"], np.ones((1, 3)))
