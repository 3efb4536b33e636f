"""A run that is stopped at its first step, as by Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from biomux.cli.ui import training_output

if TYPE_CHECKING:
    import pytest


class _StopAtFirstStep(training_output.Lines):
    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "step":
            raise KeyboardInterrupt


def stop_at_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt every run from here on."""
    monkeypatch.setattr(training_output, "Lines", _StopAtFirstStep)
