"""What a command skipped and what a target could not hold: counted on the way, reported at the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

from biomux.cli.ui.display import note, sentence
from biomux.errors import BiomuxError, DocumentError, FormatError, UnreadableError
from biomux.formats import LossTally

if TYPE_CHECKING:
    from pathlib import Path

    from biomux.formats import Loss

Skipped = FormatError | DocumentError | UnreadableError
"""What is wrong with a record or a file that can be skipped."""

SHOWN = 20
"""Skipped records that are listed at the end; a log keeps all."""


def stop_at(error: BiomuxError) -> None:
    """The `on_error` of commands that stop at the first bad record, unless asked to skip such records."""
    if error.hint and error.hint.endswith(_WITH):
        raise error
    whole_file = error.where is not None and not re.search(r":\d|document ", error.where)
    skip = f"skip such {'files' if whole_file else 'records'} {_WITH}"
    hint = f"{error.hint}; or {skip}" if error.hint else skip
    raise type(error)(error.code, error.message, where=error.where, hint=hint) from error


_WITH = "with --on-error skip"


class Skips:
    """Takes the errors of records that are skipped: counts them, keeps the first, logs all."""

    def __init__(self, log: BinaryIO | None) -> None:
        self.count = 0
        self.first: list[str] = []
        self._log = log

    def __call__(self, error: Skipped) -> None:
        self.count += 1
        if self.count <= SHOWN:
            self.first.append(sentence(error))
        if self._log:
            self._log.write(f"{sentence(error)}\n".encode("utf-8", "backslashreplace"))

    def report(self, log: Path | None) -> None:
        if self.count:
            note(f"skipped {self.count:,}:")
            for line in self.first:
                note(f"  {line}")
            if self.count > SHOWN:
                note(f"  and {self.count - SHOWN:,} more" + (f": see {log}" if log else "; --skipped FILE keeps all"))


class Deletions:
    """Takes the ids of documents that a source says have been withdrawn: counts them, keeps the first, logs all."""

    def __init__(self, log: BinaryIO | None) -> None:
        self.count = 0
        self.first: list[str] = []
        self._log = log

    def __call__(self, name: str, id: str) -> None:
        self.count += 1
        if self.count <= SHOWN:
            self.first.append(id)
        if self._log:
            self._log.write(f"{name}: {id} has been withdrawn\n".encode("utf-8", "backslashreplace"))

    def report(self, log: Path | None) -> None:
        if self.count:
            more = self.count - SHOWN
            rest = f" and {more:,} more" + (f": see {log}" if log else "") if more > 0 else ""
            note(f"skipped {self.count:,} documents that the source has withdrawn ({', '.join(self.first)}{rest})")


class Losses(LossTally):
    """Collects what the target cannot hold and reports it at the end; with `strict`, any loss is an error. A log keeps each one."""

    def __init__(self, *, strict: bool, at_once: bool, log: BinaryIO | None = None) -> None:
        super().__init__()
        self._log = log
        self._strict = strict
        self._at_once = strict and at_once

    def __call__(self, loss: Loss) -> None:
        super().__call__(loss)
        if self._log:
            line = f"document {loss.document!r}: {loss.feature} ({loss.count:,})" + (
                f": {loss.detail}" if loss.detail else ""
            )
            self._log.write(f"{line}\n".encode("utf-8", "backslashreplace"))
        if self._at_once:
            self.must_be_none()

    def must_be_none(self) -> None:
        if self._strict and self.counts:
            self.report()
            raise FormatError(
                "BX130",
                f"the target format cannot hold {', '.join(self.counts)}",
                hint="choose a format that can (see 'biomux formats'), or leave out --strict-loss",
            )

    def report(self) -> None:
        for line in self.lines():
            note(f"lost: {line}")
