"""Folders that several runs share: whoever needs one that is being filled waits for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from biomux.errors import TrainingError
from biomux.training import disk_cache

if TYPE_CHECKING:
    from pathlib import Path


def test_one_fills_while_another_waits_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "WAIT", 0.01)
    options: dict[str, Any] = {"busy": "another is at it", "failure": "cannot", "hint": "try"}
    told: list[str] = []
    order: list[str] = []

    def second() -> None:
        with disk_cache.filling(tmp_path / "shared", **options, listen=told.append):
            order.append("second")

    other = threading.Thread(target=second)
    with disk_cache.filling(tmp_path / "shared", **options, listen=told.append):
        other.start()
        other.join(0.2)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]
    assert told == ["another is at it: waiting for it"]


def test_a_disk_that_refuses_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options: dict[str, Any] = {"busy": "busy", "failure": "cannot save", "hint": "make room"}
    with (
        pytest.raises(TrainingError, match="cannot save: ") as caught,
        disk_cache.filling(tmp_path / "file" / "x", **options, listen=lambda _: None),
    ):
        pass
    assert caught.value.code == "BX402"
