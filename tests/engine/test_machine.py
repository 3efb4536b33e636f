"""What is said of a machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from biomux.engine import machine

if TYPE_CHECKING:
    import pytest


def test_memory_is_in_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1_000_000}[name])
    assert machine.describe()["memory_gb"] == 4.1


def test_what_the_system_does_not_say_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown)
    described = machine.describe(also=("pytest", "no-such-package"))
    assert described["memory_gb"] is None
    assert "pytest" in described["versions"]
    assert "no-such-package" not in described["versions"]
    assert described["usable_cores"] <= described["cores"]


def test_flags_are_called_otherwise_on_other_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_cpuinfo", lambda: {"flags": "avx2 bmi1"})
    assert machine.flags() == {"avx2", "bmi1"}
    monkeypatch.setattr(machine, "_cpuinfo", lambda: {"Features": "neon"})
    assert machine.flags() == {"neon"}
    monkeypatch.setattr(machine, "_cpuinfo", dict)
    assert machine.flags() == frozenset()
