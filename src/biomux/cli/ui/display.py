"""What commands show: tables and progress, rich on a terminal, plain text in a pipe. NO_COLOR is respected."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from biomux.cli.ui import streams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from biomux.errors import BiomuxError

EVERY_SECONDS = 10.0
"""How often a progress that is not on a terminal writes a line."""


def table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None, to: TextIO | None = None
) -> None:
    """Print a table: ruled on a terminal, tab-separated with a line of column names in a pipe.

    On a terminal too narrow for the columns, each row becomes a block with one line per column.
    """
    to = to or sys.stdout
    if not to.isatty():
        for row in [columns, *rows]:
            print("\t".join(sentence(cell) for cell in row), file=to)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=to)
    if console.width < _least_width(columns, rows):
        _blocks(columns, rows, title=title, to=to)
        return
    shown = Table(*columns, title=title, title_justify="left", header_style="bold")
    for column in shown.columns:
        column.overflow = "fold"  # in a narrow window cells become longer, and nothing is cut
    shown.columns[0].no_wrap = True
    for column, cells in zip(shown.columns, zip(*rows, strict=True), strict=False):
        column.justify = "right" if all(isinstance(cell, int | float) for cell in cells) else "left"
    for row in rows:
        shown.add_row(*(Text(sentence(cell)) for cell in row))
    console.print(shown)


def _least_width(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> int:
    """The first column whole, and of every other one the longest word, up to seven characters: a number must not be broken."""
    cells = [[str(cell) for cell in column] for column in zip(columns, *rows, strict=True)]
    words = [max((len(word) for cell in column for word in cell.split()), default=0) for column in cells[1:]]
    return 1 + 3 * len(columns) + max((len(cell) for cell in cells[0]), default=0) + sum(min(7, size) for size in words)


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None, to: TextIO) -> None:
    wide = max((len(name) for name in columns), default=0)
    if title:
        print(title, file=to)
    for row in rows:
        print(f"{columns[0]}: {sentence(row[0])}", file=to)
        for name, cell in zip(columns[1:], row[1:], strict=True):
            print(f"  {name:<{wide}}  {sentence(cell)}".rstrip(), file=to)


class Progress:
    """How far something is: `advance` by what was done since the last call, or set the position with `reach`.

    `what` may be changed on the way.
    """

    every = EVERY_SECONDS

    def __init__(self, what: str, *, total: float | None, unit: str) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = self._before = 0.0
        self._started = self._last_shown = time.monotonic()

    def advance(self, amount: float) -> None:
        self.reach(self.done + amount)

    def reach(self, amount: float) -> None:
        self.done = amount
        if self.due():
            self._last_shown = time.monotonic()
            self._tell()

    def skip(self, amount: float) -> None:
        """As `reach`, for what was done earlier, which does not count for the time left."""
        self._before = self.done = amount

    def due(self) -> bool:
        """Whether it is time to show something: ask before measuring what costs time to measure."""
        return time.monotonic() - self._last_shown >= self.every

    def line(self) -> str:
        """One line of plain text: how much of how much, and the time left."""
        done = amount(self.done, self.unit)
        if not self.total:
            return f"{self.what}: {done}"
        share = min(self.done / self.total, 1.0)
        ours = self.done - self._before
        seconds = (time.monotonic() - self._started) * max(0.0, self.total - self.done) / ours if ours > 0 else None
        remaining = "" if seconds is None else f", {duration(seconds)} left"
        return f"{self.what}: {done} of {amount(self.total, self.unit)} ({share:.0%}){remaining}"

    def _tell(self) -> None:
        say(self.line())


@contextmanager
def progress(what: str, *, total: float | None = None, unit: str = "documents") -> Iterator[Progress]:
    """Show progress on stderr: a bar with the time left on a terminal, else a line every ten seconds.

    `unit` "bytes" is shown as kB, MB, GB.
    """
    if not sys.stderr.isatty():
        yield Progress(what, total=total, unit=unit)
        return
    from rich import progress as bars
    from rich.console import Console

    counted = bars.DownloadColumn() if unit == "bytes" else bars.MofNCompleteColumn()
    with bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(bar_width=None),
        counted,
        bars.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as shown:
        task = shown.add_task(what, total=total)

        class Bar(Progress):
            every = 0.1

            def _tell(self) -> None:
                shown.update(task, completed=int(self.done), description=self.what)

        yield Bar(what, total=total, unit=unit)


def amount(value: float, unit: str) -> str:
    """A count with its unit.

    >>> amount(1234, "documents"), amount(2_500_000, "bytes")
    ('1,234 documents', '2.5 MB')
    >>> amount(1, "documents")
    '1 document'
    """
    if unit != "bytes":
        return f"{value:,.0f} {unit.removesuffix('s') if value == 1 else unit}"
    for power, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= power:
            return f"{value / power:.1f} {name}"
    return f"{value:.0f} bytes"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(7), duration(125), duration(7320)
    ('7 s', '2 min 5 s', '2 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def sentence(something: object) -> str:
    """Text on one line: tabs, line ends and terminal codes (from file names, from contents) shown, not obeyed.

    >>> sentence("two\\nlines")
    'two\\\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(something))


def error_line(error: BiomuxError) -> str:
    """An error as a command prints it, with the address of its entry in the docs."""
    return f"error: {sentence(error)} (docs/reference/errors.md#{error.code.lower()})"


def note(message: str) -> None:
    """Say something beside the output, on stderr, in one line."""
    say(sentence(message))


def say(line: str) -> None:
    """Write a line to stderr. If that fails, nobody can be told, and the work continues."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        streams.abandon(sys.stderr)
