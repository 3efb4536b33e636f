"""Contests: who is faster, in one run, turn by turn, so that noise hits all alike; and what is told of them."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biomux.annotate.bench import Times, times
from biomux.engine import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PACKAGES = ("torch", "transformers", "onnx", "openvino", "spacy", "accelerate")
"""Packages whose versions belong to a comparison."""


def alternate(
    contestants: Mapping[str, Callable[[], object]],
    *,
    seconds: float,
    least: int = 3,
    most: int = 1000,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """Let all run in turn, A B C A B C …, for about so long and at least so often; one turn before does not count.

    `clock` may be `time.process_time`: on a busy machine that is steadier, and with one thread it is what a quiet one would need.
    """
    for run in contestants.values():
        run()
    spent: dict[str, list[float]] = {name: [] for name in contestants}
    ends = clock() + seconds
    turn = 0
    while turn < least or (turn < most and clock() < ends):
        # Every other turn backwards: whoever comes after a large one finds the caches as that one left them.
        for name in list(contestants)[:: 1 if turn % 2 == 0 else -1]:
            begun = clock()
            contestants[name]()
            spent[name].append(clock() - begun)
        turn += 1
    return {name: times(found) for name, found in spent.items()}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report. Cells are texts or numbers; numbers keep three significant digits when shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """As Markdown."""
        lines = [
            self.columns,
            tuple("---:" if _number_column(self.rows, at) else "---" for at in range(len(self.columns))),
        ]
        lines += [tuple(cell(one) for one in row) for row in self.rows]
        body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return f"### {self.title}\n\n{body}" + "".join(f"\n{note}\n" for note in self.notes)

    def to_json(self) -> dict[str, Any]:
        """As JSON values: a row is an object."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
            "notes": list(self.notes),
        }


def cell(value: object) -> str:
    """A value as a table shows it.

    >>> [cell(one) for one in ("a|b", 12345.6, 0.01234, 3, None)]
    ['a\\\\|b', '12,346', '0.0123', '3', '']
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


def describe() -> dict[str, Any]:
    """The machine, before anything is measured: its load is then that of others."""
    return machine.describe(also=PACKAGES)


def report(tables: Sequence[Table], *, json_file: Path | None, described: dict[str, Any]) -> None:
    """Print the tables as Markdown, each with command and machine; write all as JSON where asked."""
    command = f"python -m benchmarks.{Path(sys.argv[0]).stem} {' '.join(sys.argv[1:])}".strip()
    for table in tables:
        print(f"{table.markdown()}\n`{command}`; {machine.line(described)}.\n", flush=True)
    if json_file is not None:
        told = {"command": command, "machine": described, "tables": [table.to_json() for table in tables]}
        json_file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _number_column(rows: Sequence[Sequence[Any]], at: int) -> bool:
    return bool(rows) and all(row[at] is None or isinstance(row[at], int | float) for row in rows)
