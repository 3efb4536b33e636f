"""Standard streams that are closed, or that nothing can be written to.

A closed descriptor must not be left free: the next file that is opened would get its number, and whatever a library prints would
end up in that file.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing import Any

STDOUT = "standard output"


def replace_closed() -> None:
    """Give every standard stream that is closed a stand-in, as the first thing that a process does.

    Closed input is empty. What goes to closed stderr is lost. The first write to closed stdout is a broken pipe, so that a command that
    needs no stdout (`-o FILE`) succeeds, and one that does ends as if its reader had gone away.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            if number:
                os.set_inheritable(number, True)
    # Python sets a stream to None where its descriptor was closed.
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def name_stdout() -> None:
    """Make errors in writing to stdout say where they happened, which the system's own do not. A terminal stays as it is."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream.buffer, _Closed) or stream.isatty():
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Named(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def abandon(stream: TextIO) -> None:
    """Point a stream that cannot be written at nothing, so that Python's own last flush does not fail."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


class _Closed(io.BufferedIOBase):
    """A stream whose output is discarded."""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, data: Any, /) -> int:
        del data
        raise BrokenPipeError


class _Named(io.FileIO):
    """A file whose errors name it."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STDOUT
            raise
