"""What a study's report says of its systems."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from biomux.report import study_page
from biomux.report.page_markdown import markdown
from biomux.scoring.document_rows import DocumentRows
from biomux.studies import findings

IDS = tuple(map(str, range(60)))


def scored(system: str, right: int) -> findings.ScoredMember:
    """A system that is right in so many of sixty documents."""
    values = np.array([[1, 0, 0] if number < right else [0, 1, 1] for number in range(60)], dtype=float)
    return findings.ScoredMember(
        "ner", system, "", 1, right / 60, {}, "f1", "ncbi-disease", 60, "0" * 64, DocumentRows("f1", IDS, values)
    )


def found(*systems: tuple[str, int, int]) -> findings.Found:
    """Systems in their order: name, how many tasks its run learned, in how many documents it is right."""
    members = [
        {
            "name": name,
            "system": name,
            "point": {},
            "tasks": dict.fromkeys(["ner", "has", "number"][:tasks], "ncbi-disease"),
            "state": "done",
            "error": None,
            "seconds": 1.0,
            "tokens": 1,
        }
        for name, tasks, _ in systems
    ]
    manifest = {
        "biomux": "0",
        "kind": "study",
        "study": {"name": "toy"},
        "split": "devel",
        "samples": 1000,
        "alpha": 0.05,
        "machine": {},
        "members": members,
    }
    return findings.Found(Path("toy"), manifest, tuple(scored(name, right) for name, _, right in systems))


@pytest.mark.parametrize("order", [("alone", "joint"), ("joint", "alone")])
def test_a_fall_below_the_task_alone_is_an_alarm_whichever_comes_first(order: tuple[str, str]) -> None:
    systems: dict[str, tuple[str, int, int]] = {"alone": ("alone", 1, 58), "joint": ("joint", 3, 30)}
    content = findings.report(found(*(systems[name] for name in order)))
    (alarm,) = content["alarms"]
    assert alarm.startswith(
        "ner: joint, which learned several tasks, is 46.67 points below alone, which learned this one alone"
    )
    assert "(50.00 against 96.67, p = " in alarm
    assert alarm in markdown(study_page.page(content))


@pytest.mark.parametrize(
    "systems",
    [
        (("alone", 1, 30), ("joint", 3, 58)),
        (("alone", 1, 45), ("joint", 3, 44)),
        (("other", 1, 58), ("alone", 1, 30)),
        (("joint", 3, 58), ("without", 2, 30)),
    ],
    ids=["better", "no difference shown", "both alone", "both together"],
)
def test_nothing_else_is_an_alarm(systems: Any) -> None:
    content = findings.report(found(*systems))
    assert content["alarms"] == []
    assert "Negative transfer" not in markdown(study_page.page(content))


def ranked(tasks: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """The report of a study without rows: task → system → the values of its seeds."""
    study = found(*((name, 1, 1) for name in dict.fromkeys(name for systems in tasks.values() for name in systems)))
    members = tuple(
        findings.ScoredMember(task, system, "", seed, value, {}, "f1", task, 60, "0" * 64, None)
        for task, systems in tasks.items()
        for system, values in systems.items()
        for seed, value in enumerate(values, start=1)
    )
    return findings.report(findings.Found(study.folder, study.manifest, members))


def test_three_systems_on_several_tasks_are_ranked_by_their_means() -> None:
    content = ranked({task: {"low": [0.1, 0.5], "high": [0.6], "middle": [0.5, 0.5]} for task in "abcdef"})
    (ranks,) = content["ranks"]
    assert ranks["average_ranks"] == {"low": 3.0, "high": 1.0, "middle": 2.0}
    assert (ranks["corpora"], ranks["friedman"]["statistic"]) == (6, 12.0)
    page = markdown(study_page.page(content))
    assert "## Ranks over tasks" in page
    assert "Friedman: chi2 = 12.00, p = 0.0025, 3 systems, 6 corpora." in page
    assert page.index("| high | 1.000 |") < page.index("| middle | 2.000 |") < page.index("| low | 3.000 |")
    assert "split:devel|values:means over seeds|systems:3|corpora:6|alpha:0.05" in page


def test_tasks_that_a_system_lacks_are_not_ranked_and_too_few_are_none() -> None:
    three = {"low": [0.1], "high": [0.6], "middle": [0.5]}
    (ranks,) = ranked({"a": three, "b": three, "c": {"low": [0.9]}})["ranks"]
    assert ranks["corpora"] == 2
    assert ranked({"a": three})["ranks"] == []
    assert ranked({task: {"low": [0.1], "high": [0.6]} for task in "ab"})["ranks"] == []
    assert "Ranks" not in markdown(study_page.page(ranked({"a": three})))


def test_without_the_extra_the_report_says_that_ranks_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    three = {"low": [0.1], "high": [0.6], "middle": [0.5]}
    content = ranked({"a": three, "b": three})
    assert content["ranks"] == []
    assert content["remarks"] == [
        "the systems are not ranked: scikit-posthocs is not installed (pip install 'biomux[report]')"
    ]
