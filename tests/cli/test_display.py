"""Progress that is not on a terminal, and words for amounts and times."""

from __future__ import annotations

import io

import pytest

from biomux.cli.ui import display


def test_progress_in_a_pipe_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("biomux.cli.ui.display.time.monotonic", lambda: clock[0])
    with display.progress("reading", total=4_000_000, unit="bytes") as shown:
        for clock[0] in (4.0, 8.0, 12.0, 16.0):
            shown.advance(1_000_000)
    assert capsys.readouterr().err == "reading: 3.0 MB of 4.0 MB (75%), 4 s left\n"


def test_progress_without_a_total_counts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display.Progress, "every", 0.0)
    with display.progress("reading") as shown:
        shown.reach(1234)
    assert capsys.readouterr().err == "reading: 1,234 documents\n"


def test_a_cell_cannot_break_a_table() -> None:
    to = io.StringIO()
    display.table(["a", "b"], [["x\ty\n", 1]], to=to)
    assert to.getvalue() == "a\tb\nx\\ty\\n\t1\n"


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3600, "1 h 0 min"), (90_061, "25 h 1 min")]
)
def test_a_duration_reads_well(seconds: float, told: str) -> None:
    assert display.duration(seconds) == told


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_narrow_terminal_gets_blocks_and_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, rows = ["spans", "F1 strict", "F1 overlap", "F1 sub-word"], [["gene", "75.46 ±1.04", 1, ""]]
    for width, blocks in (("30", True), ("100", False)):
        monkeypatch.setenv("COLUMNS", width)
        to = Terminal()
        display.table(columns, rows, title="all", to=to)
        assert "75.46 ±1.04" in to.getvalue()
        assert ("spans: gene\n  F1 strict    75.46 ±1.04\n" in to.getvalue()) is blocks
