"""What `--dry-run` measures before it says how long a run would take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from training import invented

from biomux.training import time_estimate

if TYPE_CHECKING:
    from pathlib import Path


def scored(monkeypatch: pytest.MonkeyPatch, *, documents: int, seconds: float) -> tuple[float, int]:
    """The estimate for a task with that many documents of that many seconds each, and how many were scored for it."""
    clock = 0.0
    read: list[int] = []

    def predict(annotator: object, task: object, sample: list[int]) -> None:
        nonlocal clock
        clock += seconds * len(sample)
        read.extend(sample)

    monkeypatch.setattr(time_estimate, "predict", predict)
    monkeypatch.setattr("time.perf_counter", lambda: clock)
    built: Any = SimpleNamespace(
        annotator=lambda: None, tasks=[SimpleNamespace(name="qa")], development={"qa": list(range(documents))}
    )
    total = time_estimate._scoring(built)
    assert read == list(range(len(read)))  # no document twice
    return total, len(read)


@pytest.mark.parametrize(
    ("documents", "seconds", "number"),
    [(100, 0.01, 20), (7, 0.01, 7), (1, 60.0, 1), (100, 60.0, 1), (100, 2.0, 4), (0, 1.0, 0)],
)
def test_the_time_of_scoring_follows_from_few_slow_documents_and_up_to_twenty_quick_ones(
    monkeypatch: pytest.MonkeyPatch, documents: int, seconds: float, number: int
) -> None:
    total, read = scored(monkeypatch, documents=documents, seconds=seconds)
    assert read == number
    assert total == pytest.approx(documents * seconds)


def test_scoring_is_counted_as_often_as_a_run_scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(time_estimate, "_scoring", lambda _: 10.0)
    recipe = invented.recipe(loop={"epochs": 5}, development={"every": 2})  # after epochs 2, 4 and 5
    found = time_estimate.estimate(recipe, directory=invented.corpora(tmp_path), measure=0.0)
    assert found.scoring == 30.0
