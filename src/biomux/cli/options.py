"""Options that several commands share, so that they have the same names and help everywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from biomux import formats
from biomux.cli.ui.display import note
from biomux.formats import ReadAs, option_pairs


class OnError(StrEnum):
    """What to do at a record, document or file that fails."""

    stop = "stop"
    skip = "skip"


def complete_format(incomplete: str) -> list[str]:
    """The formats whose name begins so."""
    return [name for name in formats.names() if name.startswith(incomplete)]


From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="Input format. Recognised by name and content if not given.",
        autocompletion=complete_format,
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="NAMES",
        help="Columns or keys with the text, for instance abstract or title,abstract. Recognised by name if not given.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="NAME", help="Column or key with the id, for instance pmid. Recognised by name if not given."
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="NAME=VALUE",
        help="Option of the input format (listed in docs/reference/formats.md). Repeatable.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it already exists.")]


def read_as(format: str | None, text: str | None, id: str | None, options: list[str] | None) -> ReadAs:
    """What the four options ask for."""
    named = {"text": text, "id": id}
    given = {**option_pairs(options), **{name: value for name, value in named.items() if value is not None}}
    if format is not None:
        formats.get(format)
    return ReadAs(format, given, on_hint=note)
